/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/member_state.h"

#include <stdio.h>

#include "cluster/membership_state.h"

bool sh_membership_member(sh_member_state *state, const sh_membership *membership, uint32_t device)
{
    const sh_seating *view = &membership->now;
    const sh_roster_entry *one = sh_membership_find(membership, device);
    if (one == NULL)
        return false;
    const sh_seat *seat = sh_seat_of(view->seats, view->seat_count, device);
    *state = (sh_member_state){
        .state = seat != NULL      ? SH_DEVICE_COMPUTES
                 : one->on_standby ? SH_DEVICE_STANDBY
                                   : SH_DEVICE_PREPARES,
        .grains = seat != NULL ? seat->share.count : 0,
        .rate = (double)sh_membership_speed(membership, one).rate,
        .link = one->link,
    };
    if (state->state == SH_DEVICE_STANDBY)
        snprintf(state->why, sizeof state->why, "%s", one->why);
    return true;
}
