/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/suggestion.h"

#define ITEM_BYTES 4096 /* a name with its kind */

static sh_status find(uint32_t *column, const sh_survey *survey, const char *option,
                      const char *name)
{
    sh_suggestion meant = {.typed = name};
    if (sh_survey_find(column, survey, name)) {
        for (size_t i = *column + 1; i < survey->count; i++)
            if (strcmp(survey->columns[i].name, name) == 0)
                return sh_fail(
                    SH_INVALID,
                    "%s: columns %u and %zu are both called '%s'; write the number of one", option,
                    *column + 1, i + 1, name);
        return SH_OK;
    }
    for (size_t i = 0; i < survey->count; i++)
        sh_suggestion_offer(&meant, survey->columns[i].name);
    if (meant.name != NULL)
        return sh_fail(SH_NOT_FOUND, "%s: there is no column '%s'; is '%s' meant?", option, name,
                       meant.name);
    return sh_fail(SH_NOT_FOUND,
                   "%s: there is no column '%s'; there are %zu, from '%s' to '%s', also named by "
                   "numbers from 1",
                   option, name, survey->count, survey->columns[0].name,
                   survey->columns[survey->count - 1].name);
}

/* --- targets --- */

static sh_status add_target(sh_selection *selection, uint32_t column, const char *name)
{
    if (selection->roles[column].use == SH_USE_TARGET)
        return sh_fail(SH_INVALID, "--target: the column '%s' is named twice", name);
    selection->roles[column].use = SH_USE_TARGET;
    selection->targets[selection->target_count++] = column;
    return SH_OK;
}

static sh_status choose_targets(sh_selection *selection, const sh_survey *survey,
                                const char *target)
{
    char name[SH_CELL_NAME_BYTES];
    uint32_t column;
    if (sh_survey_find(&column, survey, target)) { /* a name may contain commas */
        SH_TRY(find(&column, survey, "--target", target));
        return add_target(selection, column, target);
    }
    while (sh_survey_next_name(name, &target)) {
        SH_TRY(find(&column, survey, "--target", name));
        SH_TRY(add_target(selection, column, name));
    }
    return SH_OK;
}

/* --- inputs --- */

/* Parses the words of "ordinal(low;mid;high)" after the bracket. */
static sh_status read_order(sh_vocabulary *order, char *text, const char *item)
{
    const size_t length = strlen(text);
    uint32_t number, count = 0;
    if (length == 0 || text[length - 1] != ')')
        return sh_fail(SH_INVALID, "--inputs %s: write ordinal(low;mid;high), the lowest first",
                       item);
    text[length - 1] = '\0';
    for (char *at = text; at != NULL; count++) {
        char *end = strchr(at, ';');
        if (end != NULL)
            *end++ = '\0';
        char name[SH_CELL_NAME_BYTES];
        SH_TRY(sh_vocabulary_add(order, &number, sh_cell_name(name, at)));
        at = end;
    }
    if (order->count != count || count < 2)
        return sh_fail(SH_INVALID, "--inputs %s: needs at least two different words", item);
    return SH_OK;
}

static sh_status read_kind(sh_role *role, char *text, const char *item)
{
    static const sh_kind kinds[] = {SH_KIND_NUMBER, SH_KIND_CATEGORY, SH_KIND_DATE};
    char *colon = strstr(text, ":ordinal(");
    if (colon != NULL) {
        *colon = '\0';
        role->kind = SH_KIND_ORDINAL;
        return read_order(&role->order, colon + strlen(":ordinal("), item);
    }
    colon = strrchr(text, ':');
    for (size_t i = 0; colon != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(colon + 1, sh_kind_name(kinds[i])) == 0) {
            *colon = '\0';
            role->kind = kinds[i];
            return SH_OK;
        }
    if (colon != NULL)
        return sh_fail(SH_INVALID,
                       "--inputs %s: a column is number, category, date or ordinal(low;mid;high)",
                       item);
    return SH_OK;
}

/* Sets *rest for "*", *any if the item names an input. */
static sh_status choose_input(sh_selection *selection, const sh_survey *survey, const char *item,
                              bool *rest, bool *any)
{
    char text[ITEM_BYTES];
    uint32_t column;
    sh_role role = {.use = SH_USE_INPUT, .named = true};
    snprintf(text, sizeof text, "%s", item);
    if (strcmp(text, "*") == 0) {
        *rest = true;
        return SH_OK;
    }
    const bool out = text[0] == '-' && !sh_survey_find(&column, survey, text);
    sh_status status = SH_OK;
    if (!out && !sh_survey_find(&column, survey, text)) /* a name may contain colons */
        SH_TRY_DONE(read_kind(&role, text, item));
    SH_TRY_DONE(find(&column, survey, "--inputs", text + out));
    sh_role *place = &selection->roles[column];
    if (place->use == SH_USE_TARGET && out)
        goto done;
    if (place->use == SH_USE_TARGET || place->named) {
        status = sh_fail(SH_INVALID, "--inputs %s: the column is %s", item,
                         place->use == SH_USE_TARGET ? "the target" : "named twice");
        goto done;
    }
    *any |= !out;
    if (out)
        role.use = SH_USE_NONE;
    *place = role;
    role = (sh_role){0};
done:
    sh_vocabulary_release(&role.order);
    return status;
}

static sh_status choose_inputs(sh_selection *selection, const sh_survey *survey, const char *inputs)
{
    bool rest = false, any = false;
    while (*inputs != '\0') {
        char item[ITEM_BYTES];
        size_t length = 0;
        bool inside = false;
        for (; inputs[length] != '\0' && (inside || inputs[length] != ','); length++)
            inside = inputs[length] == '(' || (inside && inputs[length] != ')');
        if (length >= sizeof item)
            return sh_fail(SH_LIMIT, "--inputs: a name and its kind take more than %d bytes",
                           ITEM_BYTES);
        snprintf(item, sizeof item, "%.*s", (int)length, inputs);
        SH_TRY(choose_input(selection, survey, item, &rest, &any));
        inputs += length;
        inputs += *inputs == ',';
    }
    for (size_t i = 0; i < selection->count && (rest || !any); i++)
        if (selection->roles[i].use == SH_USE_NONE && !selection->roles[i].named)
            selection->roles[i].use = SH_USE_INPUT;
    return SH_OK;
}

static sh_status choose(sh_selection *selection, const sh_survey *survey, const char *target,
                        const char *inputs, bool needs_target)
{
    selection->roles = calloc(survey->count, sizeof *selection->roles);
    selection->targets = calloc(survey->count, sizeof *selection->targets);
    if (selection->roles == NULL || selection->targets == NULL)
        return sh_fail_memory(survey->count * sizeof *selection->roles, "the columns of a table");
    selection->count = survey->count;
    if (target != NULL && target[0] != '\0')
        SH_TRY(choose_targets(selection, survey, target));
    else if (needs_target)
        SH_TRY(add_target(selection, (uint32_t)survey->count - 1, ""));
    return choose_inputs(selection, survey, inputs == NULL ? "" : inputs);
}

sh_status sh_selection_make(sh_selection *selection, const sh_survey *survey, const char *target,
                            const char *inputs, bool needs_target)
{
    sh_selection fresh = {0};
    const sh_status status = choose(&fresh, survey, target, inputs, needs_target);
    if (status != SH_OK) {
        sh_selection_release(&fresh);
        return status;
    }
    *selection = fresh;
    return SH_OK;
}

void sh_selection_release(sh_selection *selection)
{
    for (size_t i = 0; i < selection->count; i++)
        sh_vocabulary_release(&selection->roles[i].order);
    free(selection->roles);
    free(selection->targets);
    *selection = (sh_selection){0};
}
