/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the coordinator wants of a device. A level as the notice is: each directive says everything
 * and carries a serial, and only the one with the highest serial counts.
 *
 * For view v the phase goes HALT, LINK, GO, or LINK, GO if the change is planned:
 *
 *     HALT  abort the rings below v, finish the grains under way, compute the check, say so
 *     LINK  link the ring of v; in a planned change work goes on meanwhile
 *     GO    be in v, at `start`; in a planned change the trailer has brought most devices there
 *
 * Made by cluster/membership, read by cluster/participant; node/ carries it, with addresses and
 * keys.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_DIRECTIVE_H
#define SHOAL_CLUSTER_DIRECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/position.h"
#include "base/ranges.h"
#include "plan/shares.h"

struct sh_engine_kind;

#define SH_DONORS_MAX 4
#define SH_TRANSFERS_MAX 8 /* at one time */

typedef enum sh_directive_phase {
    SH_DIRECTIVE_NONE = 0, /* no view concerns the device yet */
    SH_DIRECTIVE_HALT = 1,
    SH_DIRECTIVE_LINK = 2,
    SH_DIRECTIVE_GO = 3,
} sh_directive_phase;

/* A place in a view: its number is the device's rank there. */
typedef struct sh_seat {
    uint32_t device;
    bool local;     /* on the coordinator's machine */
    sh_range share; /* of the grains of a full step; may be empty. Seats follow each other */
    bool serves;    /* adds up a shard of every sum; where no seat does, a ring adds up */
} sh_seat;

/* A replica that `receiver` gets from donors: donor i gives stripe i of donor_count. Its number is
 * never used again. */
typedef struct sh_transfer {
    uint64_t number;
    uint32_t receiver;
    uint32_t donors[SH_DONORS_MAX];
    uint32_t donor_count;
    bool live; /* the donors work on, the receiver follows; else all stand still at `wanted` */
    bool once; /* of a live one: the receiver stops when the replica is whole, and keeps it */
    sh_position wanted; /* not live: where the donors stand, or the validation just before, which
                           has the same replica */
} sh_transfer;

typedef struct sh_directive {
    uint64_t serial;
    bool dismissed; /* the device's part is over: it may go */

    sh_directive_phase phase;
    uint32_t view;
    uint32_t ring; /* the view whose links serve: `view`, or an earlier one with the same seats */
    bool planned;
    uint32_t seat_count; /* 0 in a HALT */
    sh_seat seats[SH_DEVICES_MAX];

    sh_position start; /* of a GO: all of the view begin there */
    uint32_t left;     /* of a GO: the ring of the view before, which stands until all have passed
                          its last stage; 0: they have, or nobody waits for it */
    bool ends; /* of an unplanned GO: the job has ended there for some devices: no more stages */

    /* Of an unplanned GO that begins with a training stage: what this device does in that stage. */
    bool keep;      /* what it holds counts; else it begins with an empty sum */
    sh_ranges work; /* the grains that it computes besides */

    uint32_t transfer_count; /* those in which this device takes or gives */
    sh_transfer transfers[SH_TRANSFERS_MAX];
} sh_directive;

/* Whether a replica at `mine` can go on at `target`. A validation and the first attempt after it
 * have the same weights. */
bool sh_position_reaches(sh_position mine, sh_position target);

/* The seat of a device among `count`; NULL: none. Borrowed as the seats. */
const sh_seat *sh_seat_of(const sh_seat *seats, uint32_t count, uint32_t device);

/* The engine that adds up over the seats; `serves` gets which of them do. */
const struct sh_engine_kind *sh_directive_engine(const sh_directive *directive,
                                                 bool serves[SH_DEVICES_MAX]);

/* Whether seat `from` connects to seat `to`: in a ring to the next one, the last to the first; else
 * lower seats to higher ones, if one of them serves. So nobody has to reach a device of the
 * coordinator's machine, whose seats come first. */
bool sh_directive_links(const sh_directive *directive, uint32_t from, uint32_t to);

/* The transfer that a device takes, among `count`; NULL: none. Borrowed as the transfers. */
const sh_transfer *sh_transfer_to(const sh_transfer *transfers, uint32_t count, uint32_t device);

/* Whether `device` gives in a transfer, and which stripe. */
bool sh_transfer_gives(uint32_t *stripe, const sh_transfer *transfer, uint32_t device);

#endif
