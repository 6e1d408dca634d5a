/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes a replica, and from whom: devices that join, devices that are behind after a halt, and
 * some of those that stand by. At least KEEPERS devices beside device 0 have the weights, though
 * nobody else computes, so that the job survives the loss of device 0.
 *
 *     sh_membership_begin_transfers(membership);
 *     const sh_transfer *transfer = sh_membership_transfer_to(membership, device);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_TRANSFERS_H
#define SHOAL_CLUSTER_MEMBERSHIP_TRANSFERS_H

#include "cluster/membership_state.h"

/* Starts the transfers that joiners need while all work, or devices behind while all stand. */
void sh_membership_begin_transfers(sh_membership *membership);

/* The transfer that `device` takes; NULL: none. Borrowed until a transfer begins or is dropped. */
const sh_transfer *sh_membership_transfer_to(const sh_membership *membership, uint32_t device);

void sh_membership_drop_transfer(sh_membership *membership, const sh_transfer *transfer);

/* Drops those in which `device` takes part. */
void sh_membership_drop_transfers(sh_membership *membership, uint32_t device);

/* Whether `receivers` devices, `one` among them, could take replicas while the others train. If
 * not, all have to stand still. True where nothing is known of links. */
bool sh_membership_can_follow(const sh_membership *membership, const sh_roster_entry *one,
                              uint32_t receivers);

/* A device that stands by failed to take the weights: it tries again later. Nobody waits for it. */
void sh_membership_put_off_keeping(const sh_membership *membership, sh_roster_entry *one);

/* Ends the transfers of those that stand by and have all of it. */
void sh_membership_check_kept(sh_membership *membership);

#endif
