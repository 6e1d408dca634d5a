/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the membership keeps of devices: of each member, of views and their seats, of links that
 * broke.
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
#include "cluster/standstill.h"

/* A device waits, and has not yet done what a halt, or the view behind it, wants of it. */
typedef struct sh_debt {
    bool owes;
    uint32_t halted, view; /* as its last notice has them: an answer begins a new debt */
    uint64_t since_ms;
} sh_debt;

typedef struct sh_roster_entry {
    bool present, ready, local, seated, dismissed, changed;
    bool welcomed; /* its joining was told; that of the first members is not */
    bool reached;  /* its links were tried, before it takes a replica */
    bool proven;   /* as sh_survivor has it */
    uint32_t device, failures;
    uint64_t serial; /* of its directive */
    sh_silence silence;
    sh_credit credit;       /* what is believed of its speed */
    sh_repairs repairs;     /* it was found wrong */
    uint32_t wrong_numbers; /* how often it alone had some that are not finite */
    uint32_t blamed;        /* the view whose halt found it wrong last */
    /* What it does, by sh_activity: how long it takes to read, or to be given a replica, says
     * nothing of how long it takes to compute. Nothing is kept of the time that it waits. */
    sh_standstill work[SH_ACTIVITY_COUNT];
    sh_debt debt;        /* what a halt wants of it */
    bool named;          /* the user knows that the others wait for it */
    sh_position entered; /* where its view began when it was not proven yet */
    bool rests;          /* it stands by, or is to once its view is over */
    bool considered;     /* whether it rests was decided by what it would bring */
    uint64_t ready_ms;   /* when it became ready */
    uint64_t rested_ms;  /* since when it rests */
    uint64_t kept_ms;    /* when its replica was brought up to date while it rested; 0: never */
    double carried;      /* bytes/s that its link was seen to carry at least, in steps */
    sh_link_speed link;  /* its link to device 0 */
    uint64_t begun_ms, keeping_ms; /* when its last transfer began; how long one of these took */
    sh_notice notice;
    char name[SH_MEMBERSHIP_TEXT];
    char why[SH_MEMBERSHIP_TEXT]; /* it rests */
} sh_roster_entry;

typedef struct sh_seating {
    uint32_t number, ring, seat_count;
    bool planned;
    bool has_servers; /* as they were chosen; else all serve for want of them */
    sh_seat seats[SH_DEVICES_MAX];
} sh_seating;

/* Two devices, a < b, whose link broke: when last, and how often since a stage passed over new
 * links. No pair if b is 0. */
typedef struct sh_broken_pair {
    uint32_t a, b, count;
    uint64_t broke_ms;
} sh_broken_pair;

#endif
