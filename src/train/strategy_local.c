/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local:H: a unit is a worker (train/worker.h). A lane makes all local steps of its worker with
 * weights of its own, so each lane prepares its own programs.
 */
#include <assert.h>
#include <stdlib.h>

#include "train/rate.h"
#include "train/strategy_ops.h"
#include "train/worker.h"

typedef struct local_state {
    sh_strategy_state base;
    sh_rate rate;
    sh_schedule local;   /* of local steps, which the rates follow */
    sh_worker **workers; /* by lane; owned */
    uint32_t count;
    float *const **parameters; /* its worker's weights by lane; owned */
} local_state;

static local_state *local_of(const sh_stage *stage)
{
    return (local_state *)stage->strategy;
}

static void drop_workers(local_state *own, uint32_t left)
{
    while (own->count > left)
        sh_worker_free(own->workers[--own->count]);
}

static void free_state(sh_strategy_state *state)
{
    local_state *own = (local_state *)state;
    drop_workers(own, 0);
    free(own->workers);
    free(own->parameters);
    free(own);
}

static const sh_strategy_ops ops;

static sh_status make(sh_strategy_state **state, sh_stage *stage, const sh_trainer_options *options,
                      uint32_t number)
{
    (void)number;
    sh_status status;
    local_state *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the workers");
    fresh->base.ops = &ops;
    fresh->local = sh_schedule_local(&stage->schedule);
    SH_TRY_DONE(sh_rate_parse(&fresh->rate, stage->job->schedule, (double)stage->job->warmup));
    fresh->workers = calloc(options->lanes, sizeof *fresh->workers);
    fresh->parameters = calloc(options->lanes, sizeof *fresh->parameters);
    if (fresh->workers == NULL || fresh->parameters == NULL)
        SH_TRY_DONE(sh_fail_memory(options->lanes * sizeof *fresh->workers, "the workers"));
    for (; fresh->count < options->lanes; fresh->count++) {
        SH_TRY_DONE(sh_worker_new(&fresh->workers[fresh->count], stage->replica, stage->job));
        fresh->parameters[fresh->count] = sh_worker_parameters(fresh->workers[fresh->count]);
    }
    *state = &fresh->base;
    return SH_OK;
done:
    free_state(&fresh->base);
    return status;
}

static void add_sizes(sh_size_list *list, const sh_stage *stage, const sh_batch *step)
{
    const uint32_t grain = stage->job->grain, batch = sh_schedule_worker_batch(&stage->schedule);
    const uint32_t units[] = {0, step->grains - 1}; /* all workers but the last have equal parts */
    for (int i = 0; i < 2; i++) {
        const uint32_t samples = sh_batch_grain(step, units[i]).count;
        sh_size_list_add_batch(list, samples < batch ? samples : batch, grain);
        sh_size_list_add_batch(list, samples % batch, grain);
    }
}

static void equip(const sh_stage *stage, sh_lanes_options *lanes, bool shared)
{
    (void)shared;
    lanes->own = local_of(stage)->parameters;
    lanes->own_bytes = sh_worker_bytes(stage->replica, stage->job);
}

static void start(sh_stage *stage)
{
    drop_workers(local_of(stage), sh_lanes_count(stage->lanes));
}

/* In training, `compute` copies the weights. */
static sh_status prepare(sh_stage *stage, uint32_t lane)
{
    if (stage->task.mode == SH_MODEL_TRAIN)
        return SH_OK;
    sh_worker_begin(local_of(stage)->workers[lane]);
    return sh_stage_prepare(stage, lane, 1, &stage->task.batch);
}

static sh_batch local_batch(const sh_stage *stage, sh_range samples, uint32_t done)
{
    const uint32_t most = sh_schedule_worker_batch(&stage->schedule);
    const uint32_t left = samples.count - done;
    sh_batch batch = sh_batch_of_all(left < most ? left : most, stage->job->grain);
    batch.samples.first = samples.first + done;
    return batch;
}

static sh_status compute(sh_stage *stage, uint32_t lane, uint32_t unit)
{
    if (stage->task.mode != SH_MODEL_TRAIN)
        return sh_grains_compute(stage, lane, unit);
    local_state *own = local_of(stage);
    sh_worker *worker = own->workers[lane];
    const sh_replica *replica = stage->replica;
    const sh_range samples = sh_batch_grain(&stage->task.batch, unit);
    uint64_t number = sh_schedule_local_before(&stage->schedule, stage->task.number);
    sh_worker_begin(worker);
    for (uint32_t done = 0; done < samples.count; number++) {
        const sh_batch batch = local_batch(stage, samples, done);
        SH_TRY(sh_stage_prepare(stage, lane, 1, &batch));
        for (uint32_t g = 0; g < batch.grains; g++)
            SH_TRY(sh_stage_compute_samples(stage, lane, sh_batch_grain(&batch, g),
                                            batch.samples.count, sh_worker_add, worker));
        const uint64_t begun = sh_stopwatch_now(stage->times.watching);
        sh_worker_step(worker, sh_rate_at(&own->rate, (double)stage->job->lr, &own->local, number));
        sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_APPLY, begun);
        done += batch.samples.count;
    }
    const double part = (double)samples.count / (double)stage->task.batch.samples.count;
    const float *values = sh_worker_contribution(worker, part);
    for (uint32_t place = replica->summed; place-- > 0;) { /* bucket 0 first */
        sh_sum_parts parts;
        const sh_gradient whole = {.values = values + sh_sum_first_element(replica->sum, place),
                                   .count = sh_sum_elements(replica->sum, place),
                                   .last = true};
        sh_stage_add(stage, lane, unit, replica->tensor_of[place], &whole, &parts);
    }
    return SH_OK;
}

static sh_range first(sh_stage *stage)
{
    const sh_batch batch = local_batch(stage, sh_batch_grain(&stage->task.batch, 0), 0);
    sh_worker_begin(local_of(stage)->workers[0]);
    return sh_batch_grain(&batch, 0);
}

static const sh_strategy_ops ops = {
    .sums = "the change of ",
    .make = make,
    .free = free_state,
    .add_sizes = add_sizes,
    .equip = equip,
    .start = start,
    .prepare = prepare,
    .compute = compute,
    .first = first,
};

const sh_strategy_row sh_strategy_local = {
    .name = "local",
    .number = "H",
    .course = "local",
    .local = true,
    .ops = &ops,
};
