/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/resume.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "node/job/changes.h"
#include "node/job/run_network.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "train/job_options.h"
#include "train/rate.h"
#include "train/snapshot.h"
#include "train/strategy.h"

#define ADVICE "differs from the checkpoint's; leave it out, or start a new run"

static sh_status check_given(const sh_option *option, const sh_job *asked, const sh_job *saved)
{
    char label[SH_OPTION_LABEL_BYTES], now[SH_OPTION_TEXT_BYTES], before[SH_OPTION_TEXT_BYTES];
    if (option->resume || sh_option_same(option, asked, saved))
        return SH_OK;
    if (option->offset == offsetof(sh_job, strategy)) {
        sh_strategy wanted, used;
        SH_TRY(sh_strategy_parse(&wanted, asked->strategy));
        SH_TRY(sh_strategy_parse(&used, saved->strategy));
        if (sh_strategy_same_course(&wanted, &used))
            return SH_OK;
    }
    return sh_fail(SH_MISMATCH, "%s %s " ADVICE " (%s)", sh_option_label(label, option),
                   sh_option_print(now, option, asked), sh_option_print(before, option, saved));
}

static sh_status resumed_job(sh_job *job, const sh_train_options *options, const sh_job *saved)
{
    *job = *saved;
    if (options->given.epochs)
        job->steps = 0;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++) {
        if (each->owner != SH_OPTION_OF_JOB || !sh_option_is_given(each, &options->given))
            continue;
        SH_TRY(sh_fail_in(check_given(each, &options->job, saved), "--resume %s", options->resume));
        sh_option_copy(each, job, &options->job);
    }
    /* --batch-per-device gives an ordinary batch. */
    if (options->batch_per_device != 0 && options->job.batch_size != saved->batch_size)
        return sh_fail(
            SH_MISMATCH,
            "--resume %s: --batch-per-device %u, which makes a batch of %u here, " ADVICE " (%u)",
            options->resume, options->batch_per_device, options->job.batch_size, saved->batch_size);
    return sh_job_complete(job);
}

/* The job may not end before the steps that are done. */
static sh_status check_end(const sh_session *session, const sh_train_options *options)
{
    const uint32_t samples = sh_pipeline_about(session->pipeline)->count[SH_SPLIT_TRAIN];
    const sh_schedule schedule = sh_schedule_of(&session->job, samples);
    const uint64_t done = session->replica->steps;
    if (schedule.total_steps >= done || schedule.epoch_steps == 0)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "--resume %.300s: %llu steps (%.1f epochs) are done already, and with these "
                   "options the job ends after %llu (%.1f epochs): give more --epochs or --steps, "
                   "or leave them out",
                   options->resume, (unsigned long long)done,
                   (double)done / (double)schedule.epoch_steps,
                   (unsigned long long)schedule.total_steps,
                   (double)schedule.total_steps / (double)schedule.epoch_steps);
}

/* Notes for the user: an unusable last checkpoint, so that steps are lost; changes of the job;
 * learning rates that changed with the job's end. */
static sh_status write_note(char note[SH_MESSAGE_BYTES], const sh_session *session,
                            const sh_job *saved, const char *asked, const char *used)
{
    sh_rate rate;
    char changes[SH_MESSAGE_BYTES / 4];
    const char *name = strrchr(used, '/');
    if (name != NULL && strcmp(name + 1, SH_CHECKPOINT_PREVIOUS) == 0 && sh_folder_exists(asked))
        snprintf(note, SH_MESSAGE_BYTES,
                 "%.*s/" SH_CHECKPOINT_LAST
                 " is damaged or missing; continuing from the one before it, %.400s",
                 (int)(name - used), used, used);
    const uint32_t samples = sh_pipeline_about(session->pipeline)->count[SH_SPLIT_TRAIN];
    const uint64_t before = sh_schedule_of(saved, samples).total_steps;
    const uint64_t now = sh_schedule_of(&session->job, samples).total_steps;
    size_t length = strlen(note);
    SH_TRY(sh_changes_print(changes, sizeof changes, saved, &session->job));
    if (changes[0] != '\0')
        snprintf(note + length, SH_MESSAGE_BYTES - length, "%sfrom step %llu on: %s",
                 length > 0 ? "; " : "", (unsigned long long)session->replica->steps + 1, changes);
    length = strlen(note);
    SH_TRY(sh_rate_parse(&rate, session->job.schedule, (double)session->job.warmup));
    if (before == now || !sh_rate_follows_end(&rate))
        return SH_OK;
    snprintf(note + length, SH_MESSAGE_BYTES - length,
             "%s--schedule %s follows the job's end, which moves from step %llu to %llu: from step "
             "%llu on, learning rates are those of the longer or shorter job",
             length > 0 ? "; " : "", session->job.schedule, (unsigned long long)before,
             (unsigned long long)now, (unsigned long long)session->replica->steps + 1);
    return SH_OK;
}

sh_status sh_resume_open(sh_session **session, sh_job *saved, const sh_train_options *options,
                         char note[SH_MESSAGE_BYTES])
{
    char used[SH_PATH_BYTES];
    const char *fingerprint;
    sh_safetensors *file;
    sh_job before, job;
    sh_session *fresh = NULL;
    sh_network *network = NULL;
    sh_status status;
    note[0] = '\0';
    SH_TRY(sh_checkpoint_open(&file, used, options->resume));
    SH_TRY_DONE(sh_snapshot_read_job(&before, file));
    SH_TRY_DONE(resumed_job(&job, options, &before));
    SH_TRY_DONE(sh_run_network_find(&network, job.model, sh_safetensors_path(file)));
    SH_TRY_DONE(sh_session_open(&fresh, &job, &(sh_session_data){.network = network}));
    SH_TRY_DONE(sh_snapshot_read_fingerprint(&fingerprint, file));
    if (strcmp(fingerprint, sh_pipeline_about(fresh->pipeline)->fingerprint) != 0)
        SH_TRY_DONE(sh_fail(SH_MISMATCH,
                            "--resume %.200s: data %.300s differ from the checkpoint's; restore "
                            "them, or start a new run (%.300s)",
                            options->resume, fresh->job.data, before.data));
    SH_TRY_DONE(sh_snapshot_load(fresh->replica, file));
    SH_TRY_DONE(check_end(fresh, options));
    SH_TRY_DONE(write_note(note, fresh, &before, options->resume, used));
done:
    sh_safetensors_close(file);
    sh_network_unref(network);
    if (status == SH_OK) {
        *saved = before;
        *session = fresh;
    } else {
        sh_session_close(fresh);
    }
    return status;
}

/* A checkpoint alone starts a new run, because its folder may belong to another one. */
bool sh_resume_is_run(const char *path)
{
    char job[SH_PATH_BYTES];
    return sh_path_join(job, path, SH_RUN_JOB) == SH_OK && access(job, F_OK) == 0;
}

sh_status sh_weights_open(sh_safetensors **file, const char *path)
{
    char used[SH_PATH_BYTES];
    sh_safetensors *fresh;
    if (sh_folder_exists(path))
        return sh_checkpoint_open(file, used, path);
    SH_TRY(sh_safetensors_open(&fresh, path));
    if (sh_safetensors_metadata(fresh, SH_CHECKPOINT_FORMAT_KEY) != NULL) {
        sh_safetensors_close(fresh);
        return sh_checkpoint_open(file, used, path);
    }
    const bool summed = sh_safetensors_metadata(fresh, SH_SAFETENSORS_CHECKSUM) != NULL;
    const sh_status status = summed ? sh_safetensors_verify(fresh) : SH_OK;
    if (status != SH_OK) {
        sh_safetensors_close(fresh);
        return status;
    }
    *file = fresh;
    return SH_OK;
}

sh_status sh_weights_open_best(sh_safetensors **file, char used[SH_PATH_BYTES], const char *path)
{
    static const char *const places[] = {SH_RUN_CHECKPOINTS "/" SH_CHECKPOINT_BEST,
                                         SH_CHECKPOINT_BEST};
    char best[SH_PATH_BYTES];
    for (int i = 0; i < 2 && sh_folder_exists(path); i++)
        if (sh_path_join(best, path, places[i]) == SH_OK && access(best, F_OK) == 0) {
            SH_TRY(sh_folder_check_own(best)); /* the user did not name this file */
            return sh_checkpoint_open(file, used, best);
        }
    return sh_checkpoint_open(file, used, path);
}
