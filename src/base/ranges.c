/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ranges.h"

#include <assert.h>

static uint64_t end_of(sh_range range)
{
    return (uint64_t)range.first + range.count;
}

/* The range does not begin before the last one. */
static bool append(sh_ranges *ranges, sh_range range)
{
    if (range.count == 0)
        return true;
    if (ranges->count > 0) {
        sh_range *last = &ranges->items[ranges->count - 1];
        if (range.first <= end_of(*last)) {
            if (end_of(range) > end_of(*last))
                last->count = (uint32_t)(end_of(range) - last->first);
            return true;
        }
    }
    if (ranges->count == SH_RANGES_MAX)
        return false;
    ranges->items[ranges->count++] = range;
    return true;
}

bool sh_ranges_add_all(sh_ranges *ranges, const sh_ranges *more)
{
    sh_ranges both = {0};
    uint32_t a = 0, b = 0;
    while (a < ranges->count || b < more->count) {
        const bool mine = b == more->count ||
                          (a < ranges->count && ranges->items[a].first <= more->items[b].first);
        if (!append(&both, mine ? ranges->items[a++] : more->items[b++]))
            return false;
    }
    *ranges = both;
    return true;
}

static sh_ranges set_of(sh_range range)
{
    assert(end_of(range) <= UINT32_MAX);
    return (sh_ranges){range.count > 0, {range}};
}

bool sh_ranges_add(sh_ranges *ranges, sh_range range)
{
    const sh_ranges one = set_of(range);
    return sh_ranges_add_all(ranges, &one);
}

bool sh_ranges_complement(sh_ranges *missing, const sh_ranges *ranges, uint32_t total)
{
    sh_ranges gaps = {0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < ranges->count && ranges->items[i].first < total; i++) {
        if (!append(&gaps, (sh_range){next, ranges->items[i].first - next}))
            return false;
        next = (uint32_t)end_of(ranges->items[i]);
    }
    if (next < total && !append(&gaps, (sh_range){next, total - next}))
        return false;
    *missing = gaps;
    return true;
}

void sh_ranges_take(sh_ranges *taken, sh_ranges *from, uint32_t numbers)
{
    sh_ranges left = {0};
    *taken = (sh_ranges){0};
    for (uint32_t i = 0; i < from->count; i++) {
        const sh_range item = from->items[i];
        const uint32_t part = item.count < numbers ? item.count : numbers;
        numbers -= part;
        /* A prefix and the rest of a set: neither needs more items than the set. */
        (void)append(taken, (sh_range){item.first, part});
        (void)append(&left, (sh_range){item.first + part, item.count - part});
    }
    *from = left;
}

uint32_t sh_ranges_total(const sh_ranges *ranges)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < ranges->count; i++)
        total += ranges->items[i].count;
    return total;
}

uint32_t sh_ranges_at(const sh_ranges *ranges, uint32_t index)
{
    const sh_range *range = ranges->items;
    for (; index >= range->count; range++) {
        assert(range < ranges->items + ranges->count);
        index -= range->count;
    }
    return range->first + index;
}

bool sh_ranges_overlap(const sh_ranges *a, const sh_ranges *b)
{
    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (end_of(a->items[i]) <= b->items[j].first)
            i++;
        else if (end_of(b->items[j]) <= a->items[i].first)
            j++;
        else
            return true;
    }
    return false;
}

bool sh_ranges_intersect(const sh_ranges *ranges, sh_range range)
{
    const sh_ranges one = set_of(range);
    return sh_ranges_overlap(ranges, &one);
}

bool sh_ranges_valid(const sh_ranges *ranges, uint32_t total)
{
    if (ranges->count > SH_RANGES_MAX)
        return false;
    uint64_t next = 0; /* where the next range may begin */
    for (uint32_t i = 0; i < ranges->count; i++) {
        const sh_range item = ranges->items[i];
        if (item.count == 0 || item.first < next || end_of(item) > total)
            return false;
        next = end_of(item) + 1;
    }
    return true;
}
