/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom the others wait for in vain: a device is watched by what it gets done, not by its heartbeat,
 * which comes from another thread. Who it is is told once; when its time is over it is put out, and
 * the others go on.
 *
 *     hung          it works and does not get on (cluster/standstill.h), lost, and may come back
 *                   by itself
 *     does not stop it neither works nor does what is wanted of it after a halt: likewise
 *     a link stuck  a device waits for what another cannot get to it: a ring without that link, or
 *                   the one with the higher number is lost
 *     a replica that does not come: another transfer, from others
 *
 * Device 0 is told of and stays: without it there is no job. What is only slow has the time that
 * it was seen to take.
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_WATCH_H
#define SHOAL_CLUSTER_MEMBERSHIP_WATCH_H

#include "cluster/membership_state.h"

/* A device has come. */
void sh_membership_watch_begin(const sh_membership *membership, sh_roster_entry *one);

/* A notice has come, newer than the last or not. */
void sh_membership_watch_notice(const sh_membership *membership, sh_roster_entry *one,
                                const sh_doing *doing);

/* A tick: tells of those that others wait for, and puts one out if its time is over. */
void sh_membership_watch(sh_membership *membership);

#endif
