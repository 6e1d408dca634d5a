/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of audits: what computing grains again gives, without computing.
 *
 *     const sh_sum_check check = result(&order.grains, lies[device]);
 *
 * Threads: any.
 */
#ifndef SHOAL_CLUSTER_AUDIT_FIXTURE_H
#define SHOAL_CLUSTER_AUDIT_FIXTURE_H

#include "base/ranges.h"
#include "train/sum_check.h"

/* Adds up over parts, as a real check does. `lie`: 0 for an honest device. */
static inline sh_sum_check result(const sh_ranges *grains, uint64_t lie)
{
    sh_sum_check check = {0};
    for (uint32_t i = 0; i < sh_ranges_total(grains); i++)
        check.words[0] += UINT64_C(0x9e3779b97f4a7c15) * (sh_ranges_at(grains, i) + 1);
    check.words[3] = lie;
    return check;
}

#endif
