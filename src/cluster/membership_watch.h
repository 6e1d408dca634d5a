/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects devices that make the others wait without progress. Only progress counts, not the
 * heartbeat, which comes from another thread. Such a device is reported once; after its time limit
 * it is evicted.
 *
 *     hung           works without progress (cluster/stall.h): lost, may rejoin by itself
 *     does not stop  neither works nor follows a halt: likewise
 *     link stuck     a device waits for data that another cannot deliver: a ring without that
 *                    link, or the device with the higher number is lost
 *     no replica     a transfer does not progress: another transfer, from other donors
 *
 * Device 0 resigns instead (SH_MEMBERSHIP_RESIGN, once a second), so that another device
 * coordinates. A slow device has the time that it was observed to need.
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_WATCH_H
#define SHOAL_CLUSTER_MEMBERSHIP_WATCH_H

#include "cluster/membership_state.h"

/* A device joined. */
void sh_membership_watch_begin(const sh_membership *membership, sh_roster_entry *one);

/* Call it for every notice, whether or not it is newer than the last. */
void sh_membership_watch_notice(const sh_membership *membership, sh_roster_entry *one,
                                const sh_doing *doing);

/* Call it at each tick. */
void sh_membership_watch(sh_membership *membership);

#endif
