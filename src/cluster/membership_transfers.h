/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes a replica from whom: transfers that begin where a device needs one, and end when it has
 * it or one of its parties is gone.
 *
 *     sh_membership_begin_transfers(membership);
 *     const sh_transfer *transfer = sh_membership_transfer_to(membership, device);
 *     if (transfer != NULL && notice->fetched == transfer->number)
 *         sh_membership_drop_transfer(membership, transfer);
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_TRANSFERS_H
#define SHOAL_CLUSTER_MEMBERSHIP_TRANSFERS_H

#include "cluster/membership_state.h"

/* Starts the transfers that are needed: for joiners while all work, for those behind while all
 * stand. */
void sh_membership_begin_transfers(sh_membership *membership);

/* The transfer that `device` takes; NULL: none. Borrowed until a transfer begins or is dropped. */
const sh_transfer *sh_membership_transfer_to(const sh_membership *membership, uint32_t device);

void sh_membership_drop_transfer(sh_membership *membership, const sh_transfer *transfer);

/* Drops those in which `device` takes part. */
void sh_membership_drop_transfers(sh_membership *membership, uint32_t device);

#endif
