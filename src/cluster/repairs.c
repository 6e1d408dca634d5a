/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/repairs.h"

static void forgive(sh_repairs *repairs, uint64_t steps)
{
    const uint64_t good = steps > repairs->steps ? (steps - repairs->steps) / SH_REPAIRS_CALM : 0;
    repairs->steps = repairs->lately > 0 ? repairs->steps + good * SH_REPAIRS_CALM : steps;
    repairs->lately = good < repairs->lately ? repairs->lately - (uint32_t)good : 0;
}

bool sh_repairs_add_fault(sh_repairs *repairs, uint64_t steps)
{
    forgive(repairs, steps);
    repairs->faults++;
    repairs->lately++;
    return repairs->again || repairs->faults > SH_REPAIRS_MAX ||
           repairs->lately > SH_REPAIRS_LATELY;
}

void sh_repairs_passed(sh_repairs *repairs, uint64_t steps)
{
    forgive(repairs, steps);
    repairs->faults = 0;
    repairs->donor_count = 0;
}

void sh_repairs_add_donor(sh_repairs *repairs, uint32_t donor)
{
    if (repairs->donor_count < SH_REPAIRS_DONORS && !sh_repairs_has_donor(repairs, donor))
        repairs->donors[repairs->donor_count++] = donor;
}

bool sh_repairs_has_donor(const sh_repairs *repairs, uint32_t donor)
{
    for (uint32_t i = 0; i < repairs->donor_count; i++)
        if (repairs->donors[i] == donor)
            return true;
    return false;
}
