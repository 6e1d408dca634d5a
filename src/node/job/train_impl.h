/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of a training. train.c has its main part, train_end.c its end;
 * train_records.c calls nothing of the others.
 *
 *     SH_TRY(sh_training_checkpoint(t));
 *     SH_TRY(sh_training_finish(t, &training_loop, status, outcome));
 *
 * Threads: the step's thread, unless stated.
 */
#ifndef SHOAL_NODE_JOB_TRAIN_IMPL_H
#define SHOAL_NODE_JOB_TRAIN_IMPL_H

#include "node/job/checkpoint_interval.h"
#include "node/job/checkpoint_writer.h"
#include "node/job/device_group.h"
#include "node/job/lead.h"
#include "node/job/measure.h"
#include "node/job/progress_events.h"
#include "node/job/retention.h"
#include "node/job/write_failures.h"
#include "node/record/scalars.h"
#include "store/run.h"

typedef struct training {
    const sh_train_options *options;
    const sh_lead_options *lead; /* NULL unless it continues another coordinator's job */
    sh_device_group *group;
    sh_run *run; /* NULL except on rank 0, like the journal */
    bool has_checkpoint;
    sh_checkpoint_writer writer;
    sh_retention retention;
    sh_checkpoint_interval interval;
    sh_write_failures write_failures;
    sh_log_tap events; /* while the run's folder is open */
    sh_scalars scalars;
    sh_measure *measure; /* may be NULL */
    sh_session *session;
    sh_run_journal *journal;
    sh_job before;        /* of the resumed checkpoint */
    sh_hang_guard *guard; /* NULL for ranks, which the launcher ends */

    sh_progress_pace pace;
    uint64_t start_steps;
    uint64_t counted_steps;   /* whose samples are in the summary */
    char name[SH_NAME_BYTES]; /* of this device, and the job's token, for following later */
    sh_token token;
    bool moved_whole; /* another device leads now; the replica here is whole */
    sh_summary *summary;
} training;

/* ---- train_records.c ------------------------------------------------------------------------- */

void sh_training_observe(const training *t, const sh_event *event);

/* Writes a checkpoint and tells the user. Fails as sh_checkpoint_writer_write. */
sh_status sh_training_checkpoint(training *t) SHOAL_CHECKED;

/* Likewise after a validation; keeps it if it is the best. */
sh_status sh_training_checkpoint_validated(training *t) SHOAL_CHECKED;

/* Repairs the best checkpoint if the last call was killed before keeping it, or if it is another
 * run's. */
sh_status sh_training_complete_retention(training *t) SHOAL_CHECKED;

/* For sh_device_group.save_now and sh_hang_guard_options.save; `context` is the training. Any
 * thread: the step may never end. */
void sh_training_save_now(void *context);
void sh_training_rescue(void *context, sh_rescue *rescue);

/* After a write that ended with `status`. SH_OK: the training continues. */
sh_status sh_training_tolerate(training *t, sh_write_failure kind, sh_status status) SHOAL_CHECKED;

/* Includes steps that this device did not apply. */
void sh_training_count_samples(training *t);

/* Report failures that do not end the training. */
void sh_training_note_failure(const training *t, sh_status status);
void sh_training_note_board(training *t, sh_status status);
void sh_training_note_trouble(const training *t);

/* Seconds since 1970, for people. */
double sh_training_date(void);

/* ---- train_end.c ----------------------------------------------------------------------------- */

/* Saves and summarises after the training loop's end. Returns the training's result. */
sh_status sh_training_finish(training *t, const sh_training_loop *training_loop, sh_status status,
                             sh_outcome outcome) SHOAL_CHECKED;

/* After all other devices have left: replaces the last weights by the best ones, evaluates them and
 * writes them as files. */
void sh_training_conclude(training *t, bool stopped);

#endif
