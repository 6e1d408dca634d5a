/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the membership knows of a device, for display.
 *
 *     sh_member_state state;
 *     if (sh_membership_member(&state, membership, device) && state.state == SH_DEVICE_STANDBY)
 *         puts(state.why);
 *
 * Threads: as membership.h; the state is a value.
 */
#ifndef SHOAL_CLUSTER_MEMBER_STATE_H
#define SHOAL_CLUSTER_MEMBER_STATE_H

#include "cluster/membership.h"
#include "shoal/device_info.h"

typedef struct sh_member_state {
    sh_device_state state;
    uint32_t grains;              /* of a full step */
    double rate;                  /* grains/s; 0: unknown */
    sh_link_speed link;           /* to device 0; zero for device 0 itself */
    char why[SH_MEMBERSHIP_TEXT]; /* if it is on standby; else empty */
} sh_member_state;

/* False: the device is not in the job. */
bool sh_membership_member(sh_member_state *state, const sh_membership *membership, uint32_t device);

#endif
