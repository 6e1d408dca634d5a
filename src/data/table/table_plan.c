/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/table_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "data/table/notes.h"
#include "data/table/selection.h"

#define ROWS_NUMBERED 10   /* least rows to report that a column numbers them */
#define CLASSES_GUESSED 20 /* most distinct whole numbers that are taken as classes */

/* True for "0,5" or "-1,234". */
static bool has_comma(const char *text)
{
    text += *text == '-' || *text == '+';
    const size_t whole = strspn(text, "0123456789");
    if (whole == 0 || text[whole] != ',')
        return false;
    const char *part = text + whole + 1;
    return part[0] != '\0' && part[strspn(part, "0123456789")] == '\0';
}

static sh_status check_commas(const sh_column *column)
{
    if (column->odd == NULL || !has_comma(column->odd))
        return SH_OK;
    return sh_fail(SH_FORMAT,
                   "line %" PRIu64 ": '%s' in the column '%s' is a number with a comma; write the "
                   "column with decimal points, as in 0.5",
                   column->lines[SH_CELL_WORD], column->odd, column->name);
}

/* --- the task --- */

static bool is_label(const sh_column *column)
{
    if (sh_column_kind(column) != SH_KIND_NUMBER || column->many || column->words.count > 2)
        return false;
    for (uint32_t i = 0; i < column->words.count; i++)
        if (strcmp(column->words.texts[i], "0") != 0 && strcmp(column->words.texts[i], "1") != 0)
            return false;
    return true;
}

static bool is_class(const sh_column *column)
{
    return sh_column_kind(column) == SH_KIND_CATEGORY ||
           (sh_column_kind(column) == SH_KIND_NUMBER && !column->many &&
            column->whole == sh_column_present(column) && column->words.count <= CLASSES_GUESSED);
}

static sh_status guess_task(sh_target *task, const sh_survey *survey, const sh_selection *selection)
{
    bool labels = true;
    *task = SH_TARGET_NUMBERS;
    for (uint32_t i = 0; i < selection->target_count; i++) {
        const sh_column *column = &survey->columns[selection->targets[i]];
        SH_TRY(check_commas(column));
        labels &= is_label(column);
        if (selection->target_count == 1 && is_class(column))
            *task = SH_TARGET_CLASS;
        else if (sh_column_kind(column) == SH_KIND_CATEGORY)
            return sh_fail(SH_FORMAT,
                           "several targets must be numbers, or 0 or 1; '%s' holds words, '%s' in "
                           "line %" PRIu64,
                           column->name, column->odd == NULL ? "" : column->odd,
                           column->lines[SH_CELL_WORD]);
    }
    if (selection->target_count > 1 && labels)
        *task = SH_TARGET_LABELS;
    return SH_OK;
}

/* --- targets --- */

static sh_status check_target(const sh_column *column, sh_target task)
{
    const char *name = column->name;
    if (sh_column_present(column) == 0)
        return sh_fail(SH_FORMAT,
                       "all values of the target '%s' are missing; name another with --target",
                       name);
    if (task == SH_TARGET_LABELS && !is_label(column))
        return sh_fail(SH_FORMAT, "a label is 0 or 1, but the target '%s' holds other values",
                       name);
    if (task != SH_TARGET_CLASS)
        return SH_OK;
    if (column->many)
        return sh_fail(SH_LIMIT,
                       "the target '%s' has more than %u classes; if it is a number, write --task "
                       "regression",
                       name, column->words_most);
    if (column->words.count < 2)
        return sh_fail(SH_FORMAT,
                       "the target '%s' has only one class, '%s'; training needs at least two",
                       name, column->words.texts[0]);
    return SH_OK;
}

static sh_status plan_targets(sh_table_plan *plan, sh_survey *survey, const sh_selection *selection)
{
    if (selection->target_count > 1 && plan->task == SH_TARGET_CLASS)
        return sh_fail(SH_INVALID,
                       "--target: a class is one column; for %u columns write --task multi-label "
                       "or --task regression",
                       selection->target_count);
    plan->targets = calloc((size_t)selection->target_count + 1, sizeof *plan->targets);
    if (plan->targets == NULL)
        return sh_fail_memory(selection->target_count * sizeof *plan->targets, "targets");
    for (uint32_t i = 0; i < selection->target_count; i++) {
        sh_column *column = &survey->columns[selection->targets[i]];
        sh_vocabulary none = {0};
        SH_TRY(check_target(column, plan->task));
        const bool is_date = sh_column_kind(column) == SH_KIND_DATE;
        const sh_kind kind = plan->task == SH_TARGET_CLASS ? SH_KIND_CATEGORY
                             : is_date                     ? SH_KIND_DATE
                                                           : SH_KIND_NUMBER;
        SH_TRY(sh_column_transform_init(&plan->targets[plan->target_count], column->name,
                                        selection->targets[i], kind,
                                        kind == SH_KIND_CATEGORY ? &column->words : &none));
        plan->target_count++;
    }
    return SH_OK;
}

/* --- inputs --- */

/* *drop: the values are like names. */
static sh_status check_categories(bool *drop, const sh_column *column, const sh_role *role)
{
    const uint64_t present = sh_column_present(column);
    const char *name = column->name;
    if (!column->many && column->words.count <= SH_CATEGORIES_MOST)
        return SH_OK;
    if (column->counts[SH_CELL_WORD] > 0 && 10 * column->counts[SH_CELL_NUMBER] >= 9 * present)
        return sh_fail(SH_FORMAT,
                       "line %" PRIu64 ": '%s' is not a number, unlike others in the column '%s'; "
                       "fix it, or leave the column out with --inputs -%s",
                       column->lines[SH_CELL_WORD], column->odd == NULL ? "" : column->odd, name,
                       name);
    const bool names = column->many || 2 * (uint64_t)column->words.count >= present;
    if (!role->named && names) {
        *drop = true;
        return SH_OK;
    }
    return sh_fail(SH_LIMIT,
                   "the column '%s' has more than %d different values, too many for categories; "
                   "leave it out with --inputs -%s%s",
                   name, SH_CATEGORIES_MOST, name,
                   column->counts[SH_CELL_NUMBER] == present ? ", or write :number" : "");
}

static sh_status plan_input(sh_table_plan *plan, sh_column *column, uint32_t index, sh_role *role,
                            sh_names *dropped)
{
    sh_vocabulary none = {0};
    const sh_kind kind = role->kind == SH_KIND_NOTHING ? sh_column_kind(column) : role->kind;
    bool drop = false;
    if (kind == SH_KIND_CATEGORY && role->kind == SH_KIND_NOTHING)
        SH_TRY(check_commas(column));
    if (kind == SH_KIND_CATEGORY)
        SH_TRY(check_categories(&drop, column, role));
    if (drop) {
        sh_names_add(dropped, "%s", column->name);
        return SH_OK;
    }
    SH_TRY(sh_column_transform_init(&plan->inputs[plan->input_count], column->name, index, kind,
                                    kind == SH_KIND_CATEGORY  ? &column->words
                                    : kind == SH_KIND_ORDINAL ? &role->order
                                                              : &none));
    plan->input_count++;
    return SH_OK;
}

/* The first row may be counted last (column_survey.c), so two steps may be missing. */
static bool numbers_rows(const sh_column *column, uint64_t rows)
{
    return rows >= ROWS_NUMBERED && column->whole == rows && column->steps + 2 >= rows;
}

static sh_status note_names(const sh_survey *survey, json_t *notes)
{
    sh_vocabulary seen = {0};
    sh_names twice = {0};
    sh_status status = SH_OK;
    for (size_t i = 0; i < survey->count && status == SH_OK; i++) {
        uint32_t number;
        const uint32_t before = seen.count;
        status = sh_vocabulary_add(&seen, &number, survey->columns[i].name);
        if (status == SH_OK && seen.count == before)
            sh_names_add(&twice, "%s (column %zu)", survey->columns[i].name, i + 1);
    }
    sh_vocabulary_release(&seen);
    SH_TRY(status);
    return twice.count == 0 ? SH_OK
                            : sh_notes_add(notes, "columns whose name another column has: %s",
                                           sh_names_end(&twice));
}

static sh_status plan_inputs(sh_table_plan *plan, sh_survey *survey, sh_selection *selection,
                             json_t *notes)
{
    sh_names dropped = {0}, empty = {0}, counting = {0};
    plan->inputs = calloc(survey->count, sizeof *plan->inputs);
    if (plan->inputs == NULL)
        return sh_fail_memory(survey->count * sizeof *plan->inputs, "inputs");
    for (uint32_t i = 0; i < survey->count; i++) {
        sh_column *column = &survey->columns[i];
        if (selection->roles[i].use != SH_USE_INPUT)
            continue;
        if (!selection->roles[i].named && numbers_rows(column, survey->rows))
            sh_names_add(&counting, "%s", column->name);
        if (sh_column_present(column) == 0)
            sh_names_add(&empty, "%s", column->name);
        else
            SH_TRY(plan_input(plan, column, i, &selection->roles[i], &dropped));
    }
    if (empty.count > 0)
        SH_TRY(sh_notes_add(notes, "left out, since all values are missing: %s",
                            sh_names_end(&empty)));
    if (counting.count > 0)
        SH_TRY(sh_notes_add(
            notes,
            "an input that only numbers the rows; better leave it out with --inputs -NAME: %s",
            sh_names_end(&counting)));
    if (dropped.count > 0)
        SH_TRY(
            sh_notes_add(notes, "left out, since most words differ: %s", sh_names_end(&dropped)));
    return SH_OK;
}

sh_status sh_table_plan_make(sh_table_plan *plan, sh_survey *survey, json_t *notes,
                             const sh_read_options *options)
{
    sh_selection selection = {0};
    sh_table_plan fresh = {0};
    const bool given = options->task != NULL && options->task[0] != '\0';
    sh_status status;
    if (given && !sh_target_find(&fresh.task, options->task))
        return sh_fail(SH_INVALID, "--task %s: no such task", options->task);
    const bool targeted = !given || fresh.task != SH_TARGET_SAMPLE;
    SH_TRY_DONE(sh_selection_make(&selection, survey, options->target, options->inputs, targeted));
    if (!given)
        SH_TRY_DONE(guess_task(&fresh.task, survey, &selection));
    if (targeted)
        SH_TRY_DONE(plan_targets(&fresh, survey, &selection));
    SH_TRY_DONE(plan_inputs(&fresh, survey, &selection, notes));
    SH_TRY_DONE(note_names(survey, notes));
    *plan = fresh;
    fresh = (sh_table_plan){0};
done:
    sh_selection_release(&selection);
    sh_table_plan_release(&fresh);
    return status;
}

static void release_all(sh_column_transform *treatments, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sh_column_transform_release(&treatments[i]);
    free(treatments);
}

void sh_table_plan_release(sh_table_plan *plan)
{
    release_all(plan->targets, plan->target_count);
    release_all(plan->inputs, plan->input_count);
    *plan = (sh_table_plan){0};
}
