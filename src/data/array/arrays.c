/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats `npy:DIR` and `npy:FILE.npz`: samples and targets in arrays written by NumPy.
 *
 *     x, y                                       the split is made by sample numbers
 *     x_train, y_train, x_val, y_val             "valid" or "test" may replace "val"
 *
 * Each is NAME.npy in the folder or a member of the archive. x is [N][...]. The table shows the
 * sample [channels][height][width] and which of its numbers share a mean and a deviation (a
 * *figure*):
 *
 *     [N][F]         [1][1][F]    each feature
 *     [N][H][W]      [1][H][W]    all
 *     [N][C][H][W]   [C][H][W]    each channel
 *     [N][H][W][C]   [C][H][W]    each channel; if C is 1, 3 or 4 and H is not
 *
 * The layout is [outer][figures][inner] in the file and [figures][outer][inner] in the sample.
 * Bytes stay bytes if there are at most four channels. All others become (number - mean) /
 * deviation, computed from the training samples. A sample with a number that is not finite is
 * damaged, and does not count for mean and deviation.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "data/array/array_file.h"
#include "data/array/array_sample.h"
#include "data/array/array_targets.h"
#include "data/contents.h"
#include "data/file_reader.h"
#include "data/packed.h"
#include "data/split.h"

#define BLOCK 1024      /* numbers, unless a sample has more */
#define VERSION "npy 1" /* in the digest: version of the conversion */
#define NUMBER_BYTES 12 /* a number as text, or an array's name */
#define NAMED_MOST 20   /* classes in one note */

typedef struct arrays_source {
    sh_source base;
    sh_array x[SH_SPLITS], y[SH_SPLITS]; /* [SH_SPLIT_VALIDATION] only if `splits` */
    bool splits;                         /* validation arrays exist */
    bool has_targets;
    uint32_t *rows[SH_SPLITS]; /* unless `splits`: rows in the arrays, ascending */
    size_t outer, figures, inner;
    double *mean, *deviation; /* [figures]; NULL for bytes */
    sh_array_targets targets;
} arrays_source;

/* `*array` is set to the split whose arrays hold the row. */
static uint32_t place_of(const arrays_source *s, sh_split split, uint32_t index, sh_split *array)
{
    *array = s->splits ? split : SH_SPLIT_TRAIN;
    return s->splits ? index : s->rows[split][index];
}

static size_t elements_of(const arrays_source *s)
{
    return s->outer * s->figures * s->inner;
}

/* --- the files --- */

/* Sets *there to false, without an error, if it does not exist. */
static sh_status open_if_there(sh_array *array, bool *there, const char *place, const char *name)
{
    const sh_status status = sh_array_open(array, place, name);
    *there = status == SH_OK;
    return status == SH_NOT_FOUND ? SH_OK : status;
}

/* Of `endings`, takes the first for which x exists. */
static sh_status open_pair(arrays_source *s, sh_split split, const char *const *endings,
                           bool *there)
{
    char name[NUMBER_BYTES];
    *there = false;
    for (; *endings != NULL && !*there; endings++) {
        for (const char *x = "xX"; *x != '\0' && !*there; x++) {
            snprintf(name, sizeof name, "%c%s", *x, *endings);
            SH_TRY(open_if_there(&s->x[split], there, s->base.place, name));
        }
        if (!*there)
            continue;
        bool has_targets;
        snprintf(name, sizeof name, "y%s", *endings);
        SH_TRY(open_if_there(&s->y[split], &has_targets, s->base.place, name));
        if (split == SH_SPLIT_VALIDATION && has_targets != s->has_targets)
            return sh_fail(SH_NOT_FOUND, "%s: has %s, but not the other split's; save both",
                           s->base.place, has_targets ? s->y[split].name : s->y[0].name);
        s->has_targets = has_targets;
    }
    return SH_OK;
}

static sh_status open_arrays(arrays_source *s, const char *task)
{
    static const char *const first[] = {"_train", "", NULL};
    static const char *const second[] = {"_val", "_valid", "_test", NULL};
    bool there;
    struct stat about;
    if (stat(s->base.place, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot open it", s->base.place);
    SH_TRY(open_pair(s, SH_SPLIT_TRAIN, first, &there));
    if (!there)
        return sh_fail(SH_NOT_FOUND,
                       "%s: has neither x.npy nor x_train.npy; save samples as x and targets as y",
                       s->base.place);
    SH_TRY(open_pair(s, SH_SPLIT_VALIDATION, second, &s->splits));
    const char *reconstruction = sh_target_name(SH_TARGET_SAMPLE);
    if (s->has_targets || strcmp(task, reconstruction) == 0)
        return SH_OK;
    return sh_fail(SH_NOT_FOUND,
                   "%s: has %s without targets; save them as y, or learn to reconstruct the "
                   "samples with --task %s",
                   s->base.place, s->x[0].name, reconstruction);
}

/* --- the shape --- */

static sh_status check_x(const sh_array *x)
{
    const sh_npy_header *h = &x->header;
    if (h->rank < 2 || h->rank > 4)
        return sh_fail(SH_INVALID,
                       "%s: has %u dimensions; samples are [N][features], [N][height][width] or "
                       "[N][channels][height][width]",
                       x->name, h->rank);
    if (h->count == 0)
        return sh_fail(SH_INVALID, "%s: is empty", x->name);
    if (h->shape[0] > UINT32_MAX / 2)
        return sh_fail(SH_LIMIT, "%s: has %" PRIu64 " samples; at most %u can be read", x->name,
                       h->shape[0], UINT32_MAX / 2);
    for (uint32_t i = 1; i < h->rank; i++)
        if (h->shape[i] > SH_CONTENTS_SIDE_MOST)
            return sh_fail(SH_LIMIT, "%s: dimension %u is %" PRIu64 "; at most %d can be read",
                           x->name, i, h->shape[i], SH_CONTENTS_SIDE_MOST);
    /* No overflow: at most three dimensions of at most 2^16 each. */
    if (h->count / h->shape[0] > SH_CONTENTS_SAMPLE_MOST / sizeof(float))
        return sh_fail(SH_LIMIT, "%s: a sample has %" PRIu64 " numbers; at most %zu can be read",
                       x->name, h->count / h->shape[0], SH_CONTENTS_SAMPLE_MOST / sizeof(float));
    return SH_OK;
}

static bool is_colours(uint64_t count)
{
    return count == 1 || count == 3 || count == 4;
}

static sh_status note(const arrays_source *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Cleans the text, since file names in it need not be UTF-8. */
static sh_status note(const arrays_source *s, const char *format, ...)
{
    char text[SH_MESSAGE_BYTES], clean[SH_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_t *notes = json_object_get(s->base.about, "notes");
    if (json_array_append_new(notes, json_string(sh_utf8_clean(clean, sizeof clean, text))) != 0)
        return sh_fail_memory(0, "notes of the data");
    return SH_OK;
}

/* Mean, deviation and targets are set later. */
static sh_status set_shape(arrays_source *s)
{
    const sh_npy_header *h = &s->x[0].header;
    sh_dataset_info *info = &s->base.info;
    const bool last = h->rank == 4 && is_colours(h->shape[3]) && !is_colours(h->shape[1]);
    const uint64_t *shape = h->shape;
    info->channels = h->rank < 4 ? 1 : (size_t)shape[last ? 3 : 1];
    info->height = h->rank < 3 ? 1 : (size_t)shape[h->rank == 3 || last ? 1 : 2];
    info->width = (size_t)shape[h->rank - (last ? 2 : 1)];
    const size_t plane = info->height * info->width;
    s->outer = last ? plane : 1;
    s->figures = h->rank == 2 ? info->width : info->channels;
    s->inner = h->rank == 2 || last ? 1 : plane;
    info->element = h->kind == SH_NPY_UNSIGNED && h->item_bytes == 1 &&
                            info->channels <= SH_DATASET_CHANNELS_MOST
                        ? SH_ELEMENT_BYTE
                        : SH_ELEMENT_FLOAT;
    if (h->rank == 4)
        SH_TRY(note(s, "%s is taken as [N]%s: %zu channels of %zu x %zu", s->x[0].name,
                    last ? "[height][width][channels]" : "[channels][height][width]",
                    info->channels, info->height, info->width));
    return SH_OK;
}

static sh_status check_arrays(arrays_source *s)
{
    for (int i = 0; i < (s->splits ? 2 : 1); i++) {
        const sh_array *x = &s->x[i], *y = &s->y[i];
        SH_TRY(check_x(x));
        if (s->has_targets && (y->header.rank == 0 || y->header.shape[0] != x->header.shape[0]))
            return sh_fail(SH_MISMATCH,
                           "%s has %" PRIu64 " samples, but %s %" PRIu64
                           " targets; they do not belong together",
                           x->name, x->header.shape[0], y->name,
                           y->header.rank == 0 ? 1 : y->header.shape[0]);
    }
    if (!s->splits)
        return SH_OK;
    const sh_npy_header *a = &s->x[0].header, *b = &s->x[1].header;
    bool equal = a->rank == b->rank && a->kind == b->kind && a->item_bytes == b->item_bytes;
    for (uint32_t i = 1; i < a->rank && equal; i++)
        equal = a->shape[i] == b->shape[i];
    return equal ? SH_OK
                 : sh_fail(SH_MISMATCH,
                           "%s and %s hold samples of different shapes or types; they do not "
                           "belong together",
                           s->x[0].name, s->x[1].name);
}

/* --- the split --- */

static sh_status split_rows(arrays_source *s, double part)
{
    const uint32_t count = (uint32_t)s->x[0].header.shape[0];
    const sh_array_targets *t = &s->targets;
    uint32_t in[SH_SPLITS] = {0};
    sh_status status = SH_OK;
    sh_split_item *items = calloc(count, sizeof *items);
    char(*names)[NUMBER_BYTES] = calloc(count, sizeof *names);
    for (int i = 0; i < SH_SPLITS; i++)
        s->rows[i] = calloc(count, sizeof *s->rows[i]);
    if (items == NULL || names == NULL || s->rows[0] == NULL || s->rows[1] == NULL)
        SH_TRY_DONE(sh_fail_memory(count * (sizeof *items + sizeof *names), "the split"));
    for (uint32_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        items[i].name = names[i];
        if (t->kind == SH_TARGET_CLASS)
            SH_TRY_DONE(sh_array_targets_read(t, &s->y[0], i, &items[i].class));
    }
    SH_TRY_DONE(
        sh_fail_in(sh_split_assign(items, count, t->kind == SH_TARGET_CLASS ? t->outputs : 1, part),
                   "%s", s->x[0].name));
    for (uint32_t i = 0; i < count; i++)
        s->rows[items[i].split][in[items[i].split]++] = i;
    for (int i = 0; i < SH_SPLITS; i++)
        s->base.info.count[i] = in[i];
    status = note(
        s, "there is no x_val or x_test: %u of %u samples, chosen by number, are for validation",
        in[SH_SPLIT_VALIDATION], count);
done:
    free(items);
    free(names);
    return status;
}

/* in[2][classes] counts training and validation samples. */
static sh_status note_classes(const arrays_source *s, const uint32_t *in)
{
    static const char *const what[] = {"are in neither split", "are only in the validation split",
                                       "are only in the training split"};
    const uint32_t classes = s->targets.outputs;
    const json_t *names = json_object_get(s->base.about, "classes");
    for (int kind = 0; kind < 3; kind++) {
        char list[512] = "";
        size_t used = 0, count = 0;
        for (uint32_t i = 0; i < classes; i++) {
            const bool train = in[i] > 0, validation = in[classes + i] > 0;
            if (train != (kind == 2) || validation != (kind == 1))
                continue;
            const char *name = json_string_value(json_array_get(names, i));
            if (count++ < NAMED_MOST && used < sizeof list)
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                         used > 0 ? ", " : "", name == NULL ? "?" : name);
        }
        if (count > 0)
            SH_TRY(note(s, "%zu of %u classes %s: %s%s", count, classes, what[kind], list,
                        count > NAMED_MOST ? ", ..." : ""));
    }
    return SH_OK;
}

static sh_status count_classes(const arrays_source *s)
{
    const uint32_t classes = s->targets.outputs;
    if (s->targets.kind != SH_TARGET_CLASS)
        return SH_OK;
    uint32_t *in = calloc(2 * (size_t)classes, sizeof *in);
    if (in == NULL)
        return sh_fail_memory(2 * (size_t)classes * sizeof *in, "counts of classes");
    sh_status status = SH_OK;
    for (int split = 0; split < SH_SPLITS; split++)
        for (uint32_t i = 0; i < s->base.info.count[split]; i++) {
            int32_t class = 0;
            sh_split array;
            const uint32_t row = place_of(s, (sh_split)split, i, &array);
            SH_TRY_DONE(sh_array_targets_read(&s->targets, &s->y[array], row, &class));
            in[(size_t)split * classes + (uint32_t) class]++;
        }
    status = note_classes(s, in);
done:
    free(in);
    return status;
}

/* --- mean and deviation --- */

/* Adds a sample's numbers, or their squared distances from `mean` unless it is NULL. Adds nothing
 * and returns false if a number is not finite. */
static bool add_sample(const arrays_source *s, const double *numbers, double *sums,
                       const double *mean)
{
    const size_t elements = elements_of(s);
    for (size_t i = 0; i < elements; i++)
        if (!isfinite(numbers[i]))
            return false;
    for (size_t o = 0; o < s->outer; o++)
        for (size_t f = 0; f < s->figures; f++) {
            double sum = 0;
            for (size_t i = 0; i < s->inner; i++) {
                const double number = *numbers++, from = mean == NULL ? number : number - mean[f];
                sum += mean == NULL ? from : from * from;
            }
            sums[f] += sum;
        }
    return true;
}

static sh_status add_up(const arrays_source *s, double *room, size_t fits, double *sums,
                        const double *mean, uint64_t *added)
{
    const sh_array *x = &s->x[0];
    const size_t elements = elements_of(s);
    const uint32_t count = s->base.info.count[SH_SPLIT_TRAIN];
    const uint32_t *rows = s->rows[SH_SPLIT_TRAIN];
    memset(sums, 0, s->figures * sizeof *sums);
    *added = 0;
    for (uint32_t next = 0; next < count;) {
        const uint32_t first = rows == NULL ? next : rows[next];
        const uint64_t left = x->header.shape[0] - first;
        const size_t here = left < fits ? (size_t)left : fits;
        SH_TRY(sh_array_read(x, first * (uint64_t)elements, room, here * elements));
        for (; next < count && (rows == NULL ? next : rows[next]) - first < here; next++) {
            const uint32_t row = (rows == NULL ? next : rows[next]) - first;
            *added += add_sample(s, room + row * elements, sums, mean);
        }
    }
    return SH_OK;
}

static sh_status set_figures(arrays_source *s)
{
    if (s->base.info.element == SH_ELEMENT_BYTE)
        return SH_OK;
    const size_t elements = elements_of(s), fits = elements < BLOCK ? BLOCK / elements : 1;
    const size_t bytes = fits * elements * sizeof(double);
    uint64_t added;
    size_t constant = 0;
    double *room = malloc(bytes);
    s->mean = malloc(s->figures * sizeof *s->mean);
    s->deviation = malloc(s->figures * sizeof *s->deviation);
    sh_status status = SH_OK;
    if (room == NULL || s->mean == NULL || s->deviation == NULL)
        SH_TRY_DONE(sh_fail_memory(bytes, "figures of the samples"));
    SH_TRY_DONE(add_up(s, room, fits, s->mean, NULL, &added));
    const double count = (double)added * (double)s->outer * (double)s->inner;
    for (size_t f = 0; f < s->figures; f++)
        s->mean[f] = added > 0 ? s->mean[f] / count : 0;
    SH_TRY_DONE(add_up(s, room, fits, s->deviation, s->mean, &added));
    for (size_t f = 0; f < s->figures; f++) {
        const double variance = added > 0 ? s->deviation[f] / count : 0;
        if (!isfinite(variance))
            SH_TRY_DONE(sh_fail(SH_NUMERIC,
                                "%s: its numbers are too large to average; scale them down",
                                s->x[0].name));
        constant += variance > 0 ? 0 : 1;
        s->deviation[f] = variance > 0 ? sqrt(variance) : 1;
    }
    if (constant > 0)
        SH_TRY_DONE(note(s, "%zu of %zu %s never change in the training samples", constant,
                         s->figures, s->x[0].header.rank == 2 ? "features" : "channels"));
done:
    free(room);
    return status;
}

/* --- a sample --- */

static sh_status arrays_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                             void *target)
{
    const arrays_source *s = (const arrays_source *)source;
    sh_split array;
    const uint32_t row = place_of(s, split, index, &array);
    const sh_array_form form = {s->outer, s->figures, s->inner, s->mean, s->deviation};
    SH_TRY(source->info.element == SH_ELEMENT_BYTE
               ? sh_array_sample_bytes(&form, &s->x[array], row, sample)
               : sh_array_sample_floats(&form, &s->x[array], row, sample));
    return sh_array_targets_read(&s->targets, &s->y[array], row, target);
}

static sh_status arrays_unchanged(const sh_source *source)
{
    const arrays_source *s = (const arrays_source *)source;
    for (int i = 0; i < (s->splits ? 2 : 1); i++) {
        SH_TRY(sh_array_unchanged(&s->x[i]));
        if (s->has_targets)
            SH_TRY(sh_array_unchanged(&s->y[i]));
    }
    return SH_OK;
}

static void arrays_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                        size_t bytes)
{
    const arrays_source *s = (const arrays_source *)source;
    sh_split array;
    const uint32_t row = place_of(s, split, index, &array);
    snprintf(text, bytes, "%s, sample %u", s->x[array].name, row);
}

static void arrays_close(sh_source *source)
{
    arrays_source *s = (arrays_source *)source;
    for (int i = 0; i < SH_SPLITS; i++) {
        sh_array_close(&s->x[i]);
        sh_array_close(&s->y[i]);
        free(s->rows[i]);
    }
    free(s->mean);
    free(s->deviation);
    sh_array_targets_release(&s->targets);
    json_decref(source->about);
    free((char *)(uintptr_t)source->place);
    free(s);
}

static const sh_source_ops arrays_ops = {arrays_read, arrays_unchanged, arrays_name, arrays_close};

/* --- looking into the data --- */

static sh_status find_targets(arrays_source *s, const char *task)
{
    sh_dataset_info *info = &s->base.info;
    const sh_array *y[] = {&s->y[0], &s->y[1]};
    if (strcmp(task, sh_target_name(SH_TARGET_SAMPLE)) == 0) {
        s->targets =
            (sh_array_targets){.kind = SH_TARGET_SAMPLE, .outputs = (uint32_t)elements_of(s)};
        s->has_targets = false; /* y is ignored even if it exists */
    } else {
        SH_TRY(sh_array_targets_find(&s->targets, y, s->splits ? 2 : 1, task));
    }
    info->target = s->targets.kind;
    info->outputs = s->targets.outputs;
    return SH_OK;
}

/* Must cover all arrays and every option that affects a sample. */
static sh_status set_digest(arrays_source *s, const sh_read_options *options)
{
    sh_digest *digest;
    char text[96];
    SH_TRY(sh_digest_new(&digest));
    const uint64_t part = s->splits ? 0 : (uint64_t)((double)options->val_split * 0x1p32);
    snprintf(text, sizeof text, "%s %s %" PRIu64 " %d %d", VERSION, sh_target_name(s->targets.kind),
             part, s->splits, options->skip_damaged);
    sh_digest_add(digest, text, strlen(text) + 1);
    sh_status status = SH_OK;
    for (int i = 0; i < (s->splits ? 2 : 1) && status == SH_OK; i++) {
        status = sh_array_digest(&s->x[i], digest);
        if (s->has_targets && status == SH_OK)
            status = sh_array_digest(&s->y[i], digest);
    }
    const sh_status end = sh_digest_finish(digest, s->base.digest);
    SH_TRY(status);
    return end;
}

static sh_status describe(const arrays_source *s)
{
    const sh_dataset_info *info = &s->base.info;
    const sh_npy_header *h = &s->x[0].header;
    json_t *means = json_array(), *deviations = json_array(), *shape = json_array();
    int failed = 0;
    for (size_t f = 0; f < s->figures && s->mean != NULL; f++) {
        failed |= json_array_append_new(means, json_real(s->mean[f]));
        failed |= json_array_append_new(deviations, json_real(s->deviation[f]));
    }
    for (uint32_t i = 1; i < h->rank; i++)
        failed |= json_array_append_new(shape, json_integer((json_int_t)h->shape[i]));
    const char *element = info->element == SH_ELEMENT_BYTE ? "byte" : "float";
    json_t *inputs = json_pack("{s:s, s:o, s:b, s:s, s:o, s:o}", "kind", "array", "shape", shape,
                               "channels_last", s->outer > 1, "element", element, "mean", means,
                               "deviation", deviations);
    if (json_object_set_new(s->base.about, "inputs", inputs) != 0 || failed != 0)
        return sh_fail_memory(0, "the description of the data");
    return SH_OK;
}

static sh_status look_into(arrays_source *s, const sh_read_options *options)
{
    const char *task = options->task == NULL ? "" : options->task;
    const double part = options->val_split > 0 ? (double)options->val_split : 0.2;
    s->base.about = json_pack("{s:[]}", "notes");
    if (s->base.about == NULL)
        return sh_fail_memory(0, "the description of the data");
    SH_TRY(open_arrays(s, task));
    SH_TRY(check_arrays(s));
    SH_TRY(set_shape(s));
    SH_TRY(find_targets(s, task));
    if (s->splits) {
        for (int i = 0; i < SH_SPLITS; i++)
            s->base.info.count[i] = (uint32_t)s->x[i].header.shape[0];
    } else {
        SH_TRY(split_rows(s, part));
    }
    SH_TRY(sh_array_targets_scale(&s->targets, &s->y[0], s->rows[0], s->base.info.count[0]));
    SH_TRY(sh_array_targets_describe(&s->targets, s->base.about));
    SH_TRY(count_classes(s));
    SH_TRY(set_figures(s));
    SH_TRY(describe(s));
    return set_digest(s, options);
}

static sh_status arrays_look(sh_source **source, const sh_format *format, const char *argument,
                             const sh_read_options *options)
{
    arrays_source *s = calloc(1, sizeof *s);
    char *place = malloc(strlen(argument) + 1);
    if (s == NULL || place == NULL) {
        free(s);
        free(place);
        return sh_fail_memory(sizeof *s, "the arrays");
    }
    memcpy(place, argument, strlen(argument) + 1);
    s->base.ops = &arrays_ops;
    s->base.place = place;
    s->base.info.name = format->name;
    const sh_status status = look_into(s, options);
    if (status != SH_OK) {
        arrays_close(&s->base);
        return status;
    }
    *source = &s->base;
    return SH_OK;
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat about;
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && stat(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}

static bool arrays_recognises(const sh_format *format, const char *path)
{
    (void)format;
    const size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".npz") == 0)
        return true;
    return is_there(path, "x.npy") || is_there(path, "x_train.npy") || is_there(path, "X.npy") ||
           is_there(path, "X_train.npy");
}

const sh_format sh_npy_format = {
    .name = "npy",
    .usage = "npy:PATH",
    .summary = "arrays of NumPy: x.npy and y.npy in a folder, or an .npz file",
    .files = "x.npy or x_train.npy",
    .recognises = arrays_recognises,
    .open = sh_packed_dataset,
    .file_reader = sh_array_reader,
    .look = arrays_look,
};
