/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's side of the cluster: follows the coordinator's directives and reports its state. A
 * pure state machine between the coordinator, the step's thread and the loop's thread.
 *
 *     sh_participant_init(&participant, device);
 *     sh_participant_handle(&participant, &(sh_participant_event){SH_PARTICIPANT_DIRECTIVE, ...});
 *     const sh_task task = sh_participant_take(&participant);  // the step's thread: what next?
 *     if (participant.notice.serial != sent)  ... send participant.notice ...
 *
 * The step's thread takes a task, does it, reports the result with one event, and asks again; after
 * WAIT, it asks again after any event. A device that lost the coordinator starts again with a new
 * number.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLUSTER_PARTICIPANT_H
#define SHOAL_CLUSTER_PARTICIPANT_H

#include "cluster/directive.h"
#include "cluster/notice.h"

typedef enum sh_task_kind {
    SH_TASK_WAIT,
    SH_TASK_RUN,   /* a stage: report PASSED, AWAITS, STOPPED or DIFFERED */
    SH_TASK_AUDIT, /* compute `work` of the summed step again: report AUDITED */
    SH_TASK_CHECK, /* compute the check of the weights: report CHECKED */
    SH_TASK_FETCH, /* receive a replica: FETCHED or FETCH_FAILED follow from any thread; ask again
                      at once, for a WAIT */
    SH_TASK_END,   /* its part is over */
} sh_task_kind;

typedef struct sh_task {
    sh_task_kind kind;
    uint32_t view, ring;  /* RUN: the view of the shares, the ring of the links */
    uint32_t devices;     /* RUN: in the view */
    sh_position position; /* RUN: the replica's; phase 0 is a validation */
    bool dealt;           /* RUN: a training stage; compute `work`, not the share */
    bool keep;            /* RUN: keep the held grains; else clear the sum */
    bool resume;          /* RUN: apply the summed step, whose audit passed */
    sh_ranges work;       /* RUN, AUDIT */
    sh_range share;       /* RUN: of the grains of a full step */
    sh_transfer transfer; /* FETCH */
} sh_task;

typedef enum sh_participant_event_kind {
    SH_PARTICIPANT_DIRECTIVE, /* directive: copied */
    SH_PARTICIPANT_PREPARED,  /* whole; if it is: position, grains */
    /* A reduction succeeded and its verdict is carried out: position and grains of the next stage;
     * next_view from the trailer, 0 for a redo; finished: the job ends here; speed. */
    SH_PARTICIPANT_PASSED,
    /* Likewise, for a redo whose next attempt started by itself: position. */
    SH_PARTICIPANT_REDONE,
    /* A step is summed and waits for its audit: held; audit: its report, without an answer. */
    SH_PARTICIPANT_AWAITS,
    SH_PARTICIPANT_AUDITED,     /* answer */
    SH_PARTICIPANT_STOPPED,     /* it ended without a sum or an answer: held, the own part; said */
    SH_PARTICIPANT_DIFFERED,    /* the checks in the sum differ: held, said, total */
    SH_PARTICIPANT_NOT_FINITE,  /* likewise, for non-finite numbers: held, own_not_finite */
    SH_PARTICIPANT_CHECKED,     /* check */
    SH_PARTICIPANT_LINKED,      /* view: its ring is linked on both sides */
    SH_PARTICIPANT_LINK_BROKEN, /* view; peer: the device at the other end */
    /* transfer; position, grains: the replica is complete at this position; repeated for each stage
     * that a live transfer follows. */
    SH_PARTICIPANT_FETCHED,
    SH_PARTICIPANT_FETCHING,     /* transfer; left_ms until all of it is here */
    SH_PARTICIPANT_FETCH_FAILED, /* transfer */
    SH_PARTICIPANT_LEAVE,
    SH_PARTICIPANT_ABANDONED, /* the coordinator is lost: no rings, no stages */
} sh_participant_event_kind;

typedef struct sh_participant_event {
    sh_participant_event_kind kind;
    const sh_directive *directive; /* borrowed for the call */
    bool whole, finished, own_not_finite;
    sh_position position;
    uint32_t grains;
    sh_speed speed;
    uint32_t view, next_view, peer;
    const sh_ranges *held;                      /* borrowed for the call; NULL: forgotten */
    uint64_t check, own_check, total, transfer; /* see sh_notice */
    const sh_audit_report *audit;               /* this and the next: borrowed for the call */
    const sh_sum_check *answer;
    uint32_t left_ms;
} sh_participant_event;

/* Readable: notice and directive, including directive.transfers of which this device is a donor. */
typedef struct sh_participant {
    uint32_t device;
    sh_notice notice;
    sh_directive directive;
    sh_task_kind under_way;  /* RUN, AUDIT, CHECK, or WAIT: nothing */
    uint32_t answering;      /* AUDIT: the round */
    uint64_t fetching;       /* the transfer that writes to the replica; 0: none */
    uint32_t ring, previous; /* of notice.view; of the previous view, while needed */
    uint32_t entered;        /* the last view it was in */
    uint32_t devices;        /* in notice.view */
    sh_range share;          /* in notice.view */
    bool stalled;            /* no further stage is possible in notice.view */
    bool abandoned;          /* nor in any other view */
    bool dealt, keep;        /* of the first stage in notice.view */
    sh_ranges work;
} sh_participant;

void sh_participant_init(sh_participant *participant, uint32_t device);

/* Processes an event; increments notice.serial if the notice changes. */
void sh_participant_handle(sh_participant *participant, const sh_participant_event *event);

/* Step's thread: the next task, which counts as started. */
sh_task sh_participant_take(sh_participant *participant);

/* Loop: the view whose ring must be linked now (with the directive's seats), or 0. */
uint32_t sh_participant_link(const sh_participant *participant);

/* Loop: whether this ring is still needed. Others must be aborted and closed: the engine's wait
 * then fails, and the step's thread reports STOPPED. */
bool sh_participant_needs_ring(const sh_participant *participant, uint32_t ring);

#endif
