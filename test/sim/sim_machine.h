/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine of the simulator: a participant, and models of its replica, accumulators, step thread
 * and sockets.
 *
 * Threads: one per world.
 */
#ifndef SHOAL_SIM_MACHINE_H
#define SHOAL_SIM_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/participant.h"

#define STRIPES SH_DONORS_MAX
#define RINGS_MAX 8
typedef enum event_kind {
    EVENT_TICK,
    EVENT_HEARTBEAT, /* of a machine, and of the coordinator to it */
    EVENT_CONNECT,
    EVENT_ADMITTED,
    EVENT_PREPARED,
    EVENT_NOTICE,    /* `message` arrives at the coordinator */
    EVENT_DIRECTIVE, /* `message` arrives at a machine */
    EVENT_GONE,      /* a: device; at the coordinator */
    EVENT_CLOSED,    /* a machine's connection to the coordinator ended */
    EVENT_GRAIN,
    EVENT_STOP,  /* the thread returns from an aborted engine; a: round */
    EVENT_ROUND, /* a: round */
    EVENT_PASS,  /* a: round */
    EVENT_CHECK,
    EVENT_LINK,
    EVENT_BROKEN, /* a: ring, b: peer */
    EVENT_FETCH,
    EVENT_FAULT,
    EVENT_START,
} event_kind;

typedef struct sim_event {
    uint64_t at_us, order;
    event_kind kind;
    uint32_t machine, life; /* void after this life */
    uint64_t a, b;
    int message;
} sim_event;

typedef struct sim_replica {
    sh_position position;
    uint64_t base;           /* hash of the course so far */
    uint64_t flips[STRIPES]; /* the error in each stripe; 0: none */
    bool half;
} sim_replica;

typedef struct sim_stage {
    bool on, aborted, contributed;
    sh_task task;
    uint32_t todo; /* grains, as a mask */
    uint64_t round;
    uint64_t since_us;
    uint64_t check;     /* that it contributed */
    uint64_t own_check; /* that it reports */
} sim_stage;

typedef struct sim_fetch {
    bool on;
    sh_transfer transfer;
    uint32_t chunks[STRIPES];
    uint64_t since_us; /* when the last chunk arrived */
    bool given;
    sh_position given_at;
} sim_fetch;

/* A machine's permanent defect. */
typedef enum sim_illness {
    ILLNESS_NONE,
    ILLNESS_STUCK, /* all its replicas are wrong */
    ILLNESS_WORD,  /* adds wrong numbers to sums and reports them */
    ILLNESS_LIE,   /* adds wrong numbers, but reports right ones */
    ILLNESS_NAN,   /* computes numbers that are not finite */
} sim_illness;

typedef struct sim_machine {
    bool on, connected;
    sim_illness illness;
    bool boasts;   /* reports an absurd speed */
    bool may_hang; /* its step thread will hang at any time */
    bool hangs;
    uint32_t life, device, index;
    uint64_t frozen_us, heard_us;
    uint32_t grain_us;
    sh_participant part;
    uint64_t sent;
    sim_replica replica;
    uint32_t own; /* grains in its own part, as a mask */
    uint64_t own_sum;
    sh_position own_at;
    sim_stage stage;
    uint32_t ring, rounds;
    uint32_t rings[RINGS_MAX];
    uint32_t linking;
    uint64_t linking_us;
    sim_fetch fetch;
} sim_machine;

#endif
