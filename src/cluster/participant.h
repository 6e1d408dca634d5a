/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's side of the cluster: follows the coordinator's directives and says how it stands. A
 * pure state machine between the coordinator, the step's thread and the loop's.
 *
 *     sh_participant_init(&participant, device);
 *     sh_participant_handle(&participant, &(sh_participant_event){SH_PARTICIPANT_DIRECTIVE, ...});
 *     const sh_task task = sh_participant_take(&participant);  // the step's thread: what next?
 *     if (participant.notice.serial != sent)  ... send participant.notice ...
 *
 * The step's thread takes a task, does it, says with one event how it went, and asks again; after
 * WAIT, it asks again after any event. A device that has lost the coordinator begins anew, with a
 * new number.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLUSTER_PARTICIPANT_H
#define SHOAL_CLUSTER_PARTICIPANT_H

#include "cluster/directive.h"
#include "cluster/notice.h"

typedef enum sh_task_kind {
    SH_TASK_WAIT,
    SH_TASK_RUN,   /* a stage: then PASSED, STOPPED or DIFFERED */
    SH_TASK_CHECK, /* computes the check of the weights: then CHECKED */
    SH_TASK_FETCH, /* takes a replica: FETCHED or FETCH_FAILED follow, from any thread; ask again at
                      once, WAIT comes */
    SH_TASK_END,   /* no more */
} sh_task_kind;

typedef struct sh_task {
    sh_task_kind kind;
    uint32_t view, ring;  /* RUN: whose shares, whose links */
    uint32_t devices;     /* RUN: in the view */
    sh_position position; /* RUN: the replica's; phase 0 is a validation */
    bool dealt;           /* RUN: a training stage whose work is `work`, not the share */
    bool keep;            /* RUN: what the sum holds stays in it; else it is cleared */
    sh_ranges work;
    sh_range share;       /* RUN: of the grains of a full step */
    sh_transfer transfer; /* FETCH */
} sh_task;

typedef enum sh_participant_event_kind {
    SH_PARTICIPANT_DIRECTIVE, /* directive: copied */
    SH_PARTICIPANT_PREPARED,  /* whole; if it is: position, grains */
    /* A reduction came through and its verdict is carried out: position and grains of the next
     * stage; next_view as the trailer had it, 0 if the verdict is a redo; finished: the job ends
     * here; speed. */
    SH_PARTICIPANT_PASSED,
    /* The same, but its verdict is a redo, and the next attempt is under way by itself: position.
     */
    SH_PARTICIPANT_REDONE,
    SH_PARTICIPANT_STOPPED,  /* the stage ended without a sum: held, all of the own part; said */
    SH_PARTICIPANT_DIFFERED, /* the checks in the sum differ, nothing was applied: held, said, total
                              */
    SH_PARTICIPANT_NOT_FINITE,  /* likewise, for numbers that are not finite: held, by_this */
    SH_PARTICIPANT_CHECKED,     /* check */
    SH_PARTICIPANT_LINKED,      /* view: its ring is linked on both sides */
    SH_PARTICIPANT_LINK_BROKEN, /* view; peer: the device at the other end */
    /* transfer; position, grains: the replica is whole and stands there; again for each stage that
     * a live one follows. */
    SH_PARTICIPANT_FETCHED,
    SH_PARTICIPANT_FETCHING,     /* transfer; left_ms until all of it is here */
    SH_PARTICIPANT_FETCH_FAILED, /* transfer */
    SH_PARTICIPANT_LEAVE,
    SH_PARTICIPANT_ABANDONED, /* the coordinator is lost: no ring may stand, no stage be made */
} sh_participant_event_kind;

typedef struct sh_participant_event {
    sh_participant_event_kind kind;
    const sh_directive *directive; /* borrowed for the call */
    bool whole, finished, by_this;
    sh_position position;
    uint32_t grains;
    sh_speed speed;
    uint32_t view, next_view, peer;
    const sh_ranges *held;                 /* borrowed for the call; NULL: forgotten */
    uint64_t check, said, total, transfer; /* as sh_notice has them */
    uint32_t left_ms;
} sh_participant_event;

/* Read notice and directive freely, directive.transfers for what this device gives. */
typedef struct sh_participant {
    uint32_t device;
    sh_notice notice;
    sh_directive directive;
    sh_task_kind under_way;  /* RUN, CHECK, or WAIT: nothing */
    uint64_t fetching;       /* the transfer that may write to the replica; 0: none */
    uint32_t ring, previous; /* of notice.view; of the view before, until all are through */
    uint32_t entered;        /* the last view it has been in */
    uint32_t devices;        /* in notice.view */
    sh_range share;          /* in notice.view */
    bool stalled;            /* no stage can be made in notice.view any more */
    bool abandoned;          /* nor in any other */
    bool dealt, keep;        /* of the first stage in notice.view */
    sh_ranges work;
} sh_participant;

void sh_participant_init(sh_participant *participant, uint32_t device);

/* Takes an event in; notice.serial grows where the notice changes. */
void sh_participant_handle(sh_participant *participant, const sh_participant_event *event);

/* Step's thread: the next task, which is under way from now on. */
sh_task sh_participant_take(sh_participant *participant);

/* Loop: the view whose ring is to be linked now (its seats are the directive's), or 0. */
uint32_t sh_participant_link(const sh_participant *participant);

/* Loop: whether the ring of this number may stand. The others are aborted and closed: the engine's
 * wait then fails, and the step's thread says STOPPED. */
bool sh_participant_may_stand(const sh_participant *participant, uint32_t ring);

#endif
