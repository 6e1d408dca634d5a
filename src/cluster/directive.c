/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/directive.h"

const sh_seat *sh_directive_seat(const sh_directive *directive, uint32_t device)
{
    for (uint32_t i = 0; i < directive->seat_count; i++)
        if (directive->seats[i].device == device)
            return &directive->seats[i];
    return NULL;
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
