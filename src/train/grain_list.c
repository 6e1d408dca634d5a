/* SPDX-License-Identifier: Apache-2.0 */
#include "train/grain_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void sh_grain_list_release(sh_grain_list *list)
{
    free(list->ranges);
    *list = (sh_grain_list){0};
}

void sh_grain_list_clear(sh_grain_list *list)
{
    list->count = list->total = 0;
}

/* The first range that does not end before grain `first`; their number where all do. */
static uint32_t place_of(const sh_grain_list *list, uint32_t first)
{
    uint32_t at = 0;
    while (at < list->count && list->ranges[at].first + list->ranges[at].count <= first)
        at++;
    return at;
}

bool sh_grain_list_meets(const sh_grain_list *list, sh_range range)
{
    const uint32_t at = place_of(list, range.first);
    return range.count > 0 && at < list->count &&
           list->ranges[at].first < range.first + range.count;
}

static void remove_range(sh_grain_list *list, uint32_t at)
{
    memmove(&list->ranges[at], &list->ranges[at + 1],
            (list->count - at - 1) * sizeof *list->ranges);
    list->count--;
}

sh_status sh_grain_list_add(sh_grain_list *list, sh_range range)
{
    assert(range.count <= UINT32_MAX - range.first);
    if (range.count == 0)
        return SH_OK;
    if (sh_grain_list_meets(list, range))
        return sh_fail(SH_INVALID, "some of the grains %u to %u are there already", range.first,
                       range.first + range.count - 1);
    void *ranges = list->ranges;
    SH_TRY(sh_array_grow(&ranges, &list->capacity, list->count + (size_t)1, sizeof *list->ranges));
    list->ranges = ranges;
    list->total += range.count;
    uint32_t at = place_of(list, range.first);
    if (at > 0 && list->ranges[at - 1].first + list->ranges[at - 1].count == range.first) {
        range.first = list->ranges[at - 1].first;
        range.count += list->ranges[at - 1].count;
        remove_range(list, --at);
    }
    if (at < list->count && range.first + range.count == list->ranges[at].first) {
        range.count += list->ranges[at].count;
        remove_range(list, at);
    }
    memmove(&list->ranges[at + 1], &list->ranges[at], (list->count - at) * sizeof *list->ranges);
    list->ranges[at] = range;
    list->count++;
    return SH_OK;
}

sh_status sh_grain_list_merge(sh_grain_list *list, const sh_grain_list *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        SH_TRY(sh_grain_list_add(list, other->ranges[i]));
    return SH_OK;
}

uint32_t sh_grain_list_at(const sh_grain_list *list, uint32_t index)
{
    assert(index < list->total);
    const sh_range *range = list->ranges;
    for (; index >= range->count; range++)
        index -= range->count;
    return range->first + index;
}
