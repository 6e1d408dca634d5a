/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a device ends as a member: it is gone, was not heard, hangs, broke a rule, computes wrongly,
 * or its links break or its transfers fail over and over.
 *
 *     sh_membership_lose(membership, one, "nothing was heard of it", SH_FAREWELL_FOR_NOW);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_LOSSES_H
#define SHOAL_CLUSTER_MEMBERSHIP_LOSSES_H

#include "cluster/membership_views.h"

/* What a lost device is told. */
typedef enum sh_farewell {
    SH_FAREWELL_NONE, /* it is gone */
    SH_FAREWELL_REFUSAL,
    SH_FAREWELL_FOR_NOW, /* it may come back by itself: perhaps it was only slow */
} sh_farewell;

/* `one` is no member any more; the others go on without it. */
void sh_membership_lose(sh_membership *membership, sh_roster_entry *one, const char *reason,
                        sh_farewell word);

/* The same for one that computes wrongly: its name is remembered. `guilty`: it is refused when it
 * comes back; else it is put out again at its first fault. */
void sh_membership_put_out(sh_membership *membership, sh_roster_entry *one, const char *reason,
                           bool guilty);

/* Remembers a name so. */
void sh_membership_remember(sh_membership *membership, const char *name, bool guilty);

/* What is remembered of a name; NULL: nothing. Borrowed until the next device is put out. */
const sh_outcast *sh_membership_outcast(const sh_membership *membership, const char *name);

/* Counts a broken link. Where that of two devices breaks SH_MEMBERSHIP_PATIENCE times without a
 * stage in between, the one with the higher number is lost. `way`: the link was not there yet, and
 * the reporter looked for the peer at this address; else NULL. Such a failure takes seconds, so it
 * counts twice while all wait for the new ring. */
void sh_membership_count_broken(sh_membership *membership, uint32_t reporter, uint32_t peer,
                                const char *way);

/* Stops counting: a stage has passed. */
void sh_membership_forget_broken(sh_membership *membership);

/* The transfer that `one` takes has failed, and another follows, from other donors; a device whose
 * transfers fail over and over is lost. */
void sh_membership_fail_transfer(sh_membership *membership, sh_roster_entry *one);

#endif
