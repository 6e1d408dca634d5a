/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/directive.h"

#include "reduce/engines.h"

bool sh_position_reaches(sh_position mine, sh_position target)
{
    return sh_position_same(mine, target) ||
           (mine.steps == target.steps && mine.phase == SH_PHASE_FIRST &&
            target.phase == SH_PHASE_VALIDATION);
}

const sh_seat *sh_seat_of(const sh_seat *seats, uint32_t count, uint32_t device)
{
    for (uint32_t i = 0; i < count; i++)
        if (seats[i].device == device)
            return &seats[i];
    return NULL;
}

const sh_engine_kind *sh_directive_engine(const sh_directive *directive,
                                          bool serves[SH_DEVICES_MAX])
{
    for (uint32_t i = 0; i < directive->seat_count; i++)
        serves[i] = directive->seats[i].serves;
    return sh_engine_kind_of(serves, directive->seat_count);
}

bool sh_directive_links(const sh_directive *directive, uint32_t from, uint32_t to)
{
    bool serves[SH_DEVICES_MAX];
    return from != to &&
           sh_directive_engine(directive, serves)->links(serves, directive->seat_count, from, to);
}

const sh_transfer *sh_transfer_to(const sh_transfer *transfers, uint32_t count, uint32_t device)
{
    for (uint32_t i = 0; i < count; i++)
        if (transfers[i].receiver == device)
            return &transfers[i];
    return NULL;
}

bool sh_transfer_gives(uint32_t *stripe, const sh_transfer *transfer, uint32_t device)
{
    for (uint32_t i = 0; i < transfer->donor_count; i++)
        if (transfer->donors[i] == device) {
            *stripe = i;
            return true;
        }
    return false;
}
