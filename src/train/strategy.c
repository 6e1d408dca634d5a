/* SPDX-License-Identifier: Apache-2.0 */
#include "train/strategy.h"

#include <stdio.h>
#include <string.h>

static const sh_strategy_row *const rows[] = {
#define SH_STRATEGY(noun, help) &sh_strategy_##noun,
#include "train/strategies.def"
#undef SH_STRATEGY
};

#define ROWS (sizeof rows / sizeof *rows)

/* Accepts only decimal digits, without a leading zero. */
static bool read_number(uint32_t *number, const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    uint32_t value = 0;
    if (digits == 0 || digits > 5 || text[digits] != '\0' || text[0] == '0')
        return false;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint32_t)(text[i] - '0');
    *number = value;
    return value <= SH_STRATEGY_MAX_NUMBER;
}

sh_status sh_strategy_parse(sh_strategy *strategy, const char *text)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    size_t i = 0;
    while (i < ROWS &&
           (strlen(rows[i]->name) != length || memcmp(rows[i]->name, text, length) != 0))
        i++;
    if (i == ROWS) {
        char all[SH_STRATEGY_LIST];
        sh_strategy_list(all, false, ", ");
        return sh_fail(SH_NOT_FOUND, "--strategy %.64s: must be %s", text, all);
    }
    const sh_strategy_row *row = rows[i];
    uint32_t number = 0;
    if (row->number == NULL && colon != NULL)
        return sh_fail(SH_INVALID, "--strategy %.64s: takes no number; write %s", text, row->name);
    if (row->number != NULL && (colon == NULL || !read_number(&number, colon + 1)))
        return sh_fail(SH_INVALID,
                       "--strategy %.64s: %s must be a whole number from 1 to %u; write %s:%s, "
                       "such as %s:8",
                       text, row->number, SH_STRATEGY_MAX_NUMBER, row->name, row->number,
                       row->name);
    *strategy = (sh_strategy){row, number};
    return SH_OK;
}

bool sh_strategy_same_course(const sh_strategy *a, const sh_strategy *b)
{
    return strcmp(a->row->course, b->row->course) == 0 && a->number == b->number;
}

void sh_strategy_list(char text[SH_STRATEGY_LIST], bool servers, const char *last)
{
    size_t left = 0, used = 0;
    for (size_t i = 0; i < ROWS; i++)
        left += rows[i]->servers || !servers;
    for (size_t i = 0; i < ROWS && used < SH_STRATEGY_LIST; i++) {
        const sh_strategy_row *row = rows[i];
        if (servers && !row->servers)
            continue;
        left--;
        used +=
            (size_t)snprintf(text + used, SH_STRATEGY_LIST - used, "%s%s%s%s", row->name,
                             row->number != NULL ? ":" : "", row->number != NULL ? row->number : "",
                             left == 0   ? ""
                             : left == 1 ? last
                                         : ", ");
    }
}
