/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates and inspects a trainer. stage.c, step.c and strategy_*.c do its work.
 */
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

#include "train/bit_flip.h"
#include "train/class_weights.h"
#include "train/gpus.h"
#include "train/samples.h"
#include "train/step.h"

/*
 * Memory for work with other devices: connections, the coordinator's records, an exchange's queues.
 * Measured: up to 3.8 MiB more than FIRST_STEPS_BYTES (train/lanes.c) on the coordinator of two
 * devices. sh_trainer_first_grain copies the weights before this memory is in use.
 */
#define DEVICE_GROUP_BYTES ((uint64_t)3968 << 10)

/* Memory per tensor to create the JSON header of a checkpoint. */
#define HEADER_BYTES 1400

static uint64_t header_bytes(const sh_replica *replica)
{
    return HEADER_BYTES *
           ((uint64_t)replica->tensors + (uint64_t)replica->summed * replica->slot_count);
}

static sh_status open_lanes(sh_stage *stage, const sh_trainer_options *options)
{
    sh_size_list list = {.count = 0};
    const struct sh_strategy_ops *ops = stage->strategy->ops;
    const sh_replica *replica = stage->replica;
    const sh_dataset_info *info = sh_pipeline_about(options->pipeline);
    const sh_problem problem = sh_lanes_problem(info);
    const sh_schedule *schedule = &stage->schedule;
    const uint32_t grain = stage->job->grain;
    const uint64_t weights = replica->weight_count * sizeof *replica->weights;
    const uint64_t sum = sh_layout_offset(sh_sum_layout_of(replica->sum), replica->summed_count);
    const uint64_t steps[] = {0, schedule->epoch_steps - 1}; /* all others equal the first */
    for (int i = 0; i < 2 && !options->evaluate_only; i++) {
        const sh_batch batch = sh_schedule_batch(schedule, steps[i]);
        ops->add_sizes(&list, stage, &batch);
    }
    list.items[list.count++] = (sh_lane_size){SH_MODEL_EVALUATE, grain};
    list.items[list.count++] =
        (sh_lane_size){SH_MODEL_EVALUATE, info->count[SH_SPLIT_VALIDATION] % grain};
    sh_lanes_options lanes = {
        .model = sh_replica_model(stage->job, &problem, replica->network),
        .kernels = options->kernels,
        .parameters = replica->parameters,
        .count = options->lanes + options->gpu_count,
        .sizes = list.items,
        .size_count = list.count,
        .clock = options->clock,
        .mark = stage->times.watch.clock,
        .memory = options->memory,
        .spare_bytes = options->evaluate_only ? 0 : sh_samples_spare_bytes(stage->pipeline),
        .held = {.base = options->evaluate_only ? 0 : header_bytes(replica),
                 .weights = weights,
                 .optimizer = replica->summed_count * sizeof(float) * replica->slot_count,
                 .sum = sum},
    };
    if (options->shared) {
        lanes.held.sum += sum;
        lanes.held.base += DEVICE_GROUP_BYTES;
        lanes.held.start = weights > DEVICE_GROUP_BYTES ? weights - DEVICE_GROUP_BYTES : 0;
    }
    if (ops->equip != NULL)
        ops->equip(stage, &lanes, options->shared);
    SH_TRY(sh_lanes_new(&stage->lanes, &lanes));
    if (!options->evaluate_only)
        SH_TRY(sh_samples_prepare(stage));
    if (options->gpu_count > 0)
        SH_TRY(sh_gpus_open(stage, options->gpus, options->gpu_count, &lanes.model));
    if (ops->start != NULL)
        ops->start(stage);
    return SH_OK;
}

static sh_status equip(sh_trainer *trainer, const sh_trainer_options *options)
{
    sh_strategy strategy;
    sh_stage *stage = &trainer->stage;
    const size_t tensors = stage->replica->summed;
    SH_TRY(sh_strategy_parse(&strategy, trainer->job.strategy));
    trainer->update.max_abs = calloc(tensors, sizeof *trainer->update.max_abs);
    trainer->update.scales = calloc(tensors, sizeof *trainer->update.scales);
    if (trainer->update.max_abs == NULL || trainer->update.scales == NULL)
        return sh_fail_memory(tensors * sizeof *trainer->update.scales, "the trainer");
    if (options->gpu_count > 0)
        SH_TRY(sh_gpus_check(&trainer->job, strategy.row->ops));
    if (strategy.row->ops->make != NULL && !options->evaluate_only)
        SH_TRY(strategy.row->ops->make(&stage->strategy, stage, options, strategy.number));
    SH_TRY(open_lanes(stage, options));
    if (trainer->rates.clip_norm == 0)
        return SH_OK;
    const size_t count = sh_lanes_count(stage->lanes) * tensors;
    trainer->update.squares = calloc(count, sizeof *trainer->update.squares);
    return trainer->update.squares != NULL
               ? SH_OK
               : sh_fail_memory(count * sizeof *trainer->update.squares, "the norm of gradients");
}

static sh_status weigh_classes(sh_stage *stage, const sh_dataset_info *info)
{
    const char *text = stage->job->class_weights;
    if (text[0] != '\0' && info->target != SH_TARGET_CLASS)
        return sh_fail(SH_INVALID, "--class-weights: %s has targets for %s, not classes",
                       info->name, sh_target_name(info->target));
    return sh_class_weights_parse(&stage->class_weights, text, info->outputs);
}

/* Creates the index of classes for --sampling balanced. */
static sh_status index_classes(sh_stage *stage)
{
    if (strcmp(stage->job->sampling, "balanced") != 0)
        return SH_OK;
    const sh_dataset_info *info = sh_pipeline_about(stage->pipeline);
    if (info->target != SH_TARGET_CLASS)
        return sh_fail(SH_INVALID, "--sampling balanced: %s has targets for %s, not classes",
                       info->name, sh_target_name(info->target));
    return sh_fail_in(sh_class_index_new(&stage->classes, sh_pipeline_dataset(stage->pipeline)),
                      "--sampling balanced");
}

void sh_trainer_set_callbacks(sh_trainer *trainer, const sh_trainer_options *options)
{
    trainer->on_passed = options->on_passed;
    trainer->on_times = options->on_times;
    trainer->context = options->context;
    trainer->stage.on_answers = options->on_answers;
    trainer->stage.context = options->context;
}

sh_status sh_trainer_new(sh_trainer **trainer, const sh_trainer_options *options)
{
    sh_status status;
    const sh_dataset_info *info = sh_pipeline_about(options->pipeline);
    if (!options->evaluate_only)
        SH_TRY(sh_best_check(options->job, info));
    if (options->shared)
        SH_TRY(sh_sum_share(options->replica->sum));
    sh_trainer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the trainer");
    sh_stage *stage = &fresh->stage;
    sh_step_rates *rates = &fresh->rates;
    fresh->job = *options->job;
    fresh->profiled = options->clock != NULL;
    stage->job = &fresh->job;
    stage->pipeline = options->pipeline;
    stage->replica = options->replica;
    stage->schedule = sh_schedule_of(&fresh->job, info->count[SH_SPLIT_TRAIN]);
    stage->times.pace_clock = options->pace;
    sh_trainer_set_callbacks(fresh, options);
    if (stage->replica->steps > 0 && sh_trainer_is_over(fresh)) {
        stage->replica->phase = SH_PHASE_VALIDATION; /* nothing else is left to do */
        sh_best_forget(&stage->replica->best);
    }
    const sh_job outer = sh_job_outer(&fresh->job);
    rates->local = sh_schedule_local(&stage->schedule);
    rates->outer_lr = (double)outer.lr;
    rates->clip_norm = (double)outer.clip_norm;
    SH_TRY_DONE(sh_stage_init(stage));
    SH_TRY_DONE(weigh_classes(stage, info));
    if (!options->evaluate_only)
        SH_TRY_DONE(index_classes(stage));
    SH_TRY_DONE(sh_rate_parse(&rates->rate, fresh->job.schedule, (double)fresh->job.warmup));
    SH_TRY_DONE(sh_rate_parse(&rates->outer, outer.schedule, (double)outer.warmup));
    SH_TRY_DONE(sh_stopwatch_init(&stage->times.watch,
                                  fresh->profiled ? options->clock : options->times,
                                  options->lanes + options->gpu_count));
    SH_TRY_DONE(equip(fresh, options));
    SH_TRY_DONE(sh_prefetch_start(&fresh->prefetch, sh_pipeline_dataset(stage->pipeline),
                                  sh_pipeline_mixes(stage->pipeline) ? stage->pipeline : NULL));
    *trainer = fresh;
    return SH_OK;
done:
    sh_trainer_free(fresh);
    return status;
}

void sh_trainer_free(sh_trainer *trainer)
{
    if (trainer == NULL)
        return;
    sh_stage *stage = &trainer->stage;
    sh_prefetch_stop(trainer->prefetch);
    sh_lanes_free(stage->lanes);
    if (stage->strategy != &stage->plain)
        stage->strategy->ops->free(stage->strategy);
    sh_stopwatch_release(&stage->times.watch);
    sh_stage_release(stage);
    free(trainer->update.max_abs);
    free(trainer->update.scales);
    free(trainer->update.squares);
    free(trainer);
}

const sh_schedule *sh_trainer_schedule(const sh_trainer *trainer)
{
    return &trainer->stage.schedule;
}

bool sh_trainer_is_over(const sh_trainer *trainer)
{
    const sh_replica *replica = trainer->stage.replica;
    return replica->phase != SH_PHASE_VALIDATION &&
           (replica->steps >= trainer->stage.schedule.total_steps ||
            sh_best_ends(&replica->best, &trainer->job));
}

const sh_footprint *sh_trainer_footprint(const sh_trainer *trainer)
{
    return sh_lanes_footprint(trainer->stage.lanes);
}

sh_trainer_work sh_trainer_work_done(const sh_trainer *trainer)
{
    return trainer->work;
}

const sh_ranges *sh_trainer_held(const sh_trainer *trainer)
{
    return &trainer->stage.held;
}

void sh_trainer_forget(sh_trainer *trainer)
{
    trainer->audit.key = 0;
    sh_stage_forget(&trainer->stage);
}

sh_speed sh_trainer_speed(const sh_trainer *trainer)
{
    return sh_pace_speed(&trainer->stage.times.pace, sh_lanes_count(trainer->stage.lanes));
}

sh_status sh_trainer_profile(const sh_trainer *trainer, sh_profile *profile, sh_profile_level level)
{
    sh_status status;
    sh_profile fresh = {0};
    if (!trainer->profiled)
        return sh_fail(SH_INVALID, "the trainer has no clock, so there is no profile");
    SH_TRY_DONE(sh_stopwatch_report(&trainer->stage.times.watch, &fresh));
    SH_TRY_DONE(sh_lanes_profile(trainer->stage.lanes, &fresh, SH_MODEL_TRAIN, level));
    SH_TRY_DONE(sh_profile_finish(&fresh));
    *profile = fresh;
    return SH_OK;
done:
    sh_profile_release(&fresh);
    return status;
}

void sh_trainer_clear_times(sh_trainer *trainer)
{
    sh_lane_size size;
    const sh_program *program;
    const sh_graph *graph;
    const sh_lanes *lanes = trainer->stage.lanes;
    sh_stopwatch_clear(&trainer->stage.times.watch);
    for (size_t i = 0; sh_lanes_program(lanes, i, &size, &program, &graph); i++)
        for (uint32_t lane = 0; lane < sh_lanes_count(lanes); lane++)
            sh_execution_clear_times(sh_lanes_execution(lanes, lane, size.mode, size.samples));
}

typedef struct first_grain {
    sh_digest *digest;
} first_grain;

static void add_to_hash(void *context, uint32_t tensor, const sh_gradient *gradient)
{
    const first_grain *probe = context;
    (void)tensor;
    sh_digest_add(probe->digest, gradient->values, gradient->count * sizeof *gradient->values);
}

static sh_status hash_first_grain(sh_trainer *trainer, char hex[SH_DIGEST_TEXT])
{
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    first_grain probe = {NULL};
    const size_t bytes = replica->weight_count * sizeof *replica->weights;
    float *held = malloc(bytes);
    sh_status status;
    if (held == NULL)
        return sh_fail_memory(bytes, "the first grain's hash");
    sh_replica_lock(replica); /* hides the initial weights from readers */
    memcpy(held, replica->weights, bytes);
    sh_replica_initialise(replica, trainer->job.seed);
    sh_step_begin_batch(trainer, 0);
    const sh_range range = stage->strategy->ops->first(stage);
    const float weight = 1.0f / (float)stage->task.batch.samples.count;
    sh_execution *execution = sh_lanes_execution(stage->lanes, 0, SH_MODEL_TRAIN, range.count);
    SH_TRY_DONE(sh_digest_new(&probe.digest));
    SH_TRY_DONE(sh_execution_prepare(execution));
    SH_TRY_DONE(sh_samples_read(stage, 0, execution, range, weight));
    SH_TRY_DONE(sh_execution_run(execution, add_to_hash, &probe));
done:
    if (probe.digest != NULL) {
        const sh_status finished = sh_digest_finish(probe.digest, hex);
        status = status == SH_OK ? finished : status;
        sh_bit_flip_first_grain(hex);
    }
    memcpy(replica->weights, held, bytes);
    sh_replica_unlock(replica);
    free(held);
    return status;
}

/* All devices wait for a successor, which needs the hash again. */
sh_status sh_trainer_first_grain(sh_trainer *trainer, char hex[SH_DIGEST_TEXT])
{
    char fresh[SH_DIGEST_TEXT];
    if (trainer->first_grain[0] == '\0') {
        SH_TRY(hash_first_grain(trainer, fresh));
        memcpy(trainer->first_grain, fresh, sizeof fresh);
    }
    memcpy(hex, trainer->first_grain, sizeof trainer->first_grain);
    return SH_OK;
}

/* An interrupted lap would leave weights between two steps. */
void sh_trainer_interrupt(sh_trainer *trainer, bool interrupted)
{
    if (trainer->stage.strategy->ops->step == NULL)
        sh_lanes_interrupt(trainer->stage.lanes, interrupted);
}

const sh_lanes *sh_trainer_lanes(const sh_trainer *trainer)
{
    return trainer->stage.lanes;
}

const sh_stopwatch *sh_trainer_stopwatch(const sh_trainer *trainer)
{
    return &trainer->stage.times.watch;
}
