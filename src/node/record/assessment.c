/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/assessment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/description.h"

#define FIELD_BYTES 4096

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A lack of memory is detected at the end. */
typedef struct writer {
    const sh_assessment *all;
    const json_t *description;
    bool failed;
} writer;

static void set(writer *w, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        w->failed = true;
}

static void append(writer *w, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        w->failed = true;
}

static void set_number(writer *w, json_t *object, const char *name, double value)
{
    set(w, object, name, isfinite(value) ? json_real(value) : json_null());
}

static void set_count(writer *w, json_t *object, const char *name, uint64_t count)
{
    set(w, object, name, json_integer((json_int_t)count));
}

static void set_classes(writer *w, json_t *root)
{
    const sh_dataset_info *info = w->all->info;
    json_t *classes = json_array();
    for (uint32_t k = 0; k < info->outputs; k++) {
        char number[SH_DESCRIPTION_NUMBER];
        const sh_class_figures figures = sh_metrics_class(w->all->metrics, k);
        json_t *one = json_object();
        set(w, one, "name",
            json_string(sh_description_name(w->description, info->target, k, number)));
        set_count(w, one, "samples", figures.samples);
        set_count(w, one, "answers", figures.answers);
        set_count(w, one, "right", figures.right);
        set_number(w, one, "precision", figures.precision);
        set_number(w, one, "recall", figures.recall);
        set_number(w, one, "f1", figures.f1);
        set_number(w, one, "auc", figures.auc);
        set_number(w, one, "average_precision", figures.average_precision);
        append(w, classes, one);
    }
    set(w, root, "classes", classes);
}

static void set_confusion(writer *w, json_t *root)
{
    const uint32_t classes = w->all->info->outputs;
    json_t *matrix = json_array();
    for (uint32_t target = 0; target < classes; target++) {
        json_t *row = json_array();
        for (uint32_t answer = 0; answer < classes; answer++)
            append(w, row, json_integer(sh_metrics_confusion(w->all->metrics, target, answer)));
        append(w, matrix, row);
    }
    set(w, root, "confusion", matrix);
}

/* In their own units, like the means. */
static void set_targets(writer *w, json_t *root)
{
    const sh_dataset_info *info = w->all->info;
    json_t *targets = json_array();
    double mae = 0, rmse = 0;
    for (uint32_t k = 0; k < info->outputs; k++) {
        char number[SH_DESCRIPTION_NUMBER];
        const double unit = sh_description_scale(w->description, k).deviation;
        const sh_number_figures figures = sh_metrics_number(w->all->metrics, k);
        json_t *one = json_object();
        set(w, one, "name",
            json_string(sh_description_name(w->description, info->target, k, number)));
        set_number(w, one, "mae", figures.mae * unit);
        set_number(w, one, "rmse", figures.rmse * unit);
        set_number(w, one, "r2", figures.r2);
        append(w, targets, one);
        mae += figures.mae * unit;
        rmse += figures.rmse * unit;
    }
    set(w, root, "targets", targets);
    set_number(w, root, "mae", mae / info->outputs);
    set_number(w, root, "rmse", rmse / info->outputs);
}

sh_status sh_assessment_json(json_t **json, const sh_assessment *all)
{
    json_t *description = sh_description_read(all->description), *root = json_object();
    writer w = {.all = all, .description = description};
    const sh_target target = all->info->target;
    const sh_metrics_summary summary = sh_metrics_summarise(all->metrics);
    set(&w, root, "task", json_string(sh_target_name(target)));
    set_count(&w, root, "samples", summary.samples);
    set_number(&w, root, "loss", all->loss);
    set_number(&w, root, "accuracy", summary.accuracy);
    set_number(&w, root, "top5", summary.top5);
    set_number(&w, root, "balanced_accuracy", summary.balanced);
    set_number(&w, root, "f1", summary.f1);
    set_number(&w, root, "auc", summary.auc);
    set_number(&w, root, "average_precision", summary.average_precision);
    if (target == SH_TARGET_CLASS || target == SH_TARGET_LABELS)
        set_classes(&w, root);
    if (target == SH_TARGET_CLASS && all->info->outputs <= SH_METRICS_MATRIX_MOST)
        set_confusion(&w, root);
    set_number(&w, root, "mae", NAN);
    set_number(&w, root, "rmse", NAN);
    set_number(&w, root, "r2", summary.r2);
    if (target == SH_TARGET_NUMBERS)
        set_targets(&w, root);
    set_number(&w, root, "error95", summary.error95);
    set_number(&w, root, "error99", summary.error99);
    json_decref(description);
    if (w.failed) {
        json_decref(root);
        return sh_fail_memory(sizeof(json_t), "the figures of a model");
    }
    *json = root;
    return SH_OK;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* A field on one line, quoted if necessary, that spreadsheets do not take for a formula. */
static void put_field(FILE *file, const char *before, const char *text)
{
    char clean[FIELD_BYTES];
    const bool quoted = strpbrk(sh_utf8_clean(clean, sizeof clean, text), ",\"") != NULL;
    const bool formula = *before == '\0' && sh_utf8_is_formula(clean);
    fprintf(file, "%s%s%s", quoted ? "\"" : "", formula ? "'" : "", before);
    for (const char *c = clean; *c != '\0'; c++) {
        if (*c == '"')
            fputc('"', file);
        fputc(*c, file);
    }
    fputs(quoted ? "\"" : "", file);
}

/* With enough digits to identify a float; a decimal point in every locale. */
static void put_number(FILE *file, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", number);
    for (char *c = text; *c != '\0'; c++)
        fputc(*c == ',' ? '.' : *c, file);
}

static void put_labels(FILE *file, const json_t *description, uint32_t outputs, const float *values,
                       float above)
{
    char number[SH_DESCRIPTION_NUMBER], *text = NULL;
    size_t bytes = 0;
    FILE *list = open_memstream(&text, &bytes);
    if (list == NULL)
        return;
    for (uint32_t k = 0, count = 0; k < outputs; k++)
        if (values[k] > above)
            fprintf(list, "%s%s", count++ > 0 ? ";" : "",
                    sh_description_name(description, SH_TARGET_LABELS, k, number));
    if (fclose(list) == 0)
        put_field(file, "", text);
    free(text);
}

static void put_header(FILE *file, const sh_assessment *all, const json_t *description)
{
    const sh_target target = all->info->target;
    char number[SH_DESCRIPTION_NUMBER];
    fputs("index,split", file);
    if (target == SH_TARGET_CLASS)
        fputs(",target,answer,probability", file);
    if (target == SH_TARGET_LABELS)
        fputs(",target,answer", file);
    for (uint32_t k = 0; target == SH_TARGET_NUMBERS && k < all->info->outputs; k++) {
        const char *name = sh_description_name(description, target, k, number);
        fputc(',', file);
        put_field(file, "target ", name);
        fputc(',', file);
        put_field(file, "answer ", name);
    }
    fputs(",loss\r\n", file);
}

static void put_sample(FILE *file, const sh_assessment *all, const json_t *description,
                       const sh_worst_sample *sample)
{
    const sh_target target = all->info->target;
    char number[SH_DESCRIPTION_NUMBER];
    fprintf(file, "%u,%s", sample->index, all->split == SH_SPLIT_TRAIN ? "training" : "validation");
    if (target == SH_TARGET_CLASS) {
        fputc(',', file);
        put_field(file, "", sh_description_name(description, target, sample->target, number));
        fputc(',', file);
        put_field(file, "", sh_description_name(description, target, sample->answer, number));
        fputc(',', file);
        put_number(file, sample->probability);
    }
    if (target == SH_TARGET_LABELS) {
        fputc(',', file);
        put_labels(file, description, all->info->outputs, sample->wanted, 0.5f);
        fputc(',', file);
        put_labels(file, description, all->info->outputs, sample->given, 0);
    }
    for (uint32_t k = 0; target == SH_TARGET_NUMBERS && k < all->info->outputs; k++) {
        const sh_target_scale unit = sh_description_scale(description, k);
        fputc(',', file);
        put_number(file, (double)sample->wanted[k] * unit.deviation + unit.mean);
        fputc(',', file);
        put_number(file, (double)sample->given[k] * unit.deviation + unit.mean);
    }
    fputc(',', file);
    put_number(file, (double)sample->loss);
    fputs("\r\n", file);
}

sh_status sh_assessment_worst(char **text, const sh_assessment *all)
{
    char *fresh = NULL;
    size_t bytes = 0;
    sh_worst_sample sample;
    FILE *file = open_memstream(&fresh, &bytes);
    if (file == NULL)
        return sh_fail_memory(bytes, "the worst samples");
    json_t *description = sh_description_read(all->description);
    put_header(file, all, description);
    for (uint32_t i = 0; sh_metrics_worst(all->metrics, i, &sample); i++)
        put_sample(file, all, description, &sample);
    json_decref(description);
    if (fclose(file) != 0) {
        free(fresh);
        return sh_fail_memory(bytes, "the worst samples");
    }
    *text = fresh;
    return SH_OK;
}
