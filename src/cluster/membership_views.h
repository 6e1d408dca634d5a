/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one view follows another: the two ways that the top of membership.c tells, one step in each
 * function. A function that checks does nothing until what it waits for has come.
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

/* STEADY, a step or more after the last call: finds whether new shares pay. */
void sh_membership_assess(sh_membership *membership);

/* STEADY to LINKING: one view for all changes that are due. */
void sh_membership_plan(sh_membership *membership);

/* LINKING: whether all devices of the next view can still be in it. */
bool sh_membership_plan_holds(const sh_membership *membership);

/* LINKING to try the links of joiners: where all are linked, these may take their replicas. */
void sh_membership_check_tried(sh_membership *membership);

/* Whether `one` may be announced as a member of the next view. A joiner whose replica is not whole
 * may, if waiting for it makes no step longer than a step without it. */
bool sh_membership_is_in_time(const sh_membership *membership, const sh_roster_entry *one);

/* The view that is being linked is given up. */
void sh_membership_give_up(sh_membership *membership);

/* COMMITTED to ENTERING, once device 0 works in the view that it announced. */
void sh_membership_check_committed(sh_membership *membership);

/* Any phase to HALTING. */
void sh_membership_halt(sh_membership *membership);

/* Gives seats to all that are to have one in a view that has none yet. */
void sh_membership_seat_all(sh_membership *membership, sh_seating *view);

/* Deals the grains of a step to the seats of a view, by the measured speeds. */
void sh_membership_deal_shares(const sh_membership *membership, sh_seating *view);

/* RECOVERING to ENTERING, once all stand at the target and are linked. */
void sh_membership_check_recovered(sh_membership *membership);

/* ENTERING to STEADY, once all are in the view and those that leave have passed their last stage.
 */
void sh_membership_check_entered(sh_membership *membership);

/* Notes which members are proven: they have made a step in this view with the replica they have. */
void sh_membership_prove(sh_membership *membership);

/* Dismisses joiners that want to leave before they have a seat. */
void sh_membership_dismiss_joiners(sh_membership *membership);

#endif
