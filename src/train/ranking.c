/* SPDX-License-Identifier: Apache-2.0 */
#include "train/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIGN 0x80000000u
#define LEAST 0x007fffffu /* the key of -infinity */

/* The bits of positive floats have the floats' order as integers; those of negative ones have the
 * reverse order and are inverted. */
sh_ranked sh_ranked_of(float score, bool holds)
{
    uint32_t bits;
    const float one_zero = score == 0 ? 0.0f : score;
    memcpy(&bits, &one_zero, sizeof bits);
    if (isnan(score))
        return (sh_ranked){0, holds};
    return (sh_ranked){(bits & SIGN) != 0 ? ~bits : bits | SIGN, holds};
}

float sh_ranked_score(sh_ranked item)
{
    float score;
    const uint32_t key = item.key < LEAST ? LEAST : item.key;
    const uint32_t bits = (key & SIGN) != 0 ? key & ~SIGN : ~key;
    memcpy(&score, &bits, sizeof score);
    return score;
}

static int compare(const void *a, const void *b)
{
    const uint32_t left = ((const sh_ranked *)a)->key, right = ((const sh_ranked *)b)->key;
    return left < right ? 1 : left > right ? -1 : 0;
}

void sh_ranking_sort(sh_ranked *items, size_t count)
{
    if (count > 1)
        qsort(items, count, sizeof *items, compare);
}

/* The end of the items with the score of items[first]; *hold is how many are positive. */
static size_t group_end(const sh_ranked *items, size_t count, size_t first, uint64_t *hold)
{
    size_t end = first;
    *hold = 0;
    while (end < count && items[end].key == items[first].key)
        *hold += items[end++].holds;
    return end;
}

/* Counts each pair twice, so that one half is an integer. */
double sh_ranking_auc(const sh_ranked *items, size_t count)
{
    uint64_t above = 0, pairs = 0, hold;
    for (size_t i = 0, end; i < count; i = end) {
        end = group_end(items, count, i, &hold);
        pairs += (end - i - hold) * (2 * above + hold);
        above += hold;
    }
    if (above == 0 || above == count)
        return NAN;
    return (double)pairs / (2 * (double)above * (double)(count - above));
}

double sh_ranking_average_precision(const sh_ranked *items, size_t count)
{
    uint64_t above = 0, hold;
    double sum = 0;
    for (size_t i = 0, end; i < count; i = end) {
        end = group_end(items, count, i, &hold);
        above += hold;
        sum += (double)hold * ((double)above / (double)end);
    }
    return above == 0 ? NAN : sum / (double)above;
}
