/* SPDX-License-Identifier: Apache-2.0 */
#include "train/strategy.h"

#include <stdio.h>
#include <string.h>

typedef struct form {
    const char *name;
    const char *bound; /* what its number is called; NULL: it has none */
    bool built;
} form;

static const form forms[] = {
    [SH_STRATEGY_SYNC] = {.name = "sync", .built = true},
    [SH_STRATEGY_PS_SYNC] = {.name = "ps-sync", .built = true},
    [SH_STRATEGY_PS_ASYNC] = {.name = "ps-async", .built = true},
    [SH_STRATEGY_PS_BOUNDED] = {.name = "ps-bounded", .bound = "K", .built = true},
    [SH_STRATEGY_LOCAL] = {.name = "local", .bound = "H", .built = true},
};

#define FORMS (sizeof forms / sizeof *forms)
#define LIST_BYTES 128

/* The strategies that are built, or those that are not, with ", " between them. */
static const char *list(char text[LIST_BYTES], bool built)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < FORMS; i++) {
        const form *one = &forms[i];
        if (one->built != built || used >= LIST_BYTES)
            continue;
        const int written =
            snprintf(text + used, LIST_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "", one->name,
                     one->bound != NULL ? ":" : "", one->bound != NULL ? one->bound : "");
        used += written > 0 ? (size_t)written : 0;
    }
    return text;
}

static sh_status fail_unless_built(sh_status status, const char *text)
{
    char built[LIST_BYTES], later[LIST_BYTES];
    list(later, false);
    return sh_fail(status, "--strategy %.64s: must be %s%s%s%s", text, list(built, true),
                   *later != '\0' ? " (not built yet: " : "", later, *later != '\0' ? ")" : "");
}

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
        return fail_unless_built(SH_NOT_FOUND, text);
    uint32_t bound = 0;
    SH_TRY(parse_bound(&bound, &forms[kind], text, colon));
    if (!forms[kind].built)
        return fail_unless_built(SH_UNSUPPORTED, text);
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
