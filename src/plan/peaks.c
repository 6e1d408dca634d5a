/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rate is the best of RUNS turns, each long enough that the clock and the start of threads do not
 * matter. Multiply-adds run in registers; no kernel can exceed them. Products and convolutions are
 * programs of one node with the kernels and layouts of models. Memory is copied, and combined in
 * McCalpin's triad ("STREAM: sustainable memory bandwidth in high performance computers", 1995), in
 * arrays larger than the caches. Bytes are those of the operands, without reads of overwritten
 * lines.
 */
#include "plan/peaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/team.h"

#define RUNS 4
#define KINDS 10 /* five rates, with one lane and all */
#define ARRAY_LEAST ((size_t)16 << 20)
#define ARRAY_MOST ((size_t)64 << 20)

typedef struct peak peak;

typedef sh_status peak_work(peak *p, uint32_t lane);

struct peak {
    peak_work *work;
    uint32_t lanes, active;
    uint32_t repetitions;
    float *results; /* by lane; never read */
    sh_team *team;
    const sh_clock *clock;
    sh_status *status; /* by lane */

    const sh_kernels *kernels;
    sh_program *program;
    void *shared;
    void **memory;
    sh_execution **executions; /* by lane */
    float *parameters[1];

    float *array[3];
    size_t elements;
};

static void repeat(void *context, uint32_t lane)
{
    peak *p = context;
    if (lane >= p->active)
        return;
    p->status[lane] = SH_OK;
    for (uint32_t i = 0; i < p->repetitions && p->status[lane] == SH_OK; i++)
        p->status[lane] = p->work(p, lane);
}

static sh_status take_turn(peak *p, double *seconds)
{
    const uint64_t begun_ns = sh_clock_now_ns(p->clock);
    sh_team_run(p->team, repeat, p);
    *seconds = (double)(sh_clock_now_ns(p->clock) - begun_ns) * 1e-9;
    for (uint32_t i = 0; i < p->active; i++)
        if (p->status[i] != SH_OK)
            return sh_fail(p->status[i], "measuring this device's peak rates failed");
    return SH_OK;
}

/* `of_one`, `of_all`: the work of a repetition with one lane and with all. */
static sh_status measure_rates(peak *p, peak_work *work, double of_one, double of_all,
                               double seconds, sh_rate *rate)
{
    const uint32_t active[] = {1, p->lanes};
    double best[2] = {0, 0};
    p->work = work;
    for (int i = 0; i < 2; i++) {
        double took;
        p->active = active[i];
        p->repetitions = 1;
        SH_TRY(take_turn(p, &took)); /* the first run touches the memory */
        SH_TRY(take_turn(p, &took));
        const double fits = seconds / RUNS / (took > 1e-6 ? took : 1e-6);
        p->repetitions = fits < 1 ? 1 : fits > 1e6 ? 1000000 : (uint32_t)fits;
        for (int run = 0; run < RUNS; run++) {
            SH_TRY(take_turn(p, &took));
            const double amount = i == 0 ? of_one : of_all;
            best[i] = fmax(best[i], amount * p->repetitions / (took > 0 ? took : 1e-9));
        }
    }
    *rate = (sh_rate){best[0], best[1]};
    return SH_OK;
}

static sh_status multiply_and_add(peak *p, uint32_t lane)
{
    p->results[lane] += p->kernels->multiply_adds();
    return SH_OK;
}

static sh_status run_program(peak *p, uint32_t lane)
{
    return sh_execution_run(p->executions[lane], NULL, NULL);
}

static sh_status measure_node(peak *p, const sh_kernels *kernels, sh_op op,
                              const sh_attributes *attributes, const sh_shape *input,
                              const sh_shape *weights, sh_rate *rate, double seconds)
{
    sh_graph *graph;
    SH_TRY(sh_graph_new(&graph));
    const sh_value_id in[SH_MAX_INPUTS] = {
        sh_graph_input(graph, (sh_type){SH_F32, *input}),
        sh_graph_parameter(graph, "weight", (sh_type){SH_F32, *weights}, SH_ROLE_TRAINED,
                           (sh_initial){0}),
        SH_NO_VALUE,
    };
    sh_graph_output(graph, sh_graph_add(graph, op, attributes, in, NULL));
    sh_status status;
    SH_TRY_DONE(sh_graph_status(graph));
    SH_TRY_DONE(sh_program_compile(&p->program, graph, kernels));
    void *block;
    SH_TRY_DONE(sh_block_new(&block, sh_shape_count(weights) * sizeof(float), "measuring"));
    p->parameters[0] = block;
    SH_TRY_DONE(sh_block_new(&p->shared, sh_program_shared_bytes(p->program), "measuring"));
    for (uint32_t i = 0; i < p->lanes; i++) {
        SH_TRY_DONE(sh_block_new(&p->memory[i], sh_program_lane_bytes(p->program), "measuring"));
        SH_TRY_DONE(sh_execution_new(&p->executions[i], p->program, p->memory[i], p->shared,
                                     p->parameters));
    }
    SH_TRY_DONE(sh_execution_prepare(p->executions[0]));
    const double flops = sh_graph_cost(graph, &graph->nodes[0]).flops;
    SH_TRY_DONE(measure_rates(p, run_program, flops, flops * p->lanes, seconds, rate));
done:
    for (uint32_t i = 0; i < p->lanes; i++) {
        sh_execution_free(p->executions[i]);
        free(p->memory[i]);
        p->executions[i] = NULL;
        p->memory[i] = NULL;
    }
    sh_program_free(p->program);
    free(p->shared);
    free(p->parameters[0]);
    p->program = NULL;
    p->shared = p->parameters[0] = NULL;
    sh_graph_free(graph);
    return status;
}

static void part_of(const peak *p, uint32_t lane, size_t *first, size_t *count)
{
    const size_t each = p->elements / p->active / 16 * 16;
    *first = lane * each;
    *count = lane + 1 == p->active ? p->elements - *first : each;
}

static sh_status copy(peak *p, uint32_t lane)
{
    size_t first, count;
    part_of(p, lane, &first, &count);
    memcpy(p->array[0] + first, p->array[1] + first, count * sizeof(float));
    return SH_OK;
}

static sh_status triad(peak *p, uint32_t lane)
{
    size_t first, count;
    part_of(p, lane, &first, &count);
    float *restrict a = p->array[0] + first;
    const float *restrict b = p->array[1] + first, *restrict c = p->array[2] + first;
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + 3.0f * c[i];
    return SH_OK;
}

static sh_status measure_memory(peak *p, sh_measurements *known, double seconds)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
    const long cache = 0;
#endif
    size_t bytes = cache > 0 ? (size_t)cache : 0;
    bytes = bytes < ARRAY_LEAST ? ARRAY_LEAST : bytes > ARRAY_MOST ? ARRAY_MOST : bytes;
    p->elements = bytes / sizeof(float);
    for (int i = 0; i < 3; i++) {
        void *block;
        SH_TRY(sh_block_new(&block, bytes, "measuring memory"));
        p->array[i] = block;
        memset(block, 1, bytes);
    }
    const double copied = 2 * (double)bytes, combined = 3 * (double)bytes;
    SH_TRY(measure_rates(p, copy, copied, copied, seconds, &known->copy));
    return measure_rates(p, triad, combined, combined, seconds, &known->triad);
}

sh_status sh_peaks_measure(sh_measurements *known, const sh_kernels *kernels, uint32_t lanes,
                           const sh_clock *clock, double seconds)
{
    const sh_attributes none = {0};
    const sh_attributes conv = {.stride = {1, 1},
                                .padding = {1, 1},
                                .end_padding = {1, 1},
                                .dilation = {1, 1},
                                .groups = 1};
    const sh_shape rows = sh_shape_of(2, (size_t[]){256, 512});
    const sh_shape matrix = sh_shape_of(2, (size_t[]){512, 512});
    const sh_shape image = sh_shape_of(4, (size_t[]){8, 64, 28, 28});
    const sh_shape filters = sh_shape_of(4, (size_t[]){64, 64, 3, 3});
    peak p = {
        .lanes = lanes,
        .clock = clock,
        .kernels = kernels,
        .results = calloc(lanes, sizeof *p.results),
        .status = calloc(lanes, sizeof *p.status),
        .memory = calloc(lanes, sizeof *p.memory),
        .executions = calloc(lanes, sizeof *p.executions),
    };
    const double each = seconds / KINDS;
    sh_status status;
    if (p.results == NULL || p.status == NULL || p.memory == NULL || p.executions == NULL)
        SH_TRY_DONE(sh_fail_memory(lanes * sizeof *p.executions, "measuring"));
    SH_TRY_DONE(sh_team_start(&p.team, lanes));
    const double multiplied = 2 * (double)SH_MULTIPLY_ADDS;
    SH_TRY_DONE(measure_rates(&p, multiply_and_add, multiplied, multiplied * lanes, each,
                              &known->multiply_add));
    SH_TRY_DONE(
        measure_node(&p, kernels, SH_OP_linear, &none, &rows, &matrix, &known->matrix, each));
    SH_TRY_DONE(measure_node(&p, kernels, SH_OP_conv2d, &conv, &image, &filters,
                             &known->convolution, each));
    status = measure_memory(&p, known, each);
done:
    sh_team_stop(p.team);
    free(p.results);
    free(p.status);
    free(p.memory);
    free(p.executions);
    for (int i = 0; i < 3; i++)
        free(p.array[i]);
    return status;
}
