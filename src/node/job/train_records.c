/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/train_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "node/job/appraisal.h"
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
    const sh_occupation before = sh_vigil_note(t->vigil, SH_OCCUPATION_FILES);
    const sh_status status = sh_saves_write(&t->saves, t->company->may_be_killed);
    sh_vigil_note(t->vigil, before);
    SH_TRY(status);
    t->has_checkpoint = true;
    sh_cadence_restart(&t->cadence, sh_clock_now_ns(sh_clock_system()), t->bench->replica->steps);
    SH_TRY(sh_path_join(path, sh_run_checkpoints(t->run), SH_CHECKPOINT_LAST));
    sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu file=\"%s\"",
           (unsigned long long)t->bench->replica->steps, path);
    sh_training_observe(t, &(sh_event){.kind = SH_EVENT_CHECKPOINT, .text = path});
    return SH_OK;
}

sh_status sh_training_checkpoint_validated(training *t)
{
    const sh_replica *replica = t->bench->replica;
    const sh_best now = sh_best_now(&replica->best, &t->bench->job);
    const uint64_t epoch_steps = sh_trainer_schedule(t->bench->trainer)->epoch_steps;
    SH_TRY(sh_training_checkpoint(t));
    if (sh_kept_lacks(&t->kept, &now, replica->steps))
        sh_appraisal_forget(t->run);
    SH_TRY(sh_kept_validated(&t->kept, &now, replica->steps));
    return replica->steps % epoch_steps == 0
               ? sh_kept_epoch(&t->kept, (uint32_t)(replica->steps / epoch_steps))
               : SH_OK;
}

sh_status sh_training_complete_kept(training *t)
{
    const sh_replica *replica = t->bench->replica;
    const sh_best now = sh_best_now(&replica->best, &t->bench->job);
    return sh_kept_lacks(&t->kept, &now, replica->steps) ? sh_training_checkpoint_validated(t)
                                                         : SH_OK;
}

/* On another thread: the step and this process may never end. */
void sh_training_save_now(void *context)
{
    sh_saves_write_now(&((training *)context)->saves);
}

/* Likewise, if the step's thread hangs. */
void sh_training_rescue(void *context, sh_rescue *rescue)
{
    training *t = context;
    sh_saves_rescue(&t->saves, t->company->agent, rescue);
    sh_run_journal_end(t->journal, "stopped", NULL);
}

sh_status sh_training_bear(training *t, sh_setback kind, sh_status status)
{
    char text[SH_MESSAGE_BYTES];
    SH_TRY(sh_setbacks_note(&t->setbacks, kind, status, sh_clock_now_ns(sh_clock_system()), text));
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
    const sh_schedule *schedule = sh_trainer_schedule(t->bench->trainer);
    for (; t->counted_steps < t->bench->replica->steps; t->counted_steps++)
        t->summary->samples += sh_schedule_batch(schedule, t->counted_steps).samples.count;
}

double sh_training_date(void)
{
    const struct timespec now = sh_clock_date();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A failing disk does not end a training because of an additional file. */
void sh_training_note_failure(const training *t, sh_status status)
{
    if (status != SH_OK)
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = sh_message()});
}

void sh_training_note_board(training *t, sh_status status)
{
    if (status != SH_OK || !sh_tensorboard_is_failing(t->scalars.file)) /* else not yet tried */
        sh_training_note_failure(t, sh_training_bear(t, SH_SETBACK_BOARD, status));
}

void sh_training_note_trouble(const training *t)
{
    char text[SH_MESSAGE_BYTES];
    if (sh_run_journal_note(t->journal, text))
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}
