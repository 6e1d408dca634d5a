/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the cost of the exact sum in a step of LeNet with batch 64 and grains of 16. Rounds
 * alternate between three uses of the same gradients on the same lanes:
 *
 *     dropped   forward and backward only
 *     floats    added to a shared float array under the same kind of locks, as a trainer without
 *               exact sums does
 *     exact     sh_sum_add
 *
 * They also time the rest of the step: prepare, clear, verdict, apply. Prints a JSON object with
 * the medians in nanoseconds, for bench/sum_cost.py.
 *
 *     bench_sum_cost LANES ROUNDS [WIRE]
 *
 * With a learning rate of 1e-6, the weights hardly change, so training does not affect the figures.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "data/pipeline.h"
#include "train/lanes.h"
#include "train/replica.h"
#include "train/schedule.h"

#define BATCH 64
#define GRAIN 16
#define GRAINS (BATCH / GRAIN)
#define ROUNDS_MOST 100000
#define TENSORS_MOST 16
#define PIXELS (28 * 28)
#define LOCK_ELEMENTS ((size_t)16384) /* as in the exact sum */
#define WARM_UP 20                    /* rounds in which the exponents settle */

typedef enum sum_way { WAY_DROPPED, WAY_FLOATS, WAY_EXACT, WAYS } sum_way;
typedef enum step_part {
    PART_DROPPED = WAY_DROPPED,
    PART_FLOATS = WAY_FLOATS,
    PART_EXACT = WAY_EXACT,
    PART_PREPARE,
    PART_CLEAR,
    PART_CLEAR_FLOATS,
    PART_VERDICT,
    PART_APPLY,
    PARTS
} step_part;

static const char *const part_names[PARTS] = {
    "dropped", "floats", "exact", "prepare", "clear", "clear_floats", "verdict", "apply",
};

typedef struct sum_bench {
    sh_pipeline *pipeline;
    const sh_kernels *kernels;
    sh_replica *replica;
    sh_lanes *lanes;
    float *floats;               /* the sum of WAY_FLOATS */
    float *values;               /* space for a tensor's gradient */
    float pixels[GRAIN][PIXELS]; /* of every grain */
    int32_t labels[GRAIN];
    uint32_t wire;
    pthread_mutex_t *locks;
    size_t lock_count;
    uint32_t lane_count, rounds;
    uint64_t *times[PARTS]; /* by round */
    sum_way way;            /* of the current turn */
    atomic_uint next;       /* next grain */
    atomic_uint failures;
} sum_bench;

static inline SH_INLINE void add_floats_body(float *restrict sum, const float *restrict gradient,
                                             size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += gradient[i];
}

typedef void add_floats_kernel(float *sum, const float *gradient, size_t count);

#define ADD_FLOATS(name, target)                                                                   \
    static target void add_floats_##name(float *sum, const float *gradient, size_t count)          \
    {                                                                                              \
        add_floats_body(sum, gradient, count);                                                     \
    }
SH_VARIANT_MAP(ADD_FLOATS)

static add_floats_kernel *const add_floats[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(add_floats)};

static void add_as_floats(sum_bench *bench, uint32_t tensor, const sh_gradient *gradient)
{
    const size_t first = sh_sum_first_element(bench->replica->sum, tensor) + gradient->first;
    const size_t end = first + gradient->count;
    for (size_t from = first; from < end;) {
        const size_t lock = from / LOCK_ELEMENTS;
        const size_t limit = (lock + 1) * LOCK_ELEMENTS;
        const size_t to = limit < end ? limit : end;
        pthread_mutex_lock(&bench->locks[lock]);
        add_floats[sh_variant_chosen()](bench->floats + from, gradient->values + (from - first),
                                        to - from);
        pthread_mutex_unlock(&bench->locks[lock]);
        from = to;
    }
}

typedef struct grain {
    sum_bench *bench;
    sh_sum_parts parts;
} grain;

static void take_gradient(void *context, uint32_t tensor, const sh_gradient *gradient)
{
    grain *of = context;
    sum_bench *bench = of->bench;
    if (bench->way == WAY_EXACT)
        sh_sum_add_part(bench->replica->sum, tensor, 0, gradient, &of->parts);
    else if (bench->way == WAY_FLOATS)
        add_as_floats(bench, tensor, gradient);
}

static sh_execution *execution_of(const sum_bench *bench, uint32_t lane)
{
    return sh_lanes_execution(bench->lanes, lane, SH_MODEL_TRAIN, GRAIN);
}

/* Before each run, because a program may reuse its inputs' memory. */
static void fill_inputs(const sum_bench *bench, const sh_execution *execution)
{
    float *weights = sh_execution_input(execution, SH_MODEL_LOSS_WEIGHTS);
    memcpy(sh_execution_input(execution, SH_MODEL_SAMPLES), bench->pixels, sizeof bench->pixels);
    memcpy(sh_execution_input(execution, SH_MODEL_TARGETS), bench->labels, sizeof bench->labels);
    for (uint32_t i = 0; i < GRAIN; i++)
        weights[i] = 1.0f / BATCH;
}

static void compute(void *context, uint32_t lane)
{
    sum_bench *bench = context;
    while (atomic_fetch_add(&bench->next, 1) < GRAINS) {
        grain now = {.bench = bench};
        fill_inputs(bench, execution_of(bench, lane));
        if (sh_execution_run(execution_of(bench, lane), take_gradient, &now) != SH_OK)
            atomic_fetch_add(&bench->failures, 1);
    }
}

static sh_range lane_range(const sum_bench *bench, uint32_t lane)
{
    const size_t total = bench->replica->weight_count;
    const uint32_t first = (uint32_t)(total * lane / bench->lane_count);
    return (sh_range){first, (uint32_t)(total * (lane + 1) / bench->lane_count) - first};
}

static void clear(void *context, uint32_t lane)
{
    const sum_bench *bench = context;
    const sh_range range = lane_range(bench, lane);
    sh_sum_clear_range(bench->replica->sum, range.first, range.count);
}

static void clear_floats(void *context, uint32_t lane)
{
    const sum_bench *bench = context;
    const sh_range range = lane_range(bench, lane);
    memset(bench->floats + range.first, 0, range.count * sizeof *bench->floats);
}

static void apply(void *context, uint32_t lane)
{
    const sum_bench *bench = context;
    sh_replica *replica = bench->replica;
    const sh_range range = lane_range(bench, lane);
    float scales[TENSORS_MOST];
    for (uint32_t t = 0; t < replica->summed; t++)
        scales[t] = sh_sum_scale(replica->sum, t);
    const sh_replica_step step = {
        sh_optimizer_step_of(&replica->settings, (double)replica->settings.lr, 1, 1), scales};
    sh_replica_update(replica, &step, range.first, range.first + range.count,
                      sh_sum_total(replica->sum).accumulator, NULL);
}

static uint64_t now_ns(void)
{
    return sh_clock_now_ns(sh_clock_system());
}

static uint64_t time_turn(sum_bench *bench, sh_team_task *task)
{
    const uint64_t began = now_ns();
    sh_team_run(sh_lanes_team(bench->lanes), task, bench);
    return now_ns() - began;
}

/* Runs each part once; the first way alternates. False: repeat the round, because it was a redo. */
static bool run_round(sum_bench *bench, uint32_t round, uint64_t times[PARTS])
{
    sh_sum *sum = bench->replica->sum;
    uint64_t began = now_ns();
    /* Work that depends only on the weights, for all lanes. */
    if (sh_execution_prepare(execution_of(bench, 0)) != SH_OK)
        atomic_fetch_add(&bench->failures, 1);
    times[PART_PREPARE] = now_ns() - began;
    sh_sum_clear_trailer(sum);
    times[PART_CLEAR] = time_turn(bench, clear);
    times[PART_CLEAR_FLOATS] = time_turn(bench, clear_floats);
    for (uint32_t i = 0; i < WAYS; i++) {
        bench->way = (sum_way)((round + i) % WAYS);
        atomic_store(&bench->next, 0);
        times[bench->way] = time_turn(bench, compute);
    }
    began = now_ns();
    uint32_t tensor;
    const sh_verdict verdict = sh_sum_verdict(sum, &tensor);
    times[PART_VERDICT] = now_ns() - began;
    if (verdict != SH_VERDICT_APPLY)
        return false;
    times[PART_APPLY] = time_turn(bench, apply);
    /* Exact exponents for the next step, because they determine the sizes of integers. */
    for (uint32_t t = 0; t < bench->replica->tensors; t++) {
        uint32_t max_abs = 0;
        sh_sum_value(sum, t, bench->values, &max_abs);
        sh_sum_follow(sum, t, max_abs);
    }
    return true;
}

static sh_status make_room(sum_bench *bench)
{
    const size_t bytes = bench->replica->weight_count * sizeof *bench->floats;
    bench->lock_count = bench->replica->weight_count / LOCK_ELEMENTS + 1;
    bench->locks = calloc(bench->lock_count, sizeof *bench->locks);
    if (bench->locks == NULL)
        return sh_fail_memory(bytes, "the benchmark");
    for (size_t i = 0; i < bench->lock_count; i++)
        pthread_mutex_init(&bench->locks[i], NULL);
    for (int p = 0; p < PARTS; p++) {
        bench->times[p] = calloc(bench->rounds, sizeof *bench->times[p]);
        if (bench->times[p] == NULL)
            return sh_fail_memory(bytes, "the benchmark");
    }
    SH_TRY(sh_block_new((void **)&bench->values, bytes, "a gradient"));
    return sh_block_new((void **)&bench->floats, bytes, "the sum of floats");
}

static sh_status set_up(sum_bench *bench)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "digits:1024/64");
    job.batch_size = BATCH;
    job.grain = GRAIN;
    job.lr = 1e-6f;
    job.wire = bench->wire;
    SH_TRY(sh_job_complete(&job));
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    SH_TRY(sh_pipeline_open(&bench->pipeline, job.data, &(sh_pipeline_options){.resize = 0}));
    SH_TRY(sh_kernels_choose(&bench->kernels, NULL));
    SH_TRY(sh_replica_new(&bench->replica, &job, &problem));
    const sh_lane_size size = {SH_MODEL_TRAIN, GRAIN};
    SH_TRY(sh_lanes_new(&bench->lanes, &(sh_lanes_options){
                                           .model = sh_replica_model(&job, &problem, NULL),
                                           .kernels = bench->kernels,
                                           .parameters = bench->replica->parameters,
                                           .count = bench->lane_count,
                                           .sizes = &size,
                                           .size_count = 1,
                                       }));
    SH_TRY(make_room(bench));
    for (uint32_t i = 0; i < GRAIN; i++)
        SH_TRY(sh_pipeline_read(bench->pipeline, SH_SPLIT_TRAIN, 0, i, bench->pixels[i],
                                &bench->labels[i]));
    return SH_OK;
}

static void tear_down(sum_bench *bench)
{
    for (int p = 0; p < PARTS; p++)
        free(bench->times[p]);
    for (size_t i = 0; bench->locks != NULL && i < bench->lock_count; i++)
        pthread_mutex_destroy(&bench->locks[i]);
    free(bench->locks);
    free(bench->floats);
    free(bench->values);
    sh_lanes_free(bench->lanes);
    sh_replica_free(bench->replica);
    sh_pipeline_close(bench->pipeline);
}

static sh_status run_rounds(sum_bench *bench)
{
    uint32_t redone = 0;
    for (uint32_t round = 0; round < bench->rounds + WARM_UP;) {
        uint64_t times[PARTS] = {0};
        if (!run_round(bench, round, times)) {
            if (++redone > WARM_UP)
                return sh_fail(SH_INTERNAL, "the exponents do not settle");
            continue;
        }
        for (int p = 0; p < PARTS && round >= WARM_UP; p++)
            bench->times[p][round - WARM_UP] = times[p];
        round++;
    }
    if (atomic_load(&bench->failures) > 0)
        return sh_fail(SH_INTERNAL, "a kernel failed");
    return SH_OK;
}

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void print_medians(const sum_bench *bench)
{
    printf("{\"lanes\": %u, \"rounds\": %u, \"wire\": %u, \"variant\": \"%s\"", bench->lane_count,
           bench->rounds, bench->wire, bench->kernels->name);
    for (int p = 0; p < PARTS; p++) {
        qsort(bench->times[p], bench->rounds, sizeof *bench->times[p], compare);
        printf(", \"%s_ns\": %llu", part_names[p],
               (unsigned long long)bench->times[p][bench->rounds / 2]);
    }
    printf("}\n");
}

int main(int argc, char **argv)
{
    sum_bench bench = {.lane_count = 2, .rounds = 300, .wire = 32};
    if (argc > 1)
        bench.lane_count = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        bench.rounds = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        bench.wire = (uint32_t)strtoul(argv[3], NULL, 10);
    if (argc > 4 || bench.lane_count == 0 || bench.lane_count > SH_LANES_MAX || bench.rounds == 0 ||
        bench.rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: bench_sum_cost LANES ROUNDS [WIRE]\n");
        return 2;
    }
    sh_status status;
    SH_TRY_DONE(set_up(&bench));
    SH_TRY_DONE(run_rounds(&bench));
    print_medians(&bench);
done:
    if (status != SH_OK)
        fprintf(stderr, "bench_sum_cost: %s\n", sh_message());
    tear_down(&bench);
    return status == SH_OK ? 0 : 1;
}
