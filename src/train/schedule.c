/* SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <string.h>

#include "train/strategy.h"

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

sh_pipeline_options sh_job_pipeline(const sh_job *job)
{
    return (sh_pipeline_options){
        .augment = job->augment,
        .resize = job->resize,
        .normalize = job->normalize,
        .seed = job->seed,
        .read =
            {
                .task = job->task,
                .val_split = job->val_split,
                .resize = job->resize,
                .fit = job->fit,
                .no_exif = job->no_exif,
                .target = job->target,
                .inputs = job->inputs,
                .skip_lines = job->skip_lines,
                .label_from = job->label_from,
                .window = job->window,
                .stride = job->stride,
                .rate = job->rate,
                .skip_damaged = job->skip_damaged,
            },
    };
}

uint32_t sh_job_local_steps(const sh_job *job)
{
    sh_strategy strategy;
    const bool known = sh_strategy_parse(&strategy, job->strategy) == SH_OK;
    return known && strategy.row->local ? strategy.number : 0;
}

uint32_t sh_job_grains(const sh_job *job)
{
    return sh_job_local_steps(job) > 0 ? job->workers : divide_up(job->batch_size, job->grain);
}

sh_job sh_job_outer(const sh_job *job)
{
    sh_job outer = *job;
    if (sh_job_local_steps(job) == 0)
        return outer;
    memcpy(outer.optimizer, "sgd", sizeof "sgd");
    memcpy(outer.schedule, "constant", sizeof "constant");
    outer.lr = job->outer_lr;
    outer.momentum = job->outer_momentum;
    outer.nesterov = job->outer_momentum > 0;
    outer.weight_decay = outer.warmup = outer.clip_norm = 0;
    return outer;
}

sh_schedule sh_schedule_of(const sh_job *job, uint32_t samples)
{
    const uint32_t local_steps = sh_job_local_steps(job);
    const uint32_t most = local_steps > 0 ? local_steps : 1;
    const uint64_t full = (uint64_t)job->batch_size * most;
    const uint64_t epoch_steps = (samples + full - 1) / full;
    return (sh_schedule){
        .samples = samples,
        .batch_size = job->batch_size,
        .grain = job->grain,
        .workers = local_steps > 0 ? job->workers : 0,
        .local_steps = most,
        .epoch_steps = epoch_steps,
        .total_steps = job->steps != 0 ? job->steps : job->epochs * epoch_steps,
    };
}

sh_batch sh_schedule_batch(const sh_schedule *schedule, uint64_t step)
{
    const uint64_t in_epoch = step % schedule->epoch_steps;
    const uint64_t full = (uint64_t)schedule->batch_size * schedule->local_steps;
    const uint32_t first = (uint32_t)(in_epoch * full);
    const uint32_t left = schedule->samples - first;
    const uint32_t count = left < full ? left : (uint32_t)full;
    const uint32_t grain =
        schedule->workers > 0 ? divide_up(count, schedule->workers) : schedule->grain;
    return (sh_batch){
        .epoch = (uint32_t)(step / schedule->epoch_steps),
        .step = in_epoch,
        .samples = {first, count},
        .grain = grain,
        .grains = divide_up(count, grain),
    };
}

sh_schedule sh_schedule_local(const sh_schedule *schedule)
{
    sh_schedule local = *schedule;
    local.workers = 0;
    local.local_steps = 1;
    local.epoch_steps = divide_up(schedule->samples, schedule->batch_size);
    local.total_steps = sh_schedule_local_before(schedule, schedule->total_steps);
    return local;
}

uint64_t sh_schedule_local_before(const sh_schedule *schedule, uint64_t step)
{
    const uint64_t epoch = divide_up(schedule->samples, schedule->batch_size);
    return step / schedule->epoch_steps * epoch +
           step % schedule->epoch_steps * schedule->local_steps;
}

sh_batch sh_batch_of_all(uint32_t samples, uint32_t grain)
{
    return (sh_batch){.samples = {0, samples}, .grain = grain, .grains = divide_up(samples, grain)};
}

sh_range sh_batch_grain(const sh_batch *batch, uint32_t index)
{
    const uint32_t first = index * batch->grain;
    const uint32_t left = batch->samples.count - first;
    return (sh_range){batch->samples.first + first, left < batch->grain ? left : batch->grain};
}

static uint32_t scale(uint32_t part, uint32_t of, uint32_t total)
{
    return (uint32_t)((uint64_t)total * part / of);
}

sh_range sh_range_scale(sh_range share, uint32_t of, uint32_t total)
{
    const uint32_t first = scale(share.first, of, total);
    return (sh_range){first, scale(share.first + share.count, of, total) - first};
}
