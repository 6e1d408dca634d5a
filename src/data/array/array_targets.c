/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/array_targets.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/contents.h"

#define BLOCK 1024        /* numbers per read */
#define WHOLE_MOST 0x1p53 /* up to here a double represents every whole number */
#define NAME_BYTES 32

typedef struct survey {
    bool whole;     /* all are whole numbers */
    bool binary;    /* all are 0 or 1 */
    bool one_hot;   /* each row has exactly one 1; valid only if `binary` */
    bool many;      /* more distinct values than classes allowed */
    double *values; /* distinct, ascending */
    size_t count, capacity;
} survey;

static sh_status add_value(survey *s, double value)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < s->count && s->values[low] == value)
        return SH_OK;
    if (s->count == SH_CONTENTS_OUTPUTS_MOST) {
        s->many = true;
        return SH_OK;
    }
    SH_TRY(sh_array_grow((void **)&s->values, &s->capacity, s->count + 1, sizeof *s->values));
    memmove(s->values + low + 1, s->values + low, (s->count - low) * sizeof *s->values);
    s->values[low] = value;
    s->count++;
    return SH_OK;
}

static sh_status look_through(survey *s, const sh_array *y, uint32_t columns)
{
    double numbers[BLOCK];
    uint32_t column = 0, ones = 0;
    for (uint64_t done = 0; done < y->header.count;) {
        const uint64_t left = y->header.count - done;
        const size_t here = left < BLOCK ? (size_t)left : BLOCK;
        SH_TRY(sh_array_read(y, done, numbers, here));
        for (size_t i = 0; i < here; i++) {
            const double value = numbers[i];
            if (!isfinite(value))
                return sh_fail(SH_NUMERIC,
                               "%s: the target of sample %" PRIu64 " is %s; remove the sample or "
                               "give it a number",
                               y->name, (done + i) / columns, isnan(value) ? "NaN" : "infinite");
            s->whole = s->whole && value == floor(value) && fabs(value) <= WHOLE_MOST;
            s->binary = s->binary && (value == 0 || value == 1);
            if (s->whole && columns == 1 && !s->many)
                SH_TRY(add_value(s, value));
            ones += value == 1;
            if (++column == columns) {
                s->one_hot = s->one_hot && ones == 1;
                column = ones = 0;
            }
        }
        done += here;
    }
    return SH_OK;
}

static sh_status choose_kind(sh_array_targets *t, const survey *s, const sh_array *y,
                             const char *task)
{
    const bool wide = t->columns > 1;
    sh_target kind = SH_TARGET_NUMBERS;
    if (task[0] != '\0') {
        if (!sh_target_find(&kind, task))
            return sh_fail(SH_INVALID, "--task %s: no such task", task);
    } else if (wide) {
        kind = !s->binary ? SH_TARGET_NUMBERS : s->one_hot ? SH_TARGET_CLASS : SH_TARGET_LABELS;
    } else if (y->header.kind != SH_NPY_FLOAT) {
        kind = SH_TARGET_CLASS;
    }
    if (kind == SH_TARGET_LABELS && !s->binary)
        return sh_fail(SH_INVALID,
                       "%s: --task multi-label needs 0 and 1, but it holds other numbers", y->name);
    if (kind == SH_TARGET_CLASS && wide && !(s->binary && s->one_hot))
        return sh_fail(SH_INVALID,
                       "%s: has %u columns without exactly one 1 in each row; classes are whole "
                       "numbers in one dimension, or one-hot rows",
                       y->name, t->columns);
    if (kind == SH_TARGET_CLASS && !wide && !s->whole)
        return sh_fail(
            SH_INVALID,
            "%s: holds numbers that are not whole, which cannot be classes; use --task regression",
            y->name);
    if (kind == SH_TARGET_CLASS && s->many)
        return sh_fail(SH_LIMIT,
                       "%s: holds more than %d different numbers, too many for classes; use "
                       "--task regression",
                       y->name, SH_CONTENTS_OUTPUTS_MOST);
    t->kind = kind;
    return SH_OK;
}

static sh_status set_classes(sh_array_targets *t, survey *s, const sh_array *y)
{
    t->one_hot = t->columns > 1;
    t->outputs = t->columns;
    if (!t->one_hot && s->count > 0) {
        const double most = s->values[s->count - 1];
        t->shifted =
            s->values[0] != 0 || most >= 2 * (double)s->count || most >= SH_CONTENTS_OUTPUTS_MOST;
        t->outputs = t->shifted ? (uint32_t)s->count : (uint32_t)most + 1;
        t->value_count = (uint32_t)s->count;
        t->values = s->values;
        s->values = NULL;
    }
    if (t->one_hot || t->value_count > 1)
        return SH_OK;
    return sh_fail(SH_INVALID, "%s: all samples are of one class, %.0f; at least two are needed",
                   y->name, t->values == NULL ? 0 : t->values[0]);
}

static sh_status check_shape(uint32_t *columns, const sh_array *y)
{
    const sh_npy_header *h = &y->header;
    if (h->rank < 1 || h->rank > 2)
        return sh_fail(SH_INVALID, "%s: has %u dimensions; targets are [N] or [N][K]", y->name,
                       h->rank);
    if (h->count == 0)
        return sh_fail(SH_INVALID, "%s: is empty", y->name);
    const uint64_t wide = h->rank == 2 ? h->shape[1] : 1;
    if (wide > SH_CONTENTS_OUTPUTS_MOST)
        return sh_fail(SH_LIMIT, "%s: has %" PRIu64 " columns; at most %d targets can be learnt",
                       y->name, wide, SH_CONTENTS_OUTPUTS_MOST);
    *columns = (uint32_t)wide;
    return SH_OK;
}

sh_status sh_array_targets_find(sh_array_targets *targets, const sh_array *const *y, size_t count,
                                const char *task)
{
    survey s = {.whole = true, .binary = true, .one_hot = true};
    sh_array_targets fresh = {0};
    sh_status status = SH_OK;
    SH_TRY(check_shape(&fresh.columns, y[0]));
    for (size_t i = 0; i < count; i++) {
        uint32_t columns = 0;
        SH_TRY_DONE(check_shape(&columns, y[i]));
        if (columns != fresh.columns)
            SH_TRY_DONE(sh_fail(SH_MISMATCH, "%s has %u columns, but %s has %u", y[0]->name,
                                fresh.columns, y[i]->name, columns));
        SH_TRY_DONE(look_through(&s, y[i], columns));
    }
    SH_TRY_DONE(choose_kind(&fresh, &s, y[0], task));
    fresh.outputs = fresh.columns;
    if (fresh.kind == SH_TARGET_CLASS)
        SH_TRY_DONE(set_classes(&fresh, &s, y[0]));
    *targets = fresh;
done:
    free(s.values);
    if (status != SH_OK)
        sh_array_targets_release(&fresh);
    return status;
}

/* Sums each column of the rows, or its squared distances from the mean unless that is NULL. */
static sh_status add_up(const sh_array_targets *t, const sh_array *y, const uint32_t *rows,
                        uint32_t count, double *room, double *sums, const double *mean)
{
    memset(sums, 0, t->columns * sizeof *sums);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t row = rows == NULL ? i : rows[i];
        SH_TRY(sh_array_read(y, row * t->columns, room, t->columns));
        for (uint32_t k = 0; k < t->columns; k++) {
            const double from = mean == NULL ? room[k] : room[k] - mean[k];
            sums[k] += mean == NULL ? from : from * from;
        }
    }
    return SH_OK;
}

sh_status sh_array_targets_scale(sh_array_targets *targets, const sh_array *y, const uint32_t *rows,
                                 uint32_t count)
{
    if (targets->kind != SH_TARGET_NUMBERS || count == 0)
        return SH_OK;
    const size_t bytes = targets->columns * sizeof(double);
    double *room = malloc(bytes);
    targets->mean = malloc(bytes);
    targets->deviation = malloc(bytes);
    sh_status status = SH_OK;
    if (room == NULL || targets->mean == NULL || targets->deviation == NULL)
        SH_TRY_DONE(sh_fail_memory(3 * bytes, "figures of the targets"));
    SH_TRY_DONE(add_up(targets, y, rows, count, room, targets->mean, NULL));
    for (uint32_t k = 0; k < targets->columns; k++)
        targets->mean[k] /= count;
    SH_TRY_DONE(add_up(targets, y, rows, count, room, targets->deviation, targets->mean));
    for (uint32_t k = 0; k < targets->columns; k++) {
        const double variance = targets->deviation[k] / count;
        if (!isfinite(variance))
            SH_TRY_DONE(sh_fail(SH_NUMERIC, "%s: column %u holds numbers too large to average",
                                y->name, k));
        targets->deviation[k] = variance > 0 ? sqrt(variance) : 1;
    }
done:
    free(room);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static sh_status read_class(const sh_array_targets *t, const sh_array *y, uint32_t row,
                            int32_t *class)
{
    double numbers[BLOCK];
    if (!t->one_hot) {
        SH_TRY(sh_array_read(y, row, numbers, 1));
        const double *found = bsearch(numbers, t->values, t->value_count, sizeof *numbers, compare);
        if (found == NULL)
            return sh_fail(SH_CORRUPT, "%s: sample %u has changed", y->name, row);
        *class = (int32_t)(t->shifted ? (double)(found - t->values) : *found);
        return SH_OK;
    }
    for (uint32_t done = 0; done < t->columns; done += BLOCK) {
        const uint32_t left = t->columns - done, here = left < BLOCK ? left : BLOCK;
        SH_TRY(sh_array_read(y, (uint64_t)row * t->columns + done, numbers, here));
        for (uint32_t i = 0; i < here; i++)
            if (numbers[i] != 0) {
                *class = (int32_t)(done + i);
                return SH_OK;
            }
    }
    return sh_fail(SH_CORRUPT, "%s: sample %u has changed", y->name, row);
}

sh_status sh_array_targets_read(const sh_array_targets *targets, const sh_array *y, uint32_t row,
                                void *target)
{
    const sh_array_targets *t = targets;
    if (t->kind == SH_TARGET_SAMPLE)
        return SH_OK;
    if (t->kind == SH_TARGET_CLASS)
        return read_class(t, y, row, target);
    double numbers[BLOCK];
    float *out = target;
    for (uint32_t done = 0; done < t->columns; done += BLOCK) {
        const uint32_t left = t->columns - done, here = left < BLOCK ? left : BLOCK;
        SH_TRY(sh_array_read(y, (uint64_t)row * t->columns + done, numbers, here));
        for (uint32_t i = 0; i < here; i++) {
            const uint32_t k = done + i;
            out[k] =
                (float)(t->kind == SH_TARGET_LABELS ? numbers[i]
                                                    : (numbers[i] - t->mean[k]) / t->deviation[k]);
            if (!isfinite(out[k]))
                return sh_fail(SH_CORRUPT, "%s: the target of sample %u is too far from all others",
                               y->name, row);
        }
    }
    return SH_OK;
}

static json_t *describe_output(const sh_array_targets *t, uint32_t k)
{
    char name[NAME_BYTES];
    if (t->kind == SH_TARGET_CLASS && t->shifted)
        snprintf(name, sizeof name, "%.0f", t->values[k]);
    else if (t->kind == SH_TARGET_NUMBERS && t->columns == 1)
        snprintf(name, sizeof name, "y");
    else
        snprintf(name, sizeof name, t->kind == SH_TARGET_NUMBERS ? "y[%u]" : "%u", k);
    return t->kind == SH_TARGET_NUMBERS ? json_pack("{s:s, s:f, s:f}", "name", name, "mean",
                                                    t->mean[k], "deviation", t->deviation[k])
                                        : json_string(name);
}

sh_status sh_array_targets_describe(const sh_array_targets *targets, json_t *about)
{
    if (targets->kind == SH_TARGET_SAMPLE)
        return SH_OK;
    json_t *list = json_array();
    int failed = list == NULL;
    for (uint32_t k = 0; k < targets->outputs && failed == 0; k++)
        failed = json_array_append_new(list, describe_output(targets, k));
    const char *key = targets->kind == SH_TARGET_NUMBERS ? "targets" : "classes";
    if (failed != 0 || json_object_set(about, key, list) != 0)
        failed = 1;
    json_decref(list);
    return failed == 0 ? SH_OK : sh_fail_memory(0, "the names of the targets");
}

void sh_array_targets_release(sh_array_targets *targets)
{
    free(targets->values);
    free(targets->mean);
    free(targets->deviation);
    *targets = (sh_array_targets){0};
}
