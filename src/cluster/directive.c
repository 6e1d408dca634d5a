/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/directive.h"

const sh_seat *sh_directive_seat(const sh_directive *directive, uint32_t device)
{
    for (uint32_t i = 0; i < directive->seat_count; i++)
        if (directive->seats[i].device == device)
            return &directive->seats[i];
    return NULL;
}

static bool has_servers(const sh_directive *directive)
{
    for (uint32_t i = 0; i < directive->seat_count; i++)
        if (directive->seats[i].serves)
            return true;
    return false;
}

bool sh_directive_links(const sh_directive *directive, uint32_t from, uint32_t to)
{
    if (from == to)
        return false;
    if (!has_servers(directive))
        return to == (from + 1) % directive->seat_count;
    return from < to && (directive->seats[from].serves || directive->seats[to].serves);
}

const sh_transfer *sh_directive_taking(const sh_directive *directive, uint32_t device)
{
    for (uint32_t i = 0; i < directive->transfer_count; i++)
        if (directive->transfers[i].taker == device)
            return &directive->transfers[i];
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
