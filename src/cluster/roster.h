/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The membership's records: members, views with their seats, and broken links.
 *
 *     sh_roster_entry *one = sh_membership_find(membership, device);
 *     if (one != NULL && one->seated && one->notice.whole)
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_ROSTER_H
#define SHOAL_CLUSTER_ROSTER_H

#include "cluster/credit.h"
#include "cluster/gauge.h"
#include "cluster/membership.h"
#include "cluster/repairs.h"
#include "cluster/silence.h"
#include "cluster/stall.h"

/* A waiting device owes what a halt, the view after it, or an audit requires. Each has its own
 * time, because until a halt the device may have waited for the lost one. */
typedef struct sh_awaited_answer {
    bool pending;
    bool halt; /* of these */
    /* From its last notice: an answer changes one of them and starts a new debt. */
    uint32_t halted, view, audit, round;
    uint64_t since_ms;
} sh_awaited_answer;

typedef struct sh_roster_entry {
    bool present, ready, local, seated, dismissed, changed;
    bool welcomed; /* its join was announced; not for the first members */
    bool reached;  /* its links were tested, before it receives a replica */
    bool proven;   /* see sh_survivor */
    uint32_t device, failures;
    uint64_t serial; /* of its directive */
    sh_silence silence;
    sh_credit credit;
    sh_repairs repairs;
    uint32_t wrong_numbers; /* how often it alone had non-finite ones */
    uint32_t fault_view;    /* the view whose halt last found it faulty */
    uint64_t odd_replica;   /* 1 + the transfer of the last replica found odd; 0: none was */
    /* By sh_activity: the time to read or receive says nothing about computing. Waiting is not
     * recorded. */
    sh_stall work[SH_ACTIVITY_COUNT];
    sh_awaited_answer awaited;
    bool named;          /* the user knows that the others wait */
    uint64_t waits_ms;   /* since when it waits */
    sh_position entered; /* start of the view entered unproven */
    bool on_standby;     /* on standby, or will be after this view */
    bool considered;     /* its expected benefit was judged */
    uint64_t ready_ms;
    uint64_t standby_changed_ms;
    uint64_t kept_ms;              /* its last transfer on standby, or last seat; 0: none */
    double carried;                /* bytes/s of its link at least, as steps show */
    sh_link_speed link;            /* to device 0 */
    uint64_t begun_ms, keeping_ms; /* start of its last transfer; time of one on standby */
    sh_notice notice;
    char name[SH_MEMBERSHIP_TEXT];
    char why[SH_MEMBERSHIP_TEXT]; /* why it is on standby */
} sh_roster_entry;

typedef struct sh_seating {
    uint32_t number, ring, seat_count;
    bool planned;
    bool has_servers; /* false: no chosen server has a seat, so all serve */
    sh_seat seats[SH_DEVICES_MAX];
} sh_seating;

/* Devices a < b whose link broke: when last, and how often since a stage passed over new links. No
 * pair if b is 0. */
typedef struct sh_broken_pair {
    uint32_t a, b, count;
    uint64_t broke_ms;
} sh_broken_pair;

#endif
