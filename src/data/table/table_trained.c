/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/table_trained.h"

#include <stdlib.h>
#include <string.h>

#include "data/description.h"
#include "data/table/notes.h"

static sh_status find_inputs(sh_table_plan *plan, const sh_survey *survey, const json_t *inputs,
                             bool *used)
{
    sh_names missing = {0};
    const size_t count = json_array_size(inputs);
    if (count == 0 || count > SH_CSV_FIELDS_MOST)
        return sh_fail(SH_MISMATCH, "the run was not trained with a table");
    plan->inputs = calloc(count, sizeof *plan->inputs);
    if (plan->inputs == NULL)
        return sh_fail_memory(count * sizeof *plan->inputs, "inputs");
    for (size_t i = 0; i < count; i++) {
        sh_column_transform *input = &plan->inputs[i];
        SH_TRY(sh_column_transform_parse(input, json_array_get(inputs, i)));
        plan->input_count++;
        if (sh_survey_find(&input->column, survey, input->name))
            used[input->column] = true;
        else
            sh_names_add(&missing, "%s", input->name);
    }
    if (missing.count == 0)
        return SH_OK;
    return sh_fail(SH_NOT_FOUND, "columns that the run was trained with are missing: %s%s",
                   sh_names_end(&missing),
                   survey->header ? "" : "; there is no header, which would name the columns");
}

static sh_status take_classes(sh_vocabulary *words, const json_t *classes)
{
    for (size_t i = 0; i < json_array_size(classes); i++) {
        uint32_t number;
        const char *name = json_string_value(json_array_get(classes, i));
        SH_TRY(sh_vocabulary_add(words, &number, name == NULL ? "" : name));
        if (number != i)
            return sh_fail(SH_FORMAT, "the run knows the class '%s' twice", name);
    }
    return SH_OK;
}

/* The last column if `name` is NULL or empty. */
static sh_status find_target(sh_table_plan *plan, const sh_survey *survey, const char *name,
                             const json_t *classes, bool *used)
{
    uint32_t column = (uint32_t)survey->count - 1;
    sh_vocabulary words = {0};
    sh_status status = SH_OK;
    if (name != NULL && name[0] != '\0' && !sh_survey_find(&column, survey, name))
        return sh_fail(SH_NOT_FOUND,
                       "there is no column '%s', the target; add it with the true values", name);
    const bool is_date = sh_column_kind(&survey->columns[column]) == SH_KIND_DATE;
    if (plan->task == SH_TARGET_CLASS)
        SH_TRY_DONE(take_classes(&words, classes));
    SH_TRY_DONE(sh_column_transform_init(&plan->targets[plan->target_count],
                                         survey->columns[column].name, column,
                                         plan->task == SH_TARGET_CLASS ? SH_KIND_CATEGORY
                                         : is_date                     ? SH_KIND_DATE
                                                                       : SH_KIND_NUMBER,
                                         &words));
    plan->target_count++;
    used[column] = true;
done:
    sh_vocabulary_release(&words);
    return status;
}

static sh_status find_targets(sh_table_plan *plan, const sh_survey *survey,
                              const sh_read_options *options, bool *used)
{
    const json_t *about = options->trained->about;
    const json_t *classes = json_object_get(about, "classes");
    const uint32_t count = plan->task == SH_TARGET_SAMPLE  ? 0
                           : plan->task == SH_TARGET_CLASS ? 1
                                                           : options->trained->info.outputs;
    plan->targets = calloc((size_t)count + 1, sizeof *plan->targets);
    if (plan->targets == NULL)
        return sh_fail_memory(count * sizeof *plan->targets, "targets");
    for (uint32_t i = 0; i < count; i++) {
        char number[SH_DESCRIPTION_NUMBER];
        const char *name = plan->task == SH_TARGET_CLASS
                               ? json_string_value(json_object_get(about, "target"))
                               : sh_description_name(about, plan->task, i, number);
        SH_TRY(find_target(plan, survey, name == NULL ? options->target : name, classes, used));
    }
    return SH_OK;
}

sh_status sh_table_plan_as_trained(sh_table_plan *plan, const sh_survey *survey, json_t *notes,
                                   const sh_read_options *options)
{
    sh_names unknown = {0};
    sh_table_plan fresh = {.task = options->trained->info.target};
    sh_status status;
    bool *used = calloc(survey->count, sizeof *used);
    if (used == NULL)
        return sh_fail_memory(survey->count * sizeof *used, "the columns of a table");
    SH_TRY_DONE(
        find_inputs(&fresh, survey, json_object_get(options->trained->about, "inputs"), used));
    SH_TRY_DONE(find_targets(&fresh, survey, options, used));
    for (size_t i = 0; i < survey->count; i++)
        if (!used[i])
            sh_names_add(&unknown, "%s", survey->columns[i].name);
    if (unknown.count > 0)
        SH_TRY_DONE(sh_notes_add(notes, "columns that the run does not use, left out: %s",
                                 sh_names_end(&unknown)));
    *plan = fresh;
    fresh = (sh_table_plan){0};
done:
    free(used);
    sh_table_plan_release(&fresh);
    return status;
}
