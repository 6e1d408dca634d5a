/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format `table`: a file of separated values (csv.h), each row a sample.
 *
 * The file is read twice. The first pass (column_survey.h) shows what each column contains, which
 * decides its use (table_plan.h). The second converts each field in use to a double (a number,
 * days, or the number of a category), since a float is not precise enough for a time in seconds
 * before its mean is subtracted. A large table's doubles are in a temporary file (row_store.h), so
 * a row takes about 50 bytes of memory, independent of the columns.
 *
 * The digest of all its fields decides a row's split, so that equal rows are in one. The transforms
 * (column_transform.h) are fitted to the training rows. The file is hashed before and after, to
 * detect changes.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/contents.h"
#include "data/description.h"
#include "data/file_reader.h"
#include "data/packed.h"
#include "data/split.h"
#include "data/table/notes.h"
#include "data/table/row_store.h"
#include "data/table/table_trained.h"

#define KEY_BYTES 17              /* a row's digest as text */
#define GATHERED_BYTES (8u << 20) /* columns gathered at once; at least one */
#define VAL_SPLIT 0.2
#define REVISION "table 2" /* must change if the samples made from a file change */

typedef char row_key[KEY_BYTES];

typedef struct tables {
    sh_source base;
    char *path;
    sh_table_plan plan;
    sh_row_store *store;        /* each row: inputs, targets, line */
    size_t columns;             /* of the store */
    int32_t **renumbered;       /* [inputs], from sh_column_transform_fit; mostly NULL */
    row_key *keys;              /* of each row, until the split */
    sh_split_item *items;       /* one for each row, until the split */
    uint32_t *order[SH_SPLITS]; /* each split's rows, ascending */
    uint32_t rows, room;        /* rows with a target; capacity */
    double *target_means, *target_deviations;
    const sh_trained *trained; /* NULL: inputs are fitted */
} tables;

/* --- samples --- */

static const tables *tables_of(const sh_source *source)
{
    return (const tables *)(const void *)source;
}

static void write_target(const tables *t, const double *values, void *target)
{
    float *numbers = target;
    if (t->plan.task == SH_TARGET_CLASS) {
        const int32_t class = (int32_t)values[0];
        memcpy(target, &class, sizeof class);
        return;
    }
    if (t->plan.task == SH_TARGET_SAMPLE)
        return;
    for (uint32_t i = 0; i < t->plan.target_count; i++)
        numbers[i] = t->plan.task == SH_TARGET_LABELS
                         ? (float)values[i]
                         : (float)((values[i] - t->target_means[i]) / t->target_deviations[i]);
}

static double renumber(const tables *t, uint32_t input, double value)
{
    const int32_t *numbers = t->renumbered[input];
    return numbers != NULL && value >= 0 ? numbers[(uint32_t)value] : value;
}

static sh_status write_inputs(const tables *t, const double *values, float *inputs)
{
    for (uint32_t i = 0; i < t->plan.input_count; i++) {
        const sh_column_transform *input = &t->plan.inputs[i];
        if (!sh_column_transform_apply(input, inputs, renumber(t, i, values[i])))
            return sh_fail(SH_CORRUPT,
                           "line %.0f: %g in the column '%s' is too far from the others",
                           values[t->columns - 1], values[i], input->name);
        inputs += input->outputs;
    }
    return SH_OK;
}

static sh_status tables_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                             void *target)
{
    const tables *t = tables_of(source);
    double *values = malloc(t->columns * sizeof *values);
    if (values == NULL)
        return sh_fail_memory(t->columns * sizeof *values, "a row of a table");
    sh_status status = sh_row_store_read(t->store, t->order[split][index], values);
    if (status == SH_OK)
        status = write_inputs(t, values, sample);
    if (status == SH_OK)
        write_target(t, values + t->plan.input_count, target);
    free(values);
    return status;
}

static void tables_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                        size_t bytes)
{
    const tables *t = tables_of(source);
    const uint32_t row = t->order[split][index];
    double *values = malloc(t->columns * sizeof *values);
    if (values != NULL && sh_row_store_read(t->store, row, values) == SH_OK)
        snprintf(text, bytes, "line %.0f", values[t->columns - 1]);
    else
        snprintf(text, bytes, "row %u", row);
    free(values);
}

static void tables_close(sh_source *source)
{
    tables *t = (tables *)(void *)source;
    sh_row_store_free(t->store);
    for (uint32_t i = 0; t->renumbered != NULL && i < t->plan.input_count; i++)
        free(t->renumbered[i]);
    free(t->renumbered);
    sh_table_plan_release(&t->plan);
    json_decref(t->base.about);
    for (int split = 0; split < SH_SPLITS; split++)
        free(t->order[split]);
    free(t->target_means);
    free(t->target_deviations);
    free(t->keys);
    free(t->items);
    free(t->path);
    free(t);
}

static const sh_source_ops tables_ops = {
    .read = tables_read,
    .name = tables_name,
    .close = tables_close,
};

/* --- the second pass --- */

static sh_status make_rows(tables *t, uint64_t rows)
{
    if (rows > UINT32_MAX / 2)
        return sh_fail(SH_LIMIT, "%s: has more than %u rows", t->path, UINT32_MAX / 2);
    t->room = (uint32_t)rows;
    t->columns = (size_t)t->plan.input_count + t->plan.target_count + 1;
    t->keys = calloc(t->room, sizeof *t->keys);
    t->items = calloc(t->room, sizeof *t->items);
    t->renumbered = calloc((size_t)t->plan.input_count + 1, sizeof *t->renumbered);
    if (t->keys == NULL || t->items == NULL || t->renumbered == NULL)
        return sh_fail_memory(t->room * (sizeof *t->keys + sizeof *t->items), "rows of a table");
    return sh_row_store_new(&t->store, t->columns, t->room);
}

static sh_status make_key(row_key key, const sh_csv_row *row)
{
    char hex[SH_DIGEST_TEXT];
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    for (size_t i = 0; i < row->count; i++)
        sh_digest_add(digest, row->fields[i], strlen(row->fields[i]) + 1);
    SH_TRY(sh_digest_finish(digest, hex));
    memcpy(key, hex, KEY_BYTES - 1);
    key[KEY_BYTES - 1] = '\0';
    return SH_OK;
}

static sh_status read_field(double *value, const sh_column_transform *transform,
                            const sh_csv_row *row, bool is_target)
{
    const char *field = row->fields[transform->column];
    if (sh_column_transform_value(transform, value, field) == SH_OK)
        return SH_OK;
    char reason[SH_MESSAGE_BYTES / 2];
    snprintf(reason, sizeof reason, "%s", sh_message());
    if (is_target)
        return sh_fail(SH_FORMAT, "line %" PRIu64 ": %s; fix it, or remove the line", row->line,
                       reason);
    return sh_fail(SH_FORMAT,
                   "line %" PRIu64 ": %s; fix it, or leave the column out with --inputs -%s",
                   row->line, reason, transform->name);
}

static sh_status check_class(const tables *t, const sh_csv_row *row, double value)
{
    char name[SH_CELL_NAME_BYTES];
    uint32_t number;
    if (t->trained == NULL || t->plan.task != SH_TARGET_CLASS || value != -1)
        return SH_OK;
    sh_cell_name(name, row->fields[t->plan.targets[0].column]);
    return sh_fail_in(sh_trained_class(&number, t->trained, name), "line %" PRIu64, row->line);
}

/* Adds a row unless a target is missing. `values` is scratch space for a row of the store. */
static sh_status load_row(tables *t, const sh_csv_row *row, double *values)
{
    bool missing = false;
    double *targets = values + t->plan.input_count;
    for (uint32_t i = 0; i < t->plan.target_count; i++) {
        SH_TRY(read_field(&targets[i], &t->plan.targets[i], row, true));
        SH_TRY(check_class(t, row, targets[i]));
        missing |= isnan(targets[i]) || (t->plan.task == SH_TARGET_CLASS && targets[i] < 0);
    }
    if (missing)
        return SH_OK;
    for (uint32_t i = 0; i < t->plan.input_count; i++)
        SH_TRY(read_field(&values[i], &t->plan.inputs[i], row, false));
    values[t->columns - 1] = (double)row->line;
    SH_TRY(make_key(t->keys[t->rows], row));
    t->items[t->rows] = (sh_split_item){
        .name = t->keys[t->rows],
        .class = t->plan.task == SH_TARGET_CLASS ? (uint32_t)targets[0] : 0,
    };
    t->rows++;
    return sh_row_store_add(t->store, values);
}

static sh_status load_rows(tables *t, sh_csv *csv, const sh_survey *survey, double *values)
{
    uint64_t rows = 0;
    SH_TRY(sh_csv_rewind(csv));
    for (bool header = survey->header;; header = false) {
        const sh_csv_row *row;
        SH_TRY(sh_csv_next(csv, &row));
        if (row == NULL)
            break;
        if (header)
            continue;
        if (rows++ == t->room || row->count != survey->count)
            return sh_fail(SH_CORRUPT, "%s: changed while it was read; try again", t->path);
        SH_TRY(sh_fail_in(load_row(t, row, values), "%s", t->path));
    }
    if (t->rows == 0)
        return sh_fail(SH_FORMAT, "%s: no row has a target", t->path);
    return sh_row_store_end(t->store);
}

static sh_status load(tables *t, sh_csv *csv, const sh_survey *survey)
{
    SH_TRY(make_rows(t, survey->rows));
    double *values = calloc(t->columns, sizeof *values);
    if (values == NULL)
        return sh_fail_memory(t->columns * sizeof *values, "a row of a table");
    const sh_status status = load_rows(t, csv, survey, values);
    free(values);
    return status;
}

/* --- training and validation --- */

/* For a trained model, all rows are validation rows. */
static sh_status assign(tables *t, double part)
{
    const uint32_t classes = t->plan.task == SH_TARGET_CLASS ? t->plan.targets[0].words.count : 1;
    sh_split_item *items = t->items;
    for (uint32_t i = 0; i < t->rows; i++)
        items[i].split = SH_SPLIT_VALIDATION;
    if (t->trained != NULL)
        return SH_OK;
    sh_status status = sh_split_assign(items, t->rows, classes, part);
    if (status == SH_INVALID) { /* few rows: all may be in one split */
        for (uint32_t i = 0; i < t->rows; i++)
            items[i].class = 0;
        status = sh_split_assign(items, t->rows, 1, part);
    }
    return sh_fail_in(status, "%s", t->path);
}

static sh_status divide(tables *t, double part)
{
    sh_dataset_info *info = &t->base.info;
    const sh_split_item *items = t->items;
    SH_TRY(assign(t, part));
    free(t->keys);
    t->keys = NULL;
    for (uint32_t i = 0; i < t->rows; i++)
        info->count[items[i].split]++;
    for (int split = 0; split < SH_SPLITS; split++) {
        uint32_t next = 0;
        t->order[split] = calloc((size_t)info->count[split] + 1, sizeof *t->order[split]);
        if (t->order[split] == NULL)
            return sh_fail_memory(t->rows * sizeof *t->order[split], "the split of a table");
        for (uint32_t i = 0; i < t->rows; i++)
            if (items[i].split == (sh_split)split)
                t->order[split][next++] = i;
    }
    free(t->items);
    t->items = NULL;
    return SH_OK;
}

typedef struct gathering {
    const tables *t;
    double *values; /* owned */
    size_t first, count, most;
} gathering;

static sh_status gathering_init(gathering *g, const tables *t)
{
    assert(t->rows > 0);
    const size_t column = t->rows * sizeof *g->values;
    const size_t fits = GATHERED_BYTES / column, most = fits > 0 ? fits : 1;
    *g = (gathering){.t = t, .most = most < t->columns ? most : t->columns};
    g->values = malloc(g->most * column);
    return g->values != NULL ? SH_OK : sh_fail_memory(g->most * column, "columns of a table");
}

/* Column `index` of all rows, borrowed until the next call. Fast for ascending indices. */
static sh_status gather(double **values, gathering *g, size_t index)
{
    if (index < g->first || index >= g->first + g->count) {
        const size_t left = g->t->columns - index;
        g->count = 0;
        SH_TRY(
            sh_row_store_columns(g->t->store, index, left < g->most ? left : g->most, g->values));
        g->first = index;
        g->count = left < g->most ? left : g->most;
    }
    *values = g->values + (index - g->first) * g->t->rows;
    return SH_OK;
}

static void keep_training(const tables *t, double *values)
{
    for (uint32_t i = 0; i < t->base.info.count[SH_SPLIT_TRAIN]; i++)
        values[i] = values[t->order[SH_SPLIT_TRAIN][i]];
}

/* Counts missing values, and words that the model does not know. */
static sh_status fit_input(tables *t, uint32_t index, double *values, uint32_t *missing,
                           uint32_t *unknown)
{
    const bool words = t->plan.inputs[index].kind == SH_KIND_CATEGORY;
    *missing = *unknown = 0;
    for (uint32_t row = 0; row < t->rows; row++) {
        *missing += isnan(values[row]) ? 1 : 0;
        *unknown += words && values[row] < 0 ? 1 : 0;
    }
    if (t->trained != NULL)
        return SH_OK;
    keep_training(t, values);
    return sh_fail_in(sh_column_transform_fit(&t->plan.inputs[index], &t->renumbered[index], values,
                                              t->base.info.count[SH_SPLIT_TRAIN]),
                      "%s", t->path);
}

static sh_status fit_inputs(tables *t, gathering *g, json_t *notes)
{
    sh_names constant = {0}, filled = {0}, strange = {0};
    uint64_t width = 0;
    for (uint32_t i = 0; i < t->plan.input_count; i++) {
        const sh_column_transform *input = &t->plan.inputs[i];
        uint32_t missing, unknown;
        double *values;
        SH_TRY(gather(&values, g, i));
        SH_TRY(fit_input(t, i, values, &missing, &unknown));
        if (t->trained != NULL && unknown > 0)
            sh_names_add(&strange, "%s (%u)", input->name, unknown);
        if (input->outputs == 0)
            sh_names_add(&constant, "%s", input->name);
        else if (missing > 0)
            sh_names_add(&filled, "%s (%u)", input->name, missing);
        width += input->outputs;
    }
    if (constant.count > 0)
        SH_TRY(sh_notes_add(notes, "left out, since all training rows have the same: %s",
                            sh_names_end(&constant)));
    if (filled.count > 0)
        SH_TRY(sh_notes_add(notes, "missing values: %s", sh_names_end(&filled)));
    if (strange.count > 0)
        SH_TRY(sh_notes_add(notes, "words absent from training rows, treated as missing: %s",
                            sh_names_end(&strange)));
    if (width == 0)
        return sh_fail(SH_FORMAT, "%s: no column is left as an input", t->path);
    if (width > SH_CONTENTS_SIDE_MOST || t->plan.target_count > SH_CONTENTS_OUTPUTS_MOST)
        return sh_fail(
            SH_LIMIT,
            "%s: makes %" PRIu64
            " inputs and %u targets; the limit is %d of each; choose columns with --inputs",
            t->path, width, t->plan.target_count, SH_CONTENTS_SIDE_MOST);
    t->base.info.width = (size_t)width;
    return SH_OK;
}

static sh_status fit_targets(tables *t, gathering *g)
{
    const uint32_t targets = t->plan.target_count, count = t->base.info.count[SH_SPLIT_TRAIN];
    t->target_means = calloc((size_t)targets + 1, sizeof *t->target_means);
    t->target_deviations = calloc((size_t)targets + 1, sizeof *t->target_deviations);
    if (t->target_means == NULL || t->target_deviations == NULL)
        return sh_fail_memory(2 * targets * sizeof *t->target_means, "the targets of a table");
    for (uint32_t i = 0; i < targets && t->trained != NULL; i++) {
        const sh_target_scale scale = sh_description_scale(t->trained->about, i);
        t->target_means[i] = scale.mean;
        t->target_deviations[i] = scale.deviation;
    }
    if (t->plan.task != SH_TARGET_NUMBERS || t->trained != NULL)
        return SH_OK;
    for (uint32_t i = 0; i < targets; i++) {
        double *training;
        SH_TRY(gather(&training, g, t->plan.input_count + i));
        keep_training(t, training);
        if (!sh_column_transform_moments(&t->target_means[i], &t->target_deviations[i], training,
                                         count))
            return sh_fail(SH_FORMAT, "%s: the numbers of the target '%s' are too far apart",
                           t->path, t->plan.targets[i].name);
        if (t->target_deviations[i] == 0)
            return sh_fail(SH_FORMAT,
                           "%s: the target '%s' is the same in all training rows: there is nothing "
                           "to learn",
                           t->path, t->plan.targets[i].name);
    }
    return SH_OK;
}

/* --- the description --- */

static sh_status note_classes(const tables *t, gathering *g, json_t *notes)
{
    const sh_vocabulary *classes = &t->plan.targets[0].words;
    sh_names alone = {0};
    double *numbers;
    SH_TRY(gather(&numbers, g, t->plan.input_count));
    uint8_t *seen = calloc(classes->count, 1);
    if (seen == NULL)
        return sh_fail_memory(classes->count, "the classes of a table");
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < t->base.info.count[split]; i++)
            seen[(uint32_t)numbers[t->order[split][i]]] |= (uint8_t)(1u << split);
    for (uint32_t i = 0; i < classes->count; i++)
        if (seen[i] == 1 || seen[i] == 2)
            sh_names_add(&alone, "%s (%s)", classes->texts[i],
                         sh_split_name(seen[i] == 1 ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION));
    free(seen);
    return alone.count == 0
               ? SH_OK
               : sh_notes_add(notes, "classes in only one split: %s", sh_names_end(&alone));
}

static sh_status describe(tables *t)
{
    json_t *names = json_array(), *figures = json_array(), *inputs = json_array();
    const sh_vocabulary *classes = t->plan.target_count > 0 ? &t->plan.targets[0].words : NULL;
    bool failed = names == NULL || figures == NULL || inputs == NULL;
    for (uint32_t i = 0; classes != NULL && i < classes->count; i++)
        failed |= json_array_append_new(names, json_string(classes->texts[i])) != 0;
    for (uint32_t i = 0; i < t->plan.target_count; i++) {
        assert(t->plan.targets != NULL);
        const char *name = t->plan.targets[i].name;
        if (t->plan.task == SH_TARGET_LABELS)
            failed |= json_array_append_new(names, json_string(name)) != 0;
        failed |= json_array_append_new(figures, json_pack("{s:s, s:f, s:f}", "name", name, "mean",
                                                           t->target_means[i], "deviation",
                                                           t->target_deviations[i])) != 0;
    }
    for (uint32_t i = 0; i < t->plan.input_count; i++)
        if (t->plan.inputs[i].outputs > 0)
            failed |=
                json_array_append_new(inputs, sh_column_transform_json(&t->plan.inputs[i])) != 0;
    if (t->plan.task == SH_TARGET_CLASS || t->plan.task == SH_TARGET_LABELS)
        failed |= json_object_set(t->base.about, "classes", names) != 0;
    if (t->plan.task == SH_TARGET_CLASS)
        failed |=
            json_object_set_new(t->base.about, "target", json_string(t->plan.targets[0].name)) != 0;
    if (t->plan.task == SH_TARGET_NUMBERS)
        failed |= json_object_set(t->base.about, "targets", figures) != 0;
    failed |= json_object_set(t->base.about, "inputs", inputs) != 0;
    json_decref(names);
    json_decref(figures);
    json_decref(inputs);
    return failed ? sh_fail_memory(0, "the description of a table") : SH_OK;
}

static sh_status complete(tables *t, uint64_t all_rows, json_t *notes)
{
    sh_dataset_info *info = &t->base.info;
    gathering g;
    sh_status status;
    SH_TRY(gathering_init(&g, t));
    if (t->rows < all_rows)
        SH_TRY_DONE(
            sh_notes_add(notes, "rows without a target, left out: %" PRIu64, all_rows - t->rows));
    SH_TRY_DONE(fit_inputs(t, &g, notes));
    SH_TRY_DONE(fit_targets(t, &g));
    if (t->plan.task == SH_TARGET_CLASS && t->trained == NULL)
        SH_TRY_DONE(note_classes(t, &g, notes));
    info->name = "table";
    info->channels = info->height = 1;
    info->element = SH_ELEMENT_FLOAT;
    info->target = t->plan.task;
    info->outputs = t->plan.task == SH_TARGET_CLASS    ? t->plan.targets[0].words.count
                    : t->plan.task == SH_TARGET_SAMPLE ? (uint32_t)info->width
                                                       : t->plan.target_count;
    status = describe(t);
done:
    free(g.values);
    return status;
}

/* --- looking into the data --- */

/* Must cover every option that affects a sample. */
static sh_status make_digest(char hex[SH_DIGEST_TEXT], const char *content,
                             const sh_read_options *options)
{
    const char *texts[] = {REVISION, content, options->task, options->target, options->inputs};
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = texts[i] == NULL ? "" : texts[i];
        sh_digest_add(digest, text, strlen(text) + 1);
    }
    char numbers[64];
    uint32_t part;
    memcpy(&part, &options->val_split, sizeof part);
    snprintf(numbers, sizeof numbers, "%08x %u", part, options->skip_lines);
    sh_digest_add(digest, numbers, strlen(numbers));
    return sh_digest_finish(digest, hex);
}

static sh_status look_through(tables *t, sh_csv *csv, sh_survey *survey,
                              const sh_read_options *options)
{
    char before[SH_DIGEST_TEXT], after[SH_DIGEST_TEXT];
    json_t *notes = json_array();
    t->base.about = json_pack("{s:o}", "notes", notes);
    if (t->base.about == NULL)
        return sh_fail_memory(0, "the description of a table");
    SH_TRY(sh_csv_digest(csv, before));
    SH_TRY(make_digest(t->base.digest, before, options));
    SH_TRY(sh_survey_make(survey, csv, options->target));
    SH_TRY(survey->header
               ? sh_notes_add(notes, "line %" PRIu64 " is the header", survey->first_line)
               : sh_notes_add(notes, "there is no header: columns are named by number, from 1"));
    t->trained = options->trained;
    SH_TRY(sh_fail_in(t->trained != NULL
                          ? sh_table_plan_as_trained(&t->plan, survey, notes, options)
                          : sh_table_plan_make(&t->plan, survey, notes, options),
                      "%s", t->path));
    SH_TRY(load(t, csv, survey));
    SH_TRY(divide(t, options->val_split > 0 ? (double)options->val_split : VAL_SPLIT));
    SH_TRY(complete(t, survey->rows, notes));
    SH_TRY(sh_csv_digest(csv, after));
    if (strcmp(before, after) != 0)
        return sh_fail(SH_CORRUPT, "%s: changed while it was read; try again", t->path);
    return SH_OK;
}

static sh_status tables_look(sh_source **source, const sh_format *format, const char *argument,
                             const sh_read_options *options)
{
    (void)format;
    sh_survey survey = {0};
    sh_csv *csv = NULL;
    sh_status status;
    tables *t = calloc(1, sizeof *t);
    if (t == NULL)
        return sh_fail_memory(sizeof *t, "a table");
    t->base.ops = &tables_ops;
    t->base.place = t->path = strdup(argument);
    if (t->path == NULL) {
        status = sh_fail_memory(strlen(argument) + 1, "the name of a table");
        goto done;
    }
    SH_TRY_DONE(sh_csv_open(&csv, argument, options->skip_lines));
    SH_TRY_DONE(look_through(t, csv, &survey, options));
    *source = &t->base;
    t = NULL;
done:
    sh_survey_release(&survey);
    sh_csv_close(csv);
    sh_source_close(t == NULL ? NULL : &t->base);
    return status;
}

static bool tables_recognises(const sh_format *format, const char *path)
{
    static const char *const endings[] = {".csv", ".tsv", ".csv.gz"};
    struct stat about;
    const size_t length = strlen(path);
    (void)format;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

const sh_format sh_tables_format = {
    .name = "table",
    .usage = "table:FILE.csv",
    .summary = "rows of numbers and words, plain or .gz",
    .recognises = tables_recognises,
    .open = sh_packed_dataset,
    .as_trained = true,
    .file_reader = sh_table_reader,
    .look = tables_look,
};
