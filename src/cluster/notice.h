/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device reports about itself to the coordinator. Level-triggered: each notice is complete,
 * and only the one with the highest serial counts. It is sent when it changes and at least every
 * 100 ms, so it is also the heartbeat; loss, repetition and reordering do no harm. The data's
 * fingerprint and the hash of the first grain accompany the first notice that says READY.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_NOTICE_H
#define SHOAL_CLUSTER_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/position.h"
#include "base/ranges.h"
#include "cluster/audit.h"
#include "train/pace.h"

typedef enum sh_life {
    SH_LIFE_PREPARING = 1, /* receives job and data, compiles */
    SH_LIFE_READY = 2,
    SH_LIFE_FINISHED = 3, /* its replica is at the job's end */
} sh_life;

typedef enum sh_activity {
    SH_ACTIVITY_WAITS = 0, /* for others, or for orders */
    SH_ACTIVITY_COMPUTES = 1,
    SH_ACTIVITY_READS = 2, /* samples */
    SH_ACTIVITY_TAKES = 3, /* a replica */
    SH_ACTIVITY_COUNT
} sh_activity;

/* Describes the moment of sending; valid in every notice, whatever its serial. */
typedef struct sh_doing {
    sh_activity activity;
    uint64_t progress; /* changes with progress */
    /* The longest time for which a link had data queued for `stuck_peer` that hardly moved. 0: all
     * links progress. */
    uint32_t stuck_ms, stuck_peer;
} sh_doing;

/* Views and transfers are numbered from 1; 0: none. */
typedef struct sh_notice {
    uint64_t serial;
    sh_doing doing;
    sh_life life;
    bool leaving; /* wants to leave at the next boundary */

    /* If the replica is not whole, position, grains and check are undefined. */
    bool whole;
    sh_position position;
    uint32_t grains; /* of the stage at `position`; 0: not a training stage */
    uint64_t check;  /* of its weights, as of `halted` */
    sh_speed speed;

    uint32_t view;
    uint32_t halted; /* the highest view whose HALT it completed */
    sh_ranges held;  /* while halted: grains in its own part of the sum */
    uint32_t linked; /* the highest view whose ring it has linked on both sides */

    uint32_t broken; /* the view whose ring last broke or failed to link */
    uint32_t broken_peer;
    uint32_t differing; /* the highest view in which the replicas' checks disagreed */
    uint64_t own_check; /* its own trailer's check of the last stage; 0: it passed, or no check */
    uint64_t total;     /* the sum of all checks in the stage of `differing` */

    uint32_t not_finite; /* the highest view in which a sum was not finite */
    bool own_not_finite; /* its own part of the last stage was not finite */

    sh_audit_report audit;

    uint64_t fetched;   /* the highest transfer that completed its replica; may still follow */
    uint64_t failed;    /* the highest transfer to it that failed */
    uint64_t receiving; /* the transfer whose rest takes left_ms */
    uint32_t left_ms;
} sh_notice;

#endif
