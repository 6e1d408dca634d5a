/* SPDX-License-Identifier: Apache-2.0 */
#include "train/gpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "train/gpu_share.h"
#include "train/samples.h"
#include "train/score.h"

enum { MODES = SH_MODEL_EVALUATE + 1 };

typedef struct gpu_at_work {
    sh_gpu_lane *lanes[MODES]; /* NULL: no program, or the GPU failed; owned */
    sh_gpu_share shares[MODES];
    uint32_t first, count; /* reserved units, not yet taken */
    uint64_t grains, ns;   /* of the current turn */
} gpu_at_work;

struct sh_gpus {
    atomic_ullong lane_grains, lane_ns; /* what the other lanes computed in the current turn */
    uint32_t count;
    gpu_at_work items[]; /* by lane; the first `count` lanes feed GPUs */
};

/* ---- which GPUs ------------------------------------------------------------------------------ */

sh_status sh_gpus_check(const sh_job *job, const sh_strategy_ops *ops)
{
    if (job->wire != 32)
        return sh_fail(SH_UNSUPPORTED,
                       "--wire %u: GPUs add gradients only in 32 bits; leave gpu: out of --lanes",
                       job->wire);
    if (ops->wants_gradients_alone == NULL)
        return sh_fail(
            SH_UNSUPPORTED,
            "--strategy %s: GPUs train only with sync and ps-sync; leave gpu: out of --lanes",
            job->strategy);
    return SH_OK;
}

/* Validates on the GPU only if a full grain of validation samples exists. */
static sh_status open_gpu(gpu_at_work *gpu, const sh_stage *stage, uint32_t number,
                          const sh_model_options *model)
{
    const sh_batch batch = sh_schedule_batch(&stage->schedule, 0);
    const uint32_t grain = stage->job->grain;
    const uint32_t most = batch.grains < SH_GPU_MAX_GRAINS ? batch.grains : SH_GPU_MAX_GRAINS;
    sh_gpu_lane_options options = {
        .gpu = number,
        .model = model,
        .mode = SH_MODEL_TRAIN,
        .samples = sh_batch_grain(&batch, 0).count,
        .grains = most,
    };
    SH_TRY(sh_gpu_lane_new(&gpu->lanes[SH_MODEL_TRAIN], &options));
    if (sh_pipeline_about(stage->pipeline)->count[SH_SPLIT_VALIDATION] < grain)
        return SH_OK;
    options.mode = SH_MODEL_EVALUATE;
    options.samples = grain;
    options.beside = gpu->lanes[SH_MODEL_TRAIN];
    return sh_gpu_lane_new(&gpu->lanes[SH_MODEL_EVALUATE], &options);
}

/* The lane for training is last, because the other one shares its GPU. */
static void close_gpu(gpu_at_work *gpu)
{
    for (int mode = MODES; mode-- > 0;) {
        sh_gpu_lane_free(gpu->lanes[mode]);
        gpu->lanes[mode] = NULL;
    }
}

sh_status sh_gpus_open(sh_stage *stage, const uint32_t *numbers, uint32_t count,
                       const sh_model_options *model)
{
    const size_t bytes = sizeof(sh_gpus) + count * sizeof(gpu_at_work);
    sh_gpus *gpus = calloc(1, bytes);
    if (gpus == NULL)
        return sh_fail_memory(bytes, "the GPUs");
    stage->gpus = gpus;
    for (; gpus->count < count; gpus->count++) {
        gpu_at_work *gpu = &gpus->items[gpus->count];
        const sh_status status = open_gpu(gpu, stage, numbers[gpus->count], model);
        if (status != SH_OK) {
            close_gpu(gpu);
            return status;
        }
    }
    return SH_OK;
}

void sh_gpus_close(sh_stage *stage)
{
    for (uint32_t i = 0; stage->gpus != NULL && i < stage->gpus->count; i++)
        close_gpu(&stage->gpus->items[i]);
    free(stage->gpus);
    stage->gpus = NULL;
}

sh_gpu_lane *sh_gpus_at(const sh_stage *stage, uint32_t lane, sh_model_mode mode, bool *computed)
{
    const bool is_one = stage->gpus != NULL && lane < stage->gpus->count;
    *computed = is_one && stage->gpus->items[lane].shares[mode].gpu_ns > 0;
    return is_one ? stage->gpus->items[lane].lanes[mode] : NULL;
}

static sh_gpu_lane *at_work(const sh_stage *stage, const gpu_at_work *gpu)
{
    return gpu->lanes[stage->task.mode];
}

bool sh_gpus_feeds(const sh_stage *stage, uint32_t lane)
{
    return stage->gpus != NULL && lane < stage->gpus->count &&
           at_work(stage, &stage->gpus->items[lane]) != NULL &&
           (stage->task.mode == SH_MODEL_EVALUATE ||
            stage->strategy->ops->wants_gradients_alone(stage));
}

static void put_out(gpu_at_work *gpu)
{
    sh_log(SH_LOG_WARN, "gpu.failed", "gpu=%s reason=%s",
           sh_gpu_lane_about(gpu->lanes[SH_MODEL_TRAIN])->name, sh_message());
    close_gpu(gpu);
}

/* ---- a turn ---------------------------------------------------------------------------------- */

void sh_gpus_prepare(sh_stage *stage, uint32_t lane)
{
    if (stage->task.todo.count == 0 || !sh_gpus_feeds(stage, lane))
        return;
    const sh_replica *replica = stage->replica;
    gpu_at_work *gpu = &stage->gpus->items[lane];
    sh_gpu_lane *own = at_work(stage, gpu);
    for (uint32_t t = 0; t < replica->summed; t++)
        sh_gpu_lane_set_unit(own, replica->tensor_of[t], 1 / sh_sum_scale(replica->sum, t));
    if (sh_gpu_lane_prepare(own, replica->parameters) != SH_OK)
        put_out(gpu);
}

/* Each GPU gets its fraction of what a single GPU would take of the units not yet reserved, so that
 * equal GPUs get about equal parts. */
void sh_gpus_begin_turn(sh_stage *stage)
{
    const uint32_t total = sh_ranges_total(&stage->task.todo);
    const uint32_t gpus = stage->gpus == NULL ? 0 : stage->gpus->count;
    uint32_t next = 0, at_work = 0;
    for (uint32_t i = 0; i < gpus; i++)
        at_work += sh_gpus_feeds(stage, i) ? 1 : 0;
    const uint32_t lanes = sh_lanes_count(stage->lanes) - at_work;
    for (uint32_t i = 0; i < gpus; i++) {
        gpu_at_work *gpu = &stage->gpus->items[i];
        gpu->first = next;
        gpu->count = 0;
        if (!sh_gpus_feeds(stage, i))
            continue;
        const uint32_t all = sh_gpu_share_take(&gpu->shares[stage->task.mode], total - next, lanes);
        gpu->count = at_work > 1 ? (all + at_work - 1) / at_work : all;
        next += gpu->count;
        at_work--;
    }
    atomic_store(&stage->turn.next, next);
}

/* Takes at most as many reserved units as the GPU holds: [*first, *first + the result) of
 * `todo`. */
static uint32_t take(sh_stage *stage, gpu_at_work *gpu, uint32_t *first)
{
    const sh_gpu_lane *own = at_work(stage, gpu);
    const uint32_t most = own == NULL ? 1 : sh_gpu_lane_grains(own);
    const uint32_t count = gpu->count < most ? gpu->count : most;
    *first = gpu->first;
    gpu->first += count;
    gpu->count -= count;
    return count;
}

/* The last grain of a batch may have fewer samples. */
static bool is_whole(const sh_stage *stage, uint32_t unit, uint32_t samples)
{
    return sh_batch_grain(&stage->task.batch, unit).count == samples;
}

static sh_status read_grain(sh_stage *stage, uint32_t lane, uint32_t unit, uint32_t place)
{
    const sh_gpu_lane *gpu = at_work(stage, &stage->gpus->items[lane]);
    const sh_range range = sh_batch_grain(&stage->task.batch, unit);
    sh_execution *execution = sh_lanes_execution(stage->lanes, lane, stage->task.mode, range.count);
    SH_TRY(sh_samples_read(stage, lane, execution, range,
                           1.0f / (float)stage->task.batch.samples.count));
    for (size_t i = 0; i < sh_gpu_lane_inputs(gpu); i++)
        memcpy(sh_gpu_lane_input(gpu, i, place), sh_execution_input(execution, i),
               sh_gpu_lane_input_bytes(gpu, i));
    return SH_OK;
}

static void add_losses(sh_stage *stage, const sh_gpu_lane *gpu, uint32_t count)
{
    const sh_dataset_info *info = sh_pipeline_about(stage->pipeline);
    const uint32_t samples = sh_gpu_lane_samples(gpu);
    for (uint32_t g = 0; g < count; g++) {
        const uint64_t score =
            sh_score(info->target, info->outputs, samples, sh_gpu_lane_output(gpu, 1, g),
                     sh_gpu_lane_output(gpu, 2, g));
        sh_sum_add_loss(stage->replica->sum, sh_gpu_lane_output(gpu, 0, g), samples, score);
    }
}

static void tell_answers(sh_stage *stage, const sh_gpu_lane *gpu, uint32_t first, uint32_t taken)
{
    for (uint32_t i = 0, place = 0; stage->on_answers != NULL && i < taken; i++) {
        const uint32_t unit = sh_ranges_at(&stage->task.todo, first + i);
        if (!is_whole(stage, unit, sh_gpu_lane_samples(gpu)))
            continue;
        stage->on_answers(stage->context, &(sh_answers){sh_batch_grain(&stage->task.batch, unit),
                                                        sh_gpu_lane_output(gpu, 0, place),
                                                        sh_gpu_lane_output(gpu, 3, place),
                                                        sh_gpu_lane_output(gpu, 2, place)});
        place++;
    }
}

static void add_sums(sh_stage *stage, const sh_gpu_lane *gpu, uint32_t count)
{
    const sh_replica *replica = stage->replica;
    for (uint32_t t = replica->summed; t-- > 0;) {
        const sh_sum_grain *grains;
        const int32_t *sums = sh_gpu_lane_sums(gpu, replica->tensor_of[t], &grains);
        sh_sum_add_integers(replica->sum, t, sums, grains, count);
        sh_stage_count_additions(stage, stage->spans.bucket_of[t], count);
    }
}

/* If the GPU fails, closes it and returns SH_OK: nothing has been added. */
static sh_status compute_whole(sh_stage *stage, uint32_t lane, uint32_t first, uint32_t taken)
{
    gpu_at_work *gpu = &stage->gpus->items[lane];
    sh_gpu_lane *own = at_work(stage, gpu);
    sh_stopwatch *watch = stage->times.watching;
    const uint32_t samples = sh_gpu_lane_samples(own);
    uint64_t begun = sh_stopwatch_now(watch);
    uint32_t count = 0;
    sh_status status = SH_OK;
    sh_lanes_begin_reading(stage->lanes);
    for (uint32_t i = 0; i < taken && status == SH_OK; i++) {
        const uint32_t unit = sh_ranges_at(&stage->task.todo, first + i);
        if (is_whole(stage, unit, samples))
            status = read_grain(stage, lane, unit, count++);
    }
    sh_lanes_end_reading(stage->lanes);
    SH_TRY(status);
    begun = sh_stopwatch_lap(watch, lane, SH_SPAN_READ, begun);
    if (count == 0)
        return SH_OK;
    if (sh_gpu_lane_run(own, count) != SH_OK) {
        put_out(gpu);
        return SH_OK;
    }
    begun = sh_stopwatch_lap(watch, lane, SH_SPAN_BACKWARD, begun);
    add_losses(stage, own, count);
    if (stage->task.mode == SH_MODEL_TRAIN)
        add_sums(stage, own, count);
    else
        tell_answers(stage, own, first, taken);
    sh_stopwatch_add(watch, lane, SH_SPAN_ADD, begun);
    return SH_OK;
}

static uint64_t now(const sh_stage *stage)
{
    return stage->times.pace_clock == NULL ? 0 : sh_clock_now_ns(stage->times.pace_clock);
}

/* The units that the GPU did not compute: all if it failed, otherwise those with too few
 * samples. */
static sh_status compute_rest(sh_stage *stage, uint32_t lane, uint32_t first, uint32_t taken,
                              uint32_t samples)
{
    const gpu_at_work *gpu = &stage->gpus->items[lane];
    for (uint32_t i = 0; i < taken; i++) {
        const uint32_t unit = sh_ranges_at(&stage->task.todo, first + i);
        if (at_work(stage, gpu) == NULL || !is_whole(stage, unit, samples))
            SH_TRY(stage->strategy->ops->compute(stage, lane, unit));
    }
    return SH_OK;
}

void sh_gpus_compute(sh_stage *stage, uint32_t lane)
{
    uint32_t first, taken;
    if (!sh_gpus_feeds(stage, lane))
        return;
    gpu_at_work *gpu = &stage->gpus->items[lane];
    const uint32_t samples = sh_gpu_lane_samples(at_work(stage, gpu));
    while ((taken = take(stage, gpu, &first)) > 0) {
        const uint64_t begun = now(stage);
        sh_status status = SH_OK;
        if (at_work(stage, gpu) != NULL) {
            status = compute_whole(stage, lane, first, taken);
            gpu->ns += now(stage) - begun;
            gpu->grains += taken;
        }
        if (status == SH_OK)
            status = compute_rest(stage, lane, first, taken, samples);
        if (status != SH_OK)
            sh_stage_note_failure(stage, status);
        sh_lanes_note_turn(stage->lanes);
    }
}

void sh_gpus_note_lane(sh_stage *stage, uint32_t units, uint64_t ns)
{
    if (stage->gpus == NULL)
        return;
    atomic_fetch_add(&stage->gpus->lane_grains, units);
    atomic_fetch_add(&stage->gpus->lane_ns, ns);
}

void sh_gpus_end_turn(sh_stage *stage)
{
    sh_gpus *gpus = stage->gpus;
    if (gpus == NULL)
        return;
    const uint64_t lane_grains = atomic_exchange(&gpus->lane_grains, 0);
    const uint64_t lane_ns = atomic_exchange(&gpus->lane_ns, 0);
    for (uint32_t i = 0; i < gpus->count; i++) {
        gpu_at_work *gpu = &gpus->items[i];
        sh_gpu_share_note(&gpu->shares[stage->task.mode], gpu->grains, gpu->ns, lane_grains,
                          lane_ns);
        gpu->grains = gpu->ns = 0;
    }
}
