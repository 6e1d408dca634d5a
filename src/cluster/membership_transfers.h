/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices receive a replica, and from which donors: joining devices, devices that are behind
 * after a halt, and some devices on standby. At least KEEPERS devices besides device 0 keep the
 * weights, so that the job survives its loss.
 *
 *     sh_membership_begin_transfers(membership);
 *     const sh_transfer *transfer = sh_membership_transfer_to(membership, device);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_TRANSFERS_H
#define SHOAL_CLUSTER_MEMBERSHIP_TRANSFERS_H

#include "cluster/membership_state.h"

/* Starts transfers: to joiners during training, to devices that are behind during a halt. */
void sh_membership_begin_transfers(sh_membership *membership);

/* The transfer to `device`, or NULL. Borrowed until a transfer starts or ends. */
const sh_transfer *sh_membership_transfer_to(const sh_membership *membership, uint32_t device);

void sh_membership_drop_transfer(sh_membership *membership, const sh_transfer *transfer);

/* Ends the transfers in which `device` sends or receives. */
void sh_membership_drop_transfers(sh_membership *membership, uint32_t device);

/* Whether `receivers` devices, including `one`, can receive replicas during training; else all must
 * halt. True if the links are unknown. */
bool sh_membership_can_follow(const sh_membership *membership, const sh_roster_entry *one,
                              uint32_t receivers);

/* A device on standby failed to receive the weights: it tries again later. */
void sh_membership_put_off_keeping(const sh_membership *membership, sh_roster_entry *one);

/* Ends the completed transfers to devices on standby. */
void sh_membership_check_kept(sh_membership *membership);

#endif
