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

/* What to tell a lost device. */
typedef enum sh_loss_message {
    SH_LOSS_MESSAGE_NONE, /* it is gone */
    SH_LOSS_MESSAGE_REFUSAL,
    SH_LOSS_MESSAGE_FOR_NOW, /* it may rejoin by itself, because it may only be slow */
} sh_loss_message;

/* Removes `one`; the others continue without it. */
void sh_membership_lose(sh_membership *membership, sh_roster_entry *one, const char *reason,
                        sh_loss_message word);

/* The same for a device that computes wrongly; remembers its name. `guilty`: it is refused when it
 * returns; else it is evicted again at its first fault. */
void sh_membership_evict(sh_membership *membership, sh_roster_entry *one, const char *reason,
                         bool guilty);

/* Remembers an evicted device's name. */
void sh_membership_remember(sh_membership *membership, const char *name, bool guilty);

/* The record of an evicted device's name, or NULL. Borrowed until the next eviction. */
const sh_evicted *sh_membership_find_evicted(const sh_membership *membership, const char *name);

/* Counts a broken link. If the link of two devices breaks SH_MEMBERSHIP_PATIENCE times without a
 * stage in between, the one with the higher number is lost. `address`: the address at which the
 * reporter could not connect to the peer; NULL for an existing link. A failed connection takes
 * seconds, so it counts twice while all wait for the new ring. */
void sh_membership_count_broken(sh_membership *membership, uint32_t reporter, uint32_t peer,
                                const char *address);

/* Stops counting: a stage has passed. */
void sh_membership_forget_broken(sh_membership *membership);

/* The transfer to `one` failed: starts another from other donors. A device whose transfers fail
 * repeatedly is lost. */
void sh_membership_fail_transfer(sh_membership *membership, sh_roster_entry *one);

#endif
