/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/column_transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

sh_status sh_column_transform_init(sh_column_transform *transform, const char *name,
                                   uint32_t column, sh_kind kind, sh_vocabulary *words)
{
    char *copy = strdup(name);
    if (copy == NULL)
        return sh_fail_memory(strlen(name) + 1, "the name of a column");
    *transform =
        (sh_column_transform){.name = copy, .column = column, .kind = kind, .words = *words};
    *words = (sh_vocabulary){0};
    return SH_OK;
}

void sh_column_transform_release(sh_column_transform *transform)
{
    free(transform->name);
    sh_vocabulary_release(&transform->words);
    *transform = (sh_column_transform){0};
}

/* --- values --- */

static sh_status find_word(const sh_column_transform *transform, double *value, const char *text)
{
    char name[SH_CELL_NAME_BYTES];
    uint32_t number;
    if (sh_vocabulary_find(&transform->words, &number, sh_cell_name(name, text)))
        *value = number;
    else if (transform->kind == SH_KIND_CATEGORY)
        *value = -1;
    else
        return sh_fail(SH_FORMAT, "'%s' is not in the order of the column '%s'", name,
                       transform->name);
    return SH_OK;
}

sh_status sh_column_transform_value(const sh_column_transform *transform, double *value,
                                    const char *text)
{
    char name[SH_CELL_NAME_BYTES];
    double read;
    const sh_cell cell = sh_cell_read(&read, text);
    const sh_cell needed = transform->kind == SH_KIND_DATE ? SH_CELL_DATE : SH_CELL_NUMBER;
    if (cell == SH_CELL_MISSING) {
        *value = NAN;
        return SH_OK;
    }
    if (transform->kind == SH_KIND_CATEGORY || transform->kind == SH_KIND_ORDINAL)
        return find_word(transform, value, text);
    sh_cell_name(name, text);
    if (cell == SH_CELL_INFINITE)
        return sh_fail(SH_FORMAT, "'%s' in the column '%s' is not a finite number", name,
                       transform->name);
    if (cell != needed)
        return sh_fail(SH_FORMAT, "'%s' in the column '%s' is not a %s%s", name, transform->name,
                       sh_kind_name(transform->kind),
                       needed == SH_CELL_DATE ? " such as 2024-02-29 or 2024-02-29T18:30" : "");
    *value = read;
    return SH_OK;
}

/* --- fitting --- */

bool sh_column_transform_moments(double *mean, double *deviation, const double *values,
                                 size_t count)
{
    double sum = 0, squares = 0;
    size_t present = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) {
            sum += values[i];
            present++;
        }
    if (present == 0)
        return false;
    *mean = sum / (double)present;
    bool same = true;
    double first = NAN;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i])) {
            const double off = values[i] - *mean;
            squares += off * off;
            same &= isnan(first) || values[i] == first;
            first = isnan(first) ? values[i] : first;
        }
    *deviation = same ? 0 : sqrt(squares / (double)present); /* exact despite rounding */
    if (same)
        *mean = first;
    return isfinite(*mean) && isfinite(*deviation) && (same || *deviation > 0);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static sh_status find_median(double *median, const double *values, size_t count, size_t present)
{
    size_t used = 0;
    double *sorted = malloc(present * sizeof *sorted);
    if (sorted == NULL)
        return sh_fail_memory(present * sizeof *sorted, "the median of a column");
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            sorted[used++] = values[i];
    qsort(sorted, used, sizeof *sorted, by_value);
    *median = used % 2 != 0 ? sorted[used / 2] : sorted[used / 2 - 1] / 2 + sorted[used / 2] / 2;
    free(sorted);
    return SH_OK;
}

static sh_status fit_number(sh_column_transform *transform, const double *values, size_t count)
{
    size_t present = 0;
    for (size_t i = 0; i < count; i++)
        present += isnan(values[i]) ? 0 : 1;
    transform->indicator = false;
    transform->outputs = 0;
    if (present == 0) /* no training value: validation values cannot be used */
        return SH_OK;
    if (!sh_column_transform_moments(&transform->mean, &transform->deviation, values, count))
        return sh_fail(
            SH_FORMAT,
            "the numbers of the column '%s' are too far apart; leave it out with --inputs -%s",
            transform->name, transform->name);
    SH_TRY(find_median(&transform->median, values, count, present));
    transform->indicator = present < count;
    transform->outputs = (transform->deviation > 0) + (uint32_t)transform->indicator;
    return SH_OK;
}

static sh_status fit_category(sh_column_transform *transform, int32_t **renumbered,
                              const double *values, size_t count)
{
    sh_vocabulary kept = {0};
    sh_status status = SH_OK;
    bool missing = false;
    const uint32_t words = transform->words.count;
    int32_t *numbers = malloc((words + (size_t)1) * sizeof *numbers);
    if (numbers == NULL)
        return sh_fail_memory(words * sizeof *numbers, "the categories of a column");
    for (uint32_t i = 0; i < words; i++)
        numbers[i] = -1;
    for (size_t i = 0; i < count; i++) {
        missing |= isnan(values[i]);
        if (values[i] >= 0)
            numbers[(uint32_t)values[i]] = 0;
    }
    for (uint32_t i = 0; i < words; i++) {
        uint32_t number;
        if (numbers[i] < 0)
            continue;
        SH_TRY_DONE(sh_vocabulary_add(&kept, &number, transform->words.texts[i]));
        numbers[i] = (int32_t)number;
    }
    sh_vocabulary_release(&transform->words);
    transform->words = kept;
    transform->outputs = kept.count == 1 && !missing ? 0 : kept.count;
    kept = (sh_vocabulary){0};
    *renumbered = numbers;
    numbers = NULL;
done:
    sh_vocabulary_release(&kept);
    free(numbers);
    return status;
}

sh_status sh_column_transform_fit(sh_column_transform *transform, int32_t **renumbered,
                                  const double *values, size_t count)
{
    if (transform->kind == SH_KIND_CATEGORY)
        return fit_category(transform, renumbered, values, count);
    SH_TRY(fit_number(transform, values, count));
    *renumbered = NULL;
    return SH_OK;
}

/* --- inputs --- */

bool sh_column_transform_apply(const sh_column_transform *transform, float *inputs, double value)
{
    if (transform->kind == SH_KIND_CATEGORY) {
        for (uint32_t i = 0; i < transform->outputs; i++)
            inputs[i] = value == i ? 1.0f : 0.0f;
        return true;
    }
    bool finite = true;
    if (transform->outputs > 0 && transform->deviation > 0) {
        const double known = isnan(value) ? transform->median : value;
        *inputs = (float)((known - transform->mean) / transform->deviation);
        finite = isfinite(*inputs++);
    }
    if (transform->indicator)
        *inputs = isnan(value) ? 1.0f : 0.0f;
    return finite;
}

static json_t *words_json(const sh_vocabulary *words)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list != NULL && i < words->count; i++)
        if (json_array_append_new(list, json_string(words->texts[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

json_t *sh_column_transform_json(const sh_column_transform *transform)
{
    json_t *object =
        json_pack("{s:s, s:I, s:s}", "name", transform->name, "column",
                  (json_int_t)transform->column + 1, "kind", sh_kind_name(transform->kind));
    int failed = object == NULL;
    if (transform->kind == SH_KIND_CATEGORY || transform->kind == SH_KIND_ORDINAL)
        failed |=
            json_object_set_new(object, transform->kind == SH_KIND_ORDINAL ? "order" : "categories",
                                words_json(&transform->words));
    if (transform->kind != SH_KIND_CATEGORY) {
        failed |= json_object_set_new(object, "mean", json_real(transform->mean));
        failed |= json_object_set_new(object, "deviation", json_real(transform->deviation));
        failed |= json_object_set_new(object, "median", json_real(transform->median));
        failed |= json_object_set_new(object, "missing", json_boolean(transform->indicator));
    }
    if (failed == 0)
        return object;
    json_decref(object);
    return NULL;
}

static sh_status parse_words(sh_vocabulary *words, const json_t *list)
{
    const size_t count = json_array_size(list);
    if (count == 0 || count > SH_COLUMN_CLASSES)
        return sh_fail(SH_FORMAT, "a column has no list of words");
    for (size_t i = 0; i < count; i++) {
        uint32_t number;
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL)
            return sh_fail(SH_FORMAT, "a word of a column is not text");
        SH_TRY(sh_vocabulary_add(words, &number, text));
        if (number != i)
            return sh_fail(SH_FORMAT, "the word '%s' of a column is given twice", text);
    }
    return SH_OK;
}

static bool parse_figure(double *figure, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    *figure = json_number_value(value);
    return json_is_number(value) && isfinite(*figure);
}

static sh_status parse_numbers(sh_column_transform *transform, const json_t *object)
{
    const json_t *missing = json_object_get(object, "missing");
    if (!parse_figure(&transform->mean, object, "mean") ||
        !parse_figure(&transform->deviation, object, "deviation") ||
        !parse_figure(&transform->median, object, "median") || transform->deviation < 0 ||
        !json_is_boolean(missing))
        return sh_fail(SH_FORMAT, "the column '%s' lacks its figures", transform->name);
    transform->indicator = json_is_true(missing);
    transform->outputs = (transform->deviation > 0) + (uint32_t)transform->indicator;
    return SH_OK;
}

sh_status sh_column_transform_parse(sh_column_transform *transform, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const json_int_t column = json_integer_value(json_object_get(object, "column"));
    sh_kind found = SH_KIND_NUMBER;
    while (kind != NULL && found <= SH_KIND_ORDINAL && strcmp(kind, sh_kind_name(found)) != 0)
        found++;
    if (name == NULL || kind == NULL || found > SH_KIND_ORDINAL || column < 1 ||
        column > SH_CSV_FIELDS_MOST)
        return sh_fail(SH_FORMAT, "a column lacks its name, number or kind");
    sh_column_transform fresh = {0};
    sh_vocabulary none = {0};
    sh_status status;
    SH_TRY_DONE(sh_column_transform_init(&fresh, name, (uint32_t)column - 1, found, &none));
    if (found == SH_KIND_ORDINAL)
        SH_TRY_DONE(parse_words(&fresh.words, json_object_get(object, "order")));
    if (found == SH_KIND_CATEGORY) {
        SH_TRY_DONE(parse_words(&fresh.words, json_object_get(object, "categories")));
        fresh.outputs = fresh.words.count;
    } else {
        SH_TRY_DONE(parse_numbers(&fresh, object));
    }
    *transform = fresh;
    fresh = (sh_column_transform){0};
done:
    sh_column_transform_release(&fresh);
    return status;
}
