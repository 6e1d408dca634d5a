/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a device stops being a member: it disconnected, was silent, hangs, broke the protocol,
 * computes wrongly, or its links break or its transfers fail repeatedly.
 *
 *     sh_membership_lose(membership, one, "nothing was heard of it", SH_LOSS_MESSAGE_FOR_NOW);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_LOSSES_H
#define SHOAL_CLUSTER_MEMBERSHIP_LOSSES_H

#include "cluster/membership_views.h"

typedef enum sh_loss_message {
    SH_LOSS_MESSAGE_NONE,
    SH_LOSS_MESSAGE_REFUSAL,
    SH_LOSS_MESSAGE_FOR_NOW, /* it may rejoin by itself, as it may only be slow */
} sh_loss_message;

void sh_membership_lose(sh_membership *membership, sh_roster_entry *one, const char *reason,
                        sh_loss_message word);

/* Loses a device that computes wrongly and remembers its name. `guilty`: it is refused when it
 * returns; else it is evicted again at its first fault. */
void sh_membership_evict(sh_membership *membership, sh_roster_entry *one, const char *reason,
                         bool guilty);

void sh_membership_remember(sh_membership *membership, const char *name, bool guilty);

/* The record of an evicted device, or NULL. Borrowed until the next eviction. */
const sh_evicted *sh_membership_find_evicted(const sh_membership *membership, const char *name);

/* If the link of two devices breaks SH_MEMBERSHIP_PATIENCE times without a stage in between, the
 * one with the higher number is lost. `address`: where the reporter could not connect to the peer;
 * NULL for an existing link. A failed connection counts twice while all wait for the new ring,
 * because it takes seconds. */
void sh_membership_count_broken(sh_membership *membership, uint32_t reporter, uint32_t peer,
                                const char *address);

/* Call it after a stage. */
void sh_membership_forget_broken(sh_membership *membership);

/* Starts the failed transfer again from other donors. If transfers to a joiner fail repeatedly, the
 * steps wait during the last attempt; then it is lost. */
void sh_membership_fail_transfer(sh_membership *membership, sh_roster_entry *one);

#endif
