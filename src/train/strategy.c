/* SPDX-License-Identifier: Apache-2.0 */
#include "train/strategy.h"

#include <string.h>

typedef struct form {
    const char *name;
    const char *bound; /* what its number is called; NULL: it has none */
} form;

static const form forms[] = {
    [SH_STRATEGY_SYNC] = {.name = "sync"},
    [SH_STRATEGY_PS_SYNC] = {.name = "ps-sync"},
    [SH_STRATEGY_PS_ASYNC] = {.name = "ps-async"},
    [SH_STRATEGY_PS_BOUNDED] = {.name = "ps-bounded", .bound = "K"},
    [SH_STRATEGY_LOCAL] = {.name = "local", .bound = "H"},
};

#define FORMS (sizeof forms / sizeof *forms)

/* Decimal digits alone, without a zero in front. */
static bool read_bound(uint32_t *bound, const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    uint32_t value = 0;
    if (digits == 0 || digits > 5 || text[digits] != '\0' || text[0] == '0')
        return false;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint32_t)(text[i] - '0');
    *bound = value;
    return value <= SH_STRATEGY_MAX_BOUND;
}

static sh_status parse_bound(uint32_t *bound, const form *one, const char *text, const char *colon)
{
    if (one->bound == NULL && colon == NULL)
        return SH_OK;
    if (one->bound == NULL)
        return sh_fail(SH_INVALID, "--strategy %.64s: takes no number; write %s", text, one->name);
    if (colon == NULL || !read_bound(bound, colon + 1))
        return sh_fail(SH_INVALID,
                       "--strategy %.64s: %s must be a whole number from 1 to %u; write %s:%s, "
                       "such as %s:8",
                       text, one->bound, SH_STRATEGY_MAX_BOUND, one->name, one->bound, one->name);
    return SH_OK;
}

sh_status sh_strategy_parse(sh_strategy *strategy, const char *text)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    size_t kind = 0;
    while (kind < FORMS &&
           (strlen(forms[kind].name) != length || memcmp(forms[kind].name, text, length) != 0))
        kind++;
    if (kind == FORMS)
        return sh_fail(SH_NOT_FOUND,
                       "--strategy %.64s: must be sync, ps-sync, ps-async, ps-bounded:K, local:H",
                       text);
    uint32_t bound = 0;
    SH_TRY(parse_bound(&bound, &forms[kind], text, colon));
    *strategy = (sh_strategy){.kind = (sh_strategy_kind)kind, .bound = bound};
    return SH_OK;
}

bool sh_strategy_laps(const sh_strategy *strategy)
{
    return strategy->kind == SH_STRATEGY_PS_ASYNC || strategy->kind == SH_STRATEGY_PS_BOUNDED;
}

bool sh_strategy_same_course(const sh_strategy *a, const sh_strategy *b)
{
    const bool each_step[] = {a->kind == SH_STRATEGY_SYNC || a->kind == SH_STRATEGY_PS_SYNC,
                              b->kind == SH_STRATEGY_SYNC || b->kind == SH_STRATEGY_PS_SYNC};
    return (each_step[0] && each_step[1]) || (a->kind == b->kind && a->bound == b->bound);
}
