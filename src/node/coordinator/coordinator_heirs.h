/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who would go on in the coordinator's place, whether another device already does, and how the role
 * moves.
 *
 *     sh_coordinator_tend_heirs(coordinator);        // each tick
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_COORDINATOR_HEIRS_H
#define SHOAL_NODE_COORDINATOR_HEIRS_H

#include "node/coordinator/coordinator_impl.h"

/* Each tick: tells devices that the coordinator is there and who would follow it, and asks those
 * that are gone whether another one coordinates. */
void sh_coordinator_tend_heirs(sh_coordinator *coordinator);

/* A device is here, or was: its door is known. */
void sh_coordinator_know_door(sh_coordinator *coordinator, const sh_door *door);

/* Another device coordinates at `door`, or is to begin to if its number is not 0: all are told, and
 * this device has to follow. */
void sh_coordinator_move(sh_coordinator *coordinator, const sh_door *door);

/* Moves to the heir of this name, or to the first for "". SH_REFUSED says who could. */
sh_status sh_coordinator_bequeath(sh_coordinator *coordinator, const char *name,
                                  char receiver[SH_NAME_BYTES]) SHOAL_CHECKED;

/* Tells one that looks for the coordinator where it is now. */
void sh_coordinator_show_way(const sh_coordinator *coordinator, sh_channel *channel);

void sh_coordinator_end_heirs(sh_coordinator *coordinator);

#endif
