/* SPDX-License-Identifier: Apache-2.0 */
#include "node/resume.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/checkpoint.h"
#include "store/run.h"
#include "train/rate.h"
#include "train/snapshot.h"
#include "train/strategy.h"

#define ADVICE "differs from the checkpoint's; leave it out, or begin a new run"

/* A field that the user has set and that is not what the checkpoint was made with. */
static sh_status fail_text_differs(const char *option, const char *asked, const char *saved)
{
    return sh_fail(SH_MISMATCH, "%s %.128s " ADVICE " (%.128s)", option, asked, saved);
}

static sh_status fail_float_differs(const char *option, float asked, float saved)
{
    return sh_fail(SH_MISMATCH, "%s %g " ADVICE " (%g)", option, (double)asked, (double)saved);
}

static sh_status fail_whole_differs(const char *option, uint64_t asked, uint64_t saved)
{
    return sh_fail(SH_MISMATCH, "%s %llu " ADVICE " (%llu)", option, (unsigned long long)asked,
                   (unsigned long long)saved);
}

/* What may be given anew: where the data lie and when the job ends. */
#define MAY_CHANGE (SH_FIELD_DATA | SH_FIELD_EPOCHS | SH_FIELD_STEPS)

/* The strategy may be another one that leads to the same weights. */
static sh_status take_strategy(uint32_t *fixed, const sh_job *asked, const sh_job *saved)
{
    sh_strategy now, before;
    if ((*fixed & SH_FIELD_STRATEGY) == 0)
        return SH_OK;
    SH_TRY(sh_strategy_parse(&now, asked->strategy));
    SH_TRY(sh_strategy_parse(&before, saved->strategy));
    if (sh_strategy_same_course(&now, &before))
        *fixed &= ~(uint32_t)SH_FIELD_STRATEGY;
    return SH_OK;
}

static sh_status check_given(const sh_job *asked, const sh_job *saved, uint32_t given)
{
    uint32_t fixed = given & ~(uint32_t)MAY_CHANGE;
    SH_TRY(take_strategy(&fixed, asked, saved));
#define SH_JOB_TEXT(member, mark, option)                                                          \
    if ((fixed & SH_FIELD_##mark) != 0 && strcmp(asked->member, saved->member) != 0)               \
        return fail_text_differs(option, asked->member, saved->member);
#define SH_JOB_NUMBER(kind, member, mark, option)                                                  \
    if ((fixed & SH_FIELD_##mark) != 0 && asked->member != saved->member)                          \
        return fail_##kind##_differs(option, asked->member, saved->member);
#define SH_JOB_U32(member, mark, option) SH_JOB_NUMBER(whole, member, mark, option)
#define SH_JOB_U64(member, mark, option) SH_JOB_NUMBER(whole, member, mark, option)
#define SH_JOB_FLOAT(member, mark, option) SH_JOB_NUMBER(float, member, mark, option)
#include "train/job_fields.def"
#undef SH_JOB_NUMBER
    return SH_OK;
}

/* What --batch-per-device comes to is a batch like any other. */
static sh_status check_batch(const sh_train_options *options, const sh_job *saved)
{
    if (options->batch_per_device == 0 || options->job.batch_size == saved->batch_size)
        return SH_OK;
    return sh_fail(SH_MISMATCH,
                   "--batch-per-device %u, which makes a batch of %u here, " ADVICE " (%u)",
                   options->batch_per_device, options->job.batch_size, saved->batch_size);
}

/* The checkpoint's job with what may be given anew. */
static sh_status resumed_job(sh_job *job, const sh_train_options *options,
                             const sh_safetensors *file)
{
    sh_job saved;
    SH_TRY(sh_snapshot_read_job(&saved, file));
    SH_TRY(sh_fail_in(check_given(&options->job, &saved, options->given), "--resume %s",
                      options->resume));
    SH_TRY(sh_fail_in(check_batch(options, &saved), "--resume %s", options->resume));
    if ((options->given & SH_FIELD_DATA) != 0)
        memcpy(saved.data, options->job.data, sizeof saved.data);
    if ((options->given & SH_FIELD_EPOCHS) != 0) {
        saved.epochs = options->job.epochs;
        saved.steps = 0;
    }
    if ((options->given & SH_FIELD_STEPS) != 0)
        saved.steps = options->job.steps;
    if ((options->given & SH_FIELD_STRATEGY) != 0)
        memcpy(saved.strategy, options->job.strategy, sizeof saved.strategy);
    *job = saved;
    return sh_job_complete(job);
}

/* Says that steps are lost where the last checkpoint was of no use. */
static void note_fallback(char note[SH_MESSAGE_BYTES], const char *asked, const char *used)
{
    const char *name = strrchr(used, '/');
    if (name == NULL || strcmp(name + 1, SH_CHECKPOINT_PREVIOUS) != 0 || !sh_folder_exists(asked))
        return;
    snprintf(note, SH_MESSAGE_BYTES,
             "%.*s/" SH_CHECKPOINT_LAST " is damaged or missing; going on from the one before it, "
             "%.400s",
             (int)(name - used), used, used);
}

/* The data may have moved, but must be the same, or the course would not. */
static sh_status check_data(const sh_workbench *bench, const char *asked,
                            const sh_safetensors *file)
{
    sh_job saved;
    const char *fingerprint;
    SH_TRY(sh_snapshot_read_job(&saved, file));
    SH_TRY(sh_snapshot_read_fingerprint(&fingerprint, file));
    if (strcmp(fingerprint, sh_pipeline_about(bench->pipeline)->fingerprint) == 0)
        return SH_OK;
    return sh_fail(SH_MISMATCH,
                   "--resume %.200s: data %.300s differ from the checkpoint's; restore them, or "
                   "begin a new run (%.300s)",
                   asked, bench->job.data, saved.data);
}

static sh_status open_bench(sh_workbench **bench, const sh_train_options *options,
                            const sh_safetensors *file)
{
    sh_job job;
    sh_workbench *fresh;
    SH_TRY(resumed_job(&job, options, file));
    SH_TRY(sh_workbench_open(&fresh, &job, NULL, options->backend));
    sh_status status = check_data(fresh, options->resume, file);
    if (status == SH_OK)
        status = sh_snapshot_load(fresh->replica, file);
    if (status != SH_OK) {
        sh_workbench_close(fresh);
        return status;
    }
    *bench = fresh;
    return SH_OK;
}

/* Says that learning rates change where they follow the job's end and that has moved. */
static sh_status note_rates(char note[SH_MESSAGE_BYTES], const sh_workbench *bench,
                            const sh_safetensors *file)
{
    sh_job saved;
    sh_rate rate;
    const uint32_t samples = sh_pipeline_about(bench->pipeline)->count[SH_SPLIT_TRAIN];
    SH_TRY(sh_snapshot_read_job(&saved, file));
    SH_TRY(sh_rate_parse(&rate, bench->job.schedule, (double)bench->job.warmup));
    const uint64_t before = sh_schedule_of(&saved, samples).total_steps;
    const uint64_t now = sh_schedule_of(&bench->job, samples).total_steps;
    const size_t used = strlen(note);
    if (before == now || !sh_rate_follows_end(&rate))
        return SH_OK;
    snprintf(note + used, SH_MESSAGE_BYTES - used,
             "%s--schedule %s follows the job's end, which moves from step %llu to %llu: from step "
             "%llu on, learning rates are those of the longer or shorter job",
             used > 0 ? "; " : "", bench->job.schedule, (unsigned long long)before,
             (unsigned long long)now, (unsigned long long)bench->replica->steps + 1);
    return SH_OK;
}

sh_status sh_resume_open(sh_workbench **bench, const sh_train_options *options,
                         char note[SH_MESSAGE_BYTES])
{
    char used[SH_PATH_BYTES];
    sh_safetensors *file;
    note[0] = '\0';
    SH_TRY(sh_checkpoint_open(&file, used, options->resume));
    note_fallback(note, options->resume, used);
    sh_workbench *fresh = NULL;
    sh_status status = open_bench(&fresh, options, file);
    if (status == SH_OK)
        status = note_rates(note, fresh, file);
    sh_safetensors_close(file);
    if (status != SH_OK) {
        sh_workbench_close(fresh);
        return status;
    }
    *bench = fresh;
    return SH_OK;
}

/* A checkpoint by itself begins a run of its own, for what lies around it may be another's. */
bool sh_resume_is_run(const char *path)
{
    char job[SH_PATH_BYTES];
    return sh_path_join(job, path, SH_RUN_JOB) == SH_OK && access(job, F_OK) == 0;
}
