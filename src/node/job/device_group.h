/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that train together: this one alone, a crew that it coordinates (`crew`: local and
 * joining devices), or ranks started by mpirun or srun (`ranks`). Each kind has a table of
 * operations. The order of calls: check, open, agree, assemble, run, reports, dismiss, close.
 *
 *     SH_TRY(sh_device_group_check(&options));
 *     SH_TRY(sh_device_group_open(&group, &options));
 *     SH_TRY(sh_device_group_agree(group, prepare(group)));    // fails for all if one fails
 *     SH_TRY(sh_device_group_assemble(group));
 *     SH_TRY(sh_device_group_run(group, &training_loop, &outcome));
 *     SH_TRY(sh_device_group_reports(group, &own, &reports, &count));
 *     status = sh_device_group_dismiss(group, status, message);
 *     sh_device_group_close(group, stopped);
 *
 * Threads: the step's thread, unless stated. It must outlive the local devices, which the system
 * ends with the thread that started them.
 */
#ifndef SHOAL_NODE_DEVICE_GROUP_H
#define SHOAL_NODE_DEVICE_GROUP_H

#include "node/job/device_roles.h"
#include "node/job/training_loop.h"
#include "node/member/failover_state.h"
#include "node/record/run_journal.h"
#include "shoal/train.h"
#include "store/run.h"

typedef struct sh_device_group sh_device_group;

/* The slots from `check` on are optional, except `open`. Without one, the function of the same name
 * below acts as for a single device. */
typedef struct sh_device_group_ops {
    const char *purpose; /* of its memory */
    size_t bytes;        /* of its struct */

    /* Whether it serves a training with these options. Any thread, like the next two. */
    bool (*fits)(const sh_train_options *options);

    /* SH_INVALID or SH_UNSUPPORTED; the message has the remedy. */
    sh_status (*check)(const sh_train_options *options);

    /* The number of devices that start the training; at least 1. */
    uint32_t (*devices)(const sh_train_options *options);

    /* Called before the data are opened. SH_MISMATCH: MPI and the launcher disagree. After a
     * failure, `close` is called. */
    sh_status (*open)(sh_device_group *group);

    /* If `status` is a failure on any device, all fail with the first message. */
    sh_status (*agree)(sh_device_group *group, sh_status status);

    /* The session is started. SH_MISMATCH on all ranks if any rank's program, job, data, arithmetic
     * or replica differs from rank 0's; the message names these ranks. */
    sh_status (*compare)(sh_device_group *group);

    /* Opens the door, reports the token, starts the local devices, and takes device 0's place in
     * the job: `agent`. The run's folder is open. */
    sh_status (*assemble)(sh_device_group *group);

    /* This device enters a view with its next step. */
    void (*enter)(sh_device_group *group, uint32_t view, uint64_t step);

    /* The view to announce (sh_part.announce). Any thread. */
    bool (*announce)(sh_device_group *group, bool last, uint64_t *view);

    /* Like sh_training_loop.on_idle. SH_STOPPED before the first view; SH_PEER_LOST: the job cannot
     * continue. */
    sh_status (*idle)(sh_device_group *group, bool wait, bool *over);

    sh_status (*run)(sh_device_group *group, sh_training_loop *training_loop, sh_outcome *outcome);

    /* Reports all devices, `own` first. *reports is owned: free(). */
    sh_status (*reports)(sh_device_group *group, const sh_device_report *own,
                         sh_device_report **reports, size_t *count);

    /* Tells all devices why the job ends. */
    void (*fail)(sh_device_group *group, const char *reason);

    /* The training ended with this status and message. Returns this process's result: only rank 0
     * reports a failure that all ranks saw. */
    sh_status (*dismiss)(sh_device_group *group, sh_status status, const char *message);

    /* `in_haste`: the process was asked to end. */
    void (*close)(sh_device_group *group, bool in_haste);
} sh_device_group_ops;

/* The first member of every device group's struct. */
struct sh_device_group {
    const sh_device_group_ops *ops;
    const sh_train_options *options;

    char name[SH_NAME_BYTES]; /* the host's unless open changes it */
    uint32_t devices;         /* at the start */
    /* Set by open. */
    uint32_t here;      /* those on this machine, which share its cores; else 1 */
    uint32_t rank;      /* 0 except for ranks */
    sh_engine *engine;  /* without an agent: reduces over all devices; borrowed */
    bool may_share;     /* other devices may need the replica and the sums */
    bool may_be_killed; /* it may be killed soon after a request to end; another thread calls
                         * save_now */

    /* Set by the training; borrowed. */
    sh_session *session;
    sh_run *run; /* NULL except for rank 0, like the journal */
    sh_run_journal *journal;
    sh_device_roles roles;
    const char *lanes; /* the --lanes of each device here; borrowed: the user's, or lanes_text */
    char lanes_text[16];
    void (*save_now)(void *context);
    void *context;
    const sh_failover_state *failover; /* of the coordinator that it succeeds, or NULL */
    sh_endpoint moved;                 /* out: its successor; port 0: none */
    sh_token token;                    /* out: likewise */
    sh_agent *agent;                   /* set by assemble; NULL: the devices do not change */
};

extern const sh_device_group_ops sh_device_group_ranks, sh_device_group_crew;

/* *group is owned: sh_device_group_close. The options are borrowed until then. */
sh_status sh_device_group_open(sh_device_group **group,
                               const sh_train_options *options) SHOAL_CHECKED;
void sh_device_group_close(sh_device_group *group, bool in_haste);

/* See the slots with these names. */
sh_status sh_device_group_check(const sh_train_options *options) SHOAL_CHECKED;
uint32_t sh_device_group_devices(const sh_train_options *options);
sh_status sh_device_group_agree(sh_device_group *group, sh_status status) SHOAL_CHECKED;
sh_status sh_device_group_compare(sh_device_group *group) SHOAL_CHECKED;
sh_status sh_device_group_assemble(sh_device_group *group) SHOAL_CHECKED;
void sh_device_group_enter(sh_device_group *group, uint32_t view, uint64_t step);
sh_status sh_device_group_run(sh_device_group *group, sh_training_loop *training_loop,
                              sh_outcome *outcome) SHOAL_CHECKED;
sh_status sh_device_group_reports(sh_device_group *group, const sh_device_report *own,
                                  sh_device_report **reports, size_t *count) SHOAL_CHECKED;
void sh_device_group_fail(sh_device_group *group, const char *reason);
sh_status sh_device_group_dismiss(sh_device_group *group, sh_status status,
                                  const char *message) SHOAL_CHECKED;

sh_status sh_device_group_report_own(const sh_device_report *own, sh_device_report **reports,
                                     size_t *count) SHOAL_CHECKED;

/* The grains of a full step that this device computes without an agent: equal parts, in order of
 * ranks. */
sh_range sh_device_group_share(const sh_device_group *group);

#endif
