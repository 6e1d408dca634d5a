/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the coordinator wants from a device. Level-triggered: each directive is complete, and only
 * the one with the highest serial counts.
 *
 * For view v the phase goes HALT, LINK, GO, or LINK, GO if the change is planned:
 *
 *     HALT  abort the rings below v, finish the current grains, compute the check, report
 *     LINK  link the ring of v; in a planned change, work continues meanwhile
 *     GO    be in v at `start`; in a planned change, the trailer has moved most devices there
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_DIRECTIVE_H
#define SHOAL_CLUSTER_DIRECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/position.h"
#include "base/ranges.h"
#include "cluster/audit.h"
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

/* A place in a view; its number is the device's rank. */
typedef struct sh_seat {
    uint32_t device;
    bool local;     /* on the coordinator's machine */
    sh_range share; /* of the grains of a full step, in the order of seats; may be empty */
    bool serves;    /* sums a shard of every span; if no seat serves, a ring sums */
} sh_seat;

/* A replica that `receiver` receives: donor i sends stripe i of donor_count. Numbers are never
 * reused. */
typedef struct sh_transfer {
    uint64_t number;
    uint32_t receiver;
    uint32_t donors[SH_DONORS_MAX];
    uint32_t donor_count;
    bool live; /* donors train on and the receiver follows; else all are halted at `wanted` */
    bool once; /* if live: the receiver stops once the replica is complete */
    sh_position wanted; /* if not live: the donors' position, or the validation just before it */
} sh_transfer;

typedef struct sh_directive {
    uint64_t serial;
    bool dismissed; /* the device may leave */

    sh_directive_phase phase;
    uint32_t view;
    uint32_t ring; /* the view whose links it uses: an earlier one if the seats are the same */
    bool planned;
    uint32_t seat_count; /* 0 in a HALT */
    sh_seat seats[SH_DEVICES_MAX];

    sh_position start; /* of a GO */
    uint32_t left; /* of a GO: the previous view's ring, until all passed its last stage; else 0 */
    bool ends;     /* of an unplanned GO: the job ended for some devices: no more stages */

    /* An unplanned GO to a training stage: */
    bool keep;      /* this device's held grains count; else its sum starts empty */
    sh_ranges work; /* the grains that it computes besides */

    sh_audit_order audit;

    uint32_t transfer_count; /* those in which this device sends or receives */
    sh_transfer transfers[SH_TRANSFERS_MAX];
} sh_directive;

/* Whether a replica at `mine` can continue at `target`: a validation and the first attempt after it
 * have the same weights. */
bool sh_position_reaches(sh_position mine, sh_position target);

/* The seat of a device, or NULL. Borrowed like the seats. */
const sh_seat *sh_seat_of(const sh_seat *seats, uint32_t count, uint32_t device);

/* The engine for the seats; sets `serves` to the seats that serve. */
const struct sh_engine_kind *sh_directive_engine(const sh_directive *directive,
                                                 bool serves[SH_DEVICES_MAX]);

/* Whether seat `from` connects to seat `to`: in a ring, each to the next and the last to the first;
 * else the lower to the higher if one of them serves. Seats of the coordinator's machine come
 * first, so that no other machine needs to reach them. */
bool sh_directive_links(const sh_directive *directive, uint32_t from, uint32_t to);

/* The transfer to a receiver, or NULL. Borrowed like the transfers. */
const sh_transfer *sh_transfer_to(const sh_transfer *transfers, uint32_t count, uint32_t device);

/* Whether `device` is a donor; if so, sets its *stripe. */
bool sh_transfer_gives(uint32_t *stripe, const sh_transfer *transfer, uint32_t device);

#endif
