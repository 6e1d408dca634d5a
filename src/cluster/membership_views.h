/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How views change, in the two ways described at the top of membership.c; one step per function. A
 * `check` function does nothing until its condition holds.
 *
 *     sh_membership_halt(membership);
 *     if (membership->phase == SH_MEMBERSHIP_HALTING)
 *         ... membership_halt, until the phase is RECOVERING ...
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_VIEWS_H
#define SHOAL_CLUSTER_MEMBERSHIP_VIEWS_H

#include "cluster/membership_state.h"

/* STEADY, at least a step after the last call: decides whether new shares pay. */
void sh_membership_assess(sh_membership *membership);

/* STEADY to LINKING: one view for all due changes. */
void sh_membership_plan(sh_membership *membership);

/* LINKING: whether all devices of the next view can still be in it. */
bool sh_membership_plan_holds(const sh_membership *membership);

/* LINKING to test links: once all are linked, joiners may receive replicas. */
void sh_membership_check_link_test(sh_membership *membership);

/* Whether `one` may be announced as a member of the next view: a step that waits for its replica
 * must be no longer than a step without it. */
bool sh_membership_is_in_time(const sh_membership *membership, const sh_roster_entry *one);

/* Drops the view that is being linked. */
void sh_membership_give_up(sh_membership *membership);

/* COMMITTED to ENTERING, once device 0 works in the announced view. */
void sh_membership_check_committed(sh_membership *membership);

/* Any phase to HALTING. */
void sh_membership_halt(sh_membership *membership);

/* Assigns the seats of a view that has none yet. */
void sh_membership_seat_all(sh_membership *membership, sh_seating *view);

void sh_membership_deal_shares(const sh_membership *membership, sh_seating *view);

/* RECOVERING to ENTERING, once all are at the target and linked. */
void sh_membership_check_recovered(sh_membership *membership);

/* ENTERING to STEADY, once all are in the view and leaving devices may go. */
void sh_membership_check_entered(sh_membership *membership);

/* Marks members as proven that made a step in this view with their replica. */
void sh_membership_prove(sh_membership *membership);

/* Dismisses joiners that want to leave before they have a seat. */
void sh_membership_dismiss_joiners(sh_membership *membership);

#endif
