/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/train_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "node/job/run_evaluation.h"
#include "store/checkpoint.h"

void sh_training_observe(const training *t, const sh_event *event)
{
    if (t->options->observer != NULL)
        t->options->observer(t->options->context, event);
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

sh_status sh_training_checkpoint(training *t)
{
    char path[SH_PATH_BYTES];
    if (t->options->lr_find)
        return SH_OK;
    const sh_occupation before = sh_hang_guard_set_occupation(t->guard, SH_OCCUPATION_FILES);
    const sh_status status = sh_checkpoint_writer_write(&t->writer, t->group->may_be_killed);
    sh_hang_guard_set_occupation(t->guard, before);
    SH_TRY(status);
    t->has_checkpoint = true;
    sh_checkpoint_interval_restart(&t->interval, sh_clock_now_ns(sh_clock_system()),
                                   t->session->replica->steps);
    SH_TRY(sh_path_join(path, sh_run_checkpoints(t->run), SH_CHECKPOINT_LAST));
    sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu file=\"%s\"",
           (unsigned long long)t->session->replica->steps, path);
    sh_training_observe(t, &(sh_event){.kind = SH_EVENT_CHECKPOINT, .text = path});
    return SH_OK;
}

sh_status sh_training_checkpoint_validated(training *t)
{
    const sh_replica *replica = t->session->replica;
    const sh_best now = sh_best_now(&replica->best, &t->session->job);
    const uint64_t epoch_steps = sh_trainer_schedule(t->session->trainer)->epoch_steps;
    SH_TRY(sh_training_checkpoint(t));
    if (sh_retention_lacks(&t->retention, &now, replica->steps))
        sh_run_evaluation_forget(t->run);
    SH_TRY(sh_retention_validated(&t->retention, &now, replica->steps));
    return replica->steps % epoch_steps == 0
               ? sh_retention_epoch(&t->retention, (uint32_t)(replica->steps / epoch_steps))
               : SH_OK;
}

sh_status sh_training_complete_retention(training *t)
{
    const sh_replica *replica = t->session->replica;
    const sh_best now = sh_best_now(&replica->best, &t->session->job);
    return sh_retention_lacks(&t->retention, &now, replica->steps)
               ? sh_training_checkpoint_validated(t)
               : SH_OK;
}

void sh_training_save_now(void *context)
{
    sh_checkpoint_writer_write_now(&((training *)context)->writer);
}

void sh_training_rescue(void *context, sh_rescue *rescue)
{
    training *t = context;
    sh_checkpoint_writer_rescue(&t->writer, t->group->agent, rescue);
    sh_run_journal_end(t->journal, "stopped", NULL);
}

sh_status sh_training_tolerate(training *t, sh_write_failure kind, sh_status status)
{
    char text[SH_MESSAGE_BYTES];
    SH_TRY(sh_write_failures_note(&t->write_failures, kind, status,
                                  sh_clock_now_ns(sh_clock_system()), text));
    if (text[0] == '\0')
        return SH_OK;
    sh_log(status == SH_OK ? SH_LOG_INFO : SH_LOG_WARN,
           status == SH_OK ? "disk.works" : "disk.failed", "text=\"%s\"", text);
    sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    return SH_OK;
}

/* ---- reports of the course ------------------------------------------------------------------- */

void sh_training_count_samples(training *t)
{
    const sh_schedule *schedule = sh_trainer_schedule(t->session->trainer);
    for (; t->counted_steps < t->session->replica->steps; t->counted_steps++)
        t->summary->samples += sh_schedule_batch(schedule, t->counted_steps).samples.count;
}

double sh_training_date(void)
{
    const struct timespec now = sh_clock_date();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void sh_training_note_failure(const training *t, sh_status status)
{
    if (status != SH_OK)
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = sh_message()});
}

void sh_training_note_board(training *t, sh_status status)
{
    if (status != SH_OK || !sh_tensorboard_is_failing(t->scalars.file)) /* else not yet tried */
        sh_training_note_failure(t, sh_training_tolerate(t, SH_WRITE_FAILURE_BOARD, status));
}

void sh_training_note_trouble(const training *t)
{
    char text[SH_MESSAGE_BYTES];
    if (sh_run_journal_note(t->journal, text))
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}
