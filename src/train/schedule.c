/* SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <math.h>
#include <string.h>

#include "train/exact_sum.h"
#include "train/optimizer.h"
#include "train/rate.h"
#include "train/strategy.h"

#define MAX_BATCH (1u << 24)

/*
 * Where nobody says otherwise: a quarter of the batch, up to where a larger grain is no faster. At
 * batches of 128, 16 samples against 32 were 1.04 (LeNet), 1.06 (ResNet-20) and 1.11 times as fast
 * (MobileNetV2 at 64x64, whose activations are the first not to fit the caches), and 8 no faster.
 */
#define USUAL_GRAINS 4
#define MAX_USUAL_GRAIN 16
#define USUAL_WORKERS 4

static uint32_t divide_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

void sh_job_init(sh_job *job)
{
    *job = (sh_job){
        .seed = 1,
        .batch_size = 64,
        .epochs = 10,
        .lr = 0.01f,
        .momentum = 0.9f,
        .wire = 32,
        .optimizer = "sgd",
        .beta1 = 0.9f,
        .beta2 = 0.999f,
        .alpha = 0.99f,
        .epsilon = 1e-8f,
        .schedule = "constant",
        .normalize = "dataset",
        .strategy = "sync",
        .outer_lr = 1,
    };
}

static sh_status check_text(const char *text, size_t bytes, const char *what)
{
    if (memchr(text, '\0', bytes) == NULL)
        return sh_fail(SH_INVALID, "%s is longer than %zu characters", what, bytes - 1);
    return SH_OK;
}

static sh_status check_present(const char *text, const char *what)
{
    return *text != '\0' ? SH_OK : sh_fail(SH_INVALID, "%s is missing", what);
}

static sh_status check_number(const char *option, float value, float least, float below)
{
    if (!(value >= least && value < below))
        return sh_fail(SH_INVALID, "%s %g: must be at least %g and below %g", option, (double)value,
                       (double)least, (double)below);
    return SH_OK;
}

/* What follows from a gradient: optimizer, learning rate, clipping. */
static sh_status check_update(const sh_job *job)
{
    const sh_optimizer *optimizer;
    sh_rate rate;
    const sh_optimizer_settings settings = sh_optimizer_settings_of(job);
    if (job->nesterov > 1)
        return sh_fail(SH_INVALID, "--nesterov: is there or not, 1 or 0, but not %u",
                       job->nesterov);
    SH_TRY(sh_optimizer_find(&optimizer, job->optimizer));
    SH_TRY(sh_optimizer_check(optimizer, &settings));
    SH_TRY(sh_rate_parse(&rate, job->schedule, (double)job->warmup));
    if (!(job->clip_norm >= 0 && isfinite(job->clip_norm)))
        return sh_fail(SH_INVALID, "--clip-norm %g: must be a number above 0; 0 does not clip",
                       (double)job->clip_norm);
    return SH_OK;
}

/* What only local:H has. */
static sh_status check_no_workers(const sh_job *job)
{
    const char *option = job->workers != 0          ? "--workers"
                         : job->outer_lr != 1       ? "--outer-lr"
                         : job->outer_momentum != 0 ? "--outer-momentum"
                                                    : NULL;
    return option == NULL ? SH_OK
                          : sh_fail(SH_INVALID, "%s: only --strategy local:H has workers", option);
}

/* Workers, and how the common weights follow them. */
static sh_status complete_workers(sh_job *job)
{
    if (job->workers == 0)
        job->workers = USUAL_WORKERS;
    if (job->workers > SH_SUM_MAX_GRAINS)
        return sh_fail(SH_INVALID, "--workers %u: must be 1 to %u", job->workers,
                       SH_SUM_MAX_GRAINS);
    if (job->batch_size % job->workers != 0)
        return sh_fail(SH_INVALID,
                       "--workers %u: a batch of %u does not fall into so many equal parts; give a "
                       "--batch-size that does",
                       job->workers, job->batch_size);
    SH_TRY(check_number("--outer-momentum", job->outer_momentum, 0.0f, 1.0f));
    if (!(job->outer_lr > 0 && isfinite(job->outer_lr)))
        return sh_fail(SH_INVALID, "--outer-lr %g: must be a number above 0",
                       (double)job->outer_lr);
    return SH_OK;
}

/* A grain is a part of what is computed with the same weights by one lane after the other, or by a
 * worker alone. */
static sh_status complete_grain(sh_job *job)
{
    const bool local = job->workers > 0;
    const uint32_t most = local ? job->batch_size / job->workers : job->batch_size;
    const uint32_t parts = local ? 1 : USUAL_GRAINS;
    if (job->grain > most && local)
        return sh_fail(
            SH_INVALID,
            "--grain %u: larger than a worker's %u samples of a local step; a grain is a "
            "part of them",
            job->grain, most);
    if (job->grain > most)
        return sh_fail(SH_INVALID,
                       "--grain %u: larger than the batch of %u; a grain is a part of the batch",
                       job->grain, job->batch_size);
    if (job->grain == 0) {
        const uint32_t part = divide_up(most, parts);
        job->grain = part < MAX_USUAL_GRAIN ? part : MAX_USUAL_GRAIN;
    }
    if (sh_job_grains(job) > SH_SUM_MAX_GRAINS)
        return sh_fail(SH_LIMIT, "--grain %u: a batch of %u has more than %u grains; raise it",
                       job->grain, job->batch_size, SH_SUM_MAX_GRAINS);
    return SH_OK;
}

sh_status sh_job_complete(sh_job *job)
{
    sh_strategy strategy;
#define SH_JOB_TEXT(member, mark, option)                                                          \
    SH_TRY(check_text(job->member, sizeof job->member, option));
#define SH_JOB_U32(member, mark, option)
#define SH_JOB_U64(member, mark, option)
#define SH_JOB_FLOAT(member, mark, option)
#include "train/job_fields.def"
    SH_TRY(check_present(job->model, "the model"));
    SH_TRY(check_present(job->data, "the data"));
    if (job->batch_size == 0 || job->batch_size > MAX_BATCH)
        return sh_fail(SH_INVALID, "--batch-size %u: must be 1 to %u", job->batch_size, MAX_BATCH);
    SH_TRY(sh_strategy_parse(&strategy, job->strategy));
    SH_TRY(strategy.kind == SH_STRATEGY_LOCAL ? complete_workers(job) : check_no_workers(job));
    SH_TRY(complete_grain(job));
    if (job->epochs == 0 && job->steps == 0)
        return sh_fail(SH_INVALID, "--epochs 0: give at least one epoch, or --steps");
    if (job->wire != 32 && job->wire != 16 && job->wire != 8)
        return sh_fail(SH_INVALID, "--wire %u: must be 32, 16 or 8 bits", job->wire);
    SH_TRY(check_update(job));
    const sh_pipeline_options pipeline = sh_job_pipeline(job);
    SH_TRY(sh_pipeline_check(&pipeline));
    return check_number("--label-smoothing", job->label_smoothing, 0.0f, 1.0f);
}

sh_pipeline_options sh_job_pipeline(const sh_job *job)
{
    return (sh_pipeline_options){
        .augment = job->augment,
        .resize = job->resize,
        .normalize = job->normalize,
        .seed = job->seed,
    };
}

uint32_t sh_job_local_steps(const sh_job *job)
{
    sh_strategy strategy;
    const bool known = sh_strategy_parse(&strategy, job->strategy) == SH_OK;
    return known && strategy.kind == SH_STRATEGY_LOCAL ? strategy.bound : 0;
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

/* Samples of a full step. */
static uint64_t step_samples(const sh_schedule *schedule)
{
    return (uint64_t)schedule->batch_size * schedule->local_steps;
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
    const uint64_t full = step_samples(schedule);
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
