/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the parts of the membership share. The lowest layer is this file, the roster and
 * the queue of actions; membership_views transfers replicas and makes views; membership.c on top
 * processes events.
 *
 *     sh_roster_entry *one = sh_membership_find(membership, device);
 *     if (one != NULL && sh_membership_works(membership))
 *         sh_membership_note(membership, SH_NEWS_LEFT, device, "device %.64s left", one->name);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_STATE_H
#define SHOAL_CLUSTER_MEMBERSHIP_STATE_H

#include "cluster/audit_state.h"
#include "cluster/balance.h"
#include "cluster/faults.h"
#include "cluster/membership.h"
#include "cluster/recovery.h"
#include "cluster/roster.h"
#include "cluster/standby.h"

#define SH_MEMBERSHIP_ACTIONS_MAX 128 /* of one event */
#define SH_MEMBERSHIP_LOST_MAX 32     /* in one tick; more wait for the next */
#define SH_MEMBERSHIP_PAIRS_MAX 16
/* Limit of broken links of a pair, and of failed transfers of a device. */
#define SH_MEMBERSHIP_PATIENCE 3

typedef enum sh_membership_phase {
    SH_MEMBERSHIP_GATHERING,
    SH_MEMBERSHIP_STEADY,
    SH_MEMBERSHIP_LINKING,
    SH_MEMBERSHIP_COMMITTED,
    SH_MEMBERSHIP_ENTERING,
    SH_MEMBERSHIP_HALTING,
    SH_MEMBERSHIP_RECOVERING,
    SH_MEMBERSHIP_ENDED,
} sh_membership_phase;

struct sh_membership {
    /* From the options, like all up to `first_grain`. */
    uint32_t min_devices, gather_ms, grains;
    sh_serving serving;
    char version[SH_MEMBERSHIP_TEXT], fingerprint[SH_MEMBERSHIP_TEXT];
    char first_grain[SH_MEMBERSHIP_TEXT];
    sh_membership_phase phase;
    bool testing_links; /* LINKING is a test: `next` is dropped once linked */
    sh_faults faults;
    sh_membership_audit audit;
    bool lacks_servers; /* the user was told that no chosen server takes part */
    uint32_t last_view; /* highest number given */
    uint64_t serial, last_transfer;
    uint64_t clock_ms, ticked_ms; /* own time; time of the last tick */
    bool ticked;
    struct sh_membership_watched { /* at the last tick, and since when */
        sh_membership_phase phase;
        uint32_t view;
        sh_position position; /* device 0's */
        uint64_t since_ms;
    } watched;
    sh_seating now, next;
    uint32_t left_ring;   /* while ENTERING: the previous view's ring, if different */
    sh_position start;    /* of `now` */
    bool stage_passed;    /* in `now` */
    uint64_t resign_ms;   /* no RESIGN before */
    sh_recovery recovery; /* seats of `next`, then of `now` if unplanned */
    uint32_t transfer_count;
    sh_transfer transfers[SH_TRANSFERS_MAX];
    sh_broken_pair pairs[SH_MEMBERSHIP_PAIRS_MAX];
    sh_balance balance;
    sh_standby standby;
    bool vacant;       /* a computing device was lost since the last choice */
    uint64_t curve_ms; /* when the curve of step times is reported; 0: after the next join */
    double followed;   /* from the options */
    sh_credit_steps credit_steps;
    uint64_t judged;       /* steps applied at the last judgement of speeds */
    uint64_t proven_steps; /* steps of device 0 when the last device became proven */
    bool rebalance;
    char why[SH_MEMBERSHIP_TEXT]; /* why shares change */
    uint32_t action_count, action_taken;
    sh_membership_action actions[SH_MEMBERSHIP_ACTIONS_MAX];
    uint32_t slots; /* of members, ever used */
    sh_roster_entry members[SH_DEVICES_MAX];
};

/* Queues an action. */
void sh_membership_act(sh_membership *membership, sh_membership_action_kind kind, uint32_t device,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Queues a message for the user; drops it if the queue is full. */
void sh_membership_note(sh_membership *membership, sh_news news, uint32_t device,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The directive of a member, or of all, changed. */
void sh_membership_mark_changed(sh_membership *membership, sh_roster_entry *one);
void sh_membership_mark_all_changed(sh_membership *membership);

/* Ends the job; only the first call counts. */
void sh_membership_end(sh_membership *membership, sh_status status, const char *text);

/* The member with a number, and the one in a seat; NULL: none. */
sh_roster_entry *sh_membership_find(const sh_membership *membership, uint32_t device);
sh_roster_entry *sh_membership_seated(const sh_membership *membership, const sh_seating *view,
                                      uint32_t seat);

/* The believed speed of a member. */
sh_speed sh_membership_speed(const sh_membership *membership, const sh_roster_entry *one);

/* Device 0. */
sh_roster_entry *sh_membership_coordinator(const sh_membership *membership);

/* Whether the view being made has a seat for a device. */
bool sh_membership_expects(const sh_membership *membership, uint32_t device);

/* Whether all devices of the view being made have linked its ring. */
bool sh_membership_is_linked(const sh_membership *membership);

/* Whether a link between the two broke recently. */
bool sh_membership_is_broken(const sh_membership *membership, uint32_t one, uint32_t other);

/* All halt: drops the audit of a step. If it was not decided, the step is audited again. */
void sh_membership_interrupt_audit(sh_membership *membership);

/* Whether stages are made in a view. */
bool sh_membership_works(const sh_membership *membership);

/* Whether device 0 has reached the job's end. */
bool sh_membership_is_done(const sh_membership *membership);

#endif
