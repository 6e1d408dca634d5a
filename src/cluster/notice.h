/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device tells the coordinator of itself. A level, not an edge: each notice says everything
 * and carries a serial, and only the one with the highest serial counts. It is sent when it changes
 * and at least every 100 ms, so it is the heartbeat, and loss, repetition and reordering do no
 * harm.
 *
 * Made by cluster/participant, read by cluster/membership; node/ carries it. The data's fingerprint
 * and the hash of the first grain go with the first one that says READY.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_NOTICE_H
#define SHOAL_CLUSTER_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/position.h"
#include "base/ranges.h"
#include "train/pace.h"

typedef enum sh_life {
    SH_LIFE_PREPARING = 1, /* gets job and data, compiles */
    SH_LIFE_READY = 2,
    SH_LIFE_FINISHED = 3, /* its replica is where the job ends */
} sh_life;

typedef enum sh_activity {
    SH_ACTIVITY_WAITS = 0, /* for others, or for orders */
    SH_ACTIVITY_COMPUTES = 1,
    SH_ACTIVITY_READS = 2, /* samples */
    SH_ACTIVITY_TAKES = 3, /* a replica */
    SH_ACTIVITY_COUNT
} sh_activity;

/* What a device does at the moment of sending: news each time, whatever the serial. */
typedef struct sh_doing {
    sh_activity activity;
    uint64_t progress; /* changes as long as it gets on with that */
    /* Of its links: for so long something has waited to be taken by the device at the other end,
     * and hardly anything was. 0: all move. */
    uint32_t stuck_ms, stuck_peer;
} sh_doing;

/* Numbers of views and transfers begin with 1; 0 says none. */
typedef struct sh_notice {
    uint64_t serial;
    sh_doing doing;
    sh_life life;
    bool leaving; /* wants to be out at the next boundary */

    /* The replica. Where it is not whole, position, grains and check say nothing. */
    bool whole;
    sh_position position;
    uint32_t grains; /* of the stage at `position`, where that is a training's; else 0 */
    uint64_t check;  /* of its weights; as of `halted` */
    sh_speed speed;

    uint32_t view;   /* that it works in */
    uint32_t halted; /* the highest view whose HALT it has carried out: it computes nothing */
    sh_ranges held; /* while halted: grains of the stage at `position` in its own part of the sum */
    uint32_t linked; /* the highest view whose ring it is linked in, both sides */

    uint32_t broken;      /* the view whose ring's link broke, or did not come about, last */
    uint32_t broken_peer; /* the device at that link's other end */
    uint32_t differing;   /* the highest view in which the replicas' checks did not agree */
    uint64_t said;        /* the check in its own trailer of the stage that ended last, as it stands
                             there; 0: it passed, or was not made */
    uint64_t total;       /* of all checks, in the stage that `differing` is about */

    uint32_t unsound; /* the highest view in which a sum had numbers that are not finite */
    bool by_this;     /* its own part of the stage that ended last had some */

    uint64_t fetched; /* the highest transfer that made its replica whole; it may go on following */
    uint64_t failed;  /* the highest transfer that it took and that cannot go on */
    uint64_t coming;  /* the transfer whose rest takes left_ms, as far as can be told */
    uint32_t left_ms;
} sh_notice;

#endif
