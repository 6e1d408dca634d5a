/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distance is that of optimal string alignment. A name is near within one mistake, plus one per
 * four letters of the name. A prefix is near as well.
 */
#include "base/suggestion.h"

#include <string.h>

#define LONGEST 48 /* longer names are near to nothing */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance_between(const char *a, const char *b)
{
    const size_t rows = strlen(a), columns = strlen(b);
    size_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            const size_t change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = least(change, 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[rows][columns];
}

void sh_suggestion_offer(sh_suggestion *suggestion, const char *name)
{
    const size_t typed = strlen(suggestion->typed), length = strlen(name);
    if (typed < 2 || typed > LONGEST || length > LONGEST)
        return;
    size_t distance = distance_between(suggestion->typed, name);
    if (distance > 1 && strncmp(suggestion->typed, name, typed) == 0)
        distance = 1;
    if (distance > 1 + length / 4 || distance >= length)
        return;
    if (suggestion->name != NULL && suggestion->distance <= distance)
        return;
    suggestion->name = name;
    suggestion->distance = distance;
}
