/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass sums features, the second measures all samples. The nearest and farthest are read
 * again for pictures. */
#include "data/examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/description.h"
#include "data/thumbnail.h"

#define CLASSES_MOST 4096 /* their means take 8 MB */
#define TARGET_BYTES 256
#define GRID_SIDE 8
#define IMAGE_CHANNELS 4
#define SERIES_CHANNELS 32
#define PLACE_BYTES 32

typedef struct example {
    double distance;
    uint32_t split, index, class;
} example;

/* Sorted. */
typedef struct ranking {
    bool farthest;       /* largest distance first */
    uint32_t most, each; /* in total, per class */
    uint32_t count;
    example best[SH_EXAMPLES_MOST];
} ranking;

typedef struct measure {
    const sh_dataset_info *info;
    size_t parts[3], features; /* channels, rows, columns */
    uint32_t classes;          /* with their own mean; 0: only a total mean */
    double *sums;              /* [classes + 1][features]; the last: total */
    double *squares;           /* [features] */
    uint64_t *counts;          /* [classes + 1] */
    double *now;               /* [features], of the current sample */
} measure;

/* ---- features -------------------------------------------------------------------------------- */

static void divide(measure *m)
{
    const sh_dataset_info *info = m->info;
    const size_t sizes[3] = {info->channels, info->height, info->width};
    const bool image = sizes[1] > 1, series = !image && sizes[2] > 1;
    size_t most[3] = {SH_EXAMPLES_FEATURES, GRID_SIDE, GRID_SIDE};
    if (image || series)
        most[0] = image ? IMAGE_CHANNELS : SERIES_CHANNELS;
    if (series)
        most[2] = SH_EXAMPLES_FEATURES / (sizes[0] < most[0] ? sizes[0] : most[0]);
    for (int i = 0; i < 3; i++)
        m->parts[i] = sizes[i] < most[i] ? sizes[i] : most[i];
    m->features = m->parts[0] * m->parts[1] * m->parts[2];
}

static size_t part_of(size_t place, size_t size, size_t parts)
{
    return place * parts / size;
}

/* Sums serve as means: cells have equal sizes in all samples, and the deviation cancels them. */
static void find_features(const measure *m, const void *sample)
{
    const sh_dataset_info *info = m->info;
    const float *floats = sample;
    const uint8_t *bytes = sample;
    size_t at = 0;
    memset(m->now, 0, m->features * sizeof *m->now);
    for (size_t c = 0; c < info->channels; c++)
        for (size_t y = 0; y < info->height; y++) {
            const size_t row = part_of(c, info->channels, m->parts[0]) * m->parts[1] +
                               part_of(y, info->height, m->parts[1]);
            double *cells = m->now + row * m->parts[2];
            for (size_t x = 0; x < info->width; x++, at++)
                cells[part_of(x, info->width, m->parts[2])] +=
                    info->element == SH_ELEMENT_FLOAT ? (double)floats[at] : (double)bytes[at];
        }
}

/* The class whose mean applies; `classes`: the mean of all applies. */
static uint32_t class_of(const measure *m, const void *target)
{
    int32_t class = -1;
    if (m->classes > 0)
        memcpy(&class, target, sizeof class);
    return class >= 0 && (uint32_t) class < m->classes ? (uint32_t) class : m->classes;
}

static void learn(measure *m, const void *sample, const void *target)
{
    const uint32_t class = class_of(m, target);
    double *own = m->sums + class * m->features, *all = m->sums + m->classes * m->features;
    find_features(m, sample);
    for (size_t i = 0; i < m->features; i++) {
        own[i] += own != all ? m->now[i] : 0;
        all[i] += m->now[i];
        m->squares[i] += m->now[i] * m->now[i];
    }
    m->counts[class] += class != m->classes;
    m->counts[m->classes]++;
}

/* Sums become means, and squares deviations. */
static void settle(measure *m)
{
    for (uint32_t class = 0; class <= m->classes; class ++)
        for (size_t i = 0; i < m->features && m->counts[class] > 0; i++)
            m->sums[class * m->features + i] /= (double)m->counts[class];
    const double *mean = m->sums + m->classes * m->features;
    const double count = (double)m->counts[m->classes];
    for (size_t i = 0; i < m->features; i++) {
        const double square = count > 0 ? m->squares[i] / count : 0;
        const double variance = square - mean[i] * mean[i];
        /* Rounding may leave a residue of a constant feature. */
        m->squares[i] = variance > 1e-12 * square ? sqrt(variance) : 0;
    }
}

static double distance_of(const measure *m, const void *sample, uint32_t class)
{
    const uint32_t known = m->counts[class] > 0 ? class : m->classes;
    const double *mean = m->sums + known * m->features;
    double sum = 0, counted = 0;
    find_features(m, sample);
    for (size_t i = 0; i < m->features; i++)
        if (m->squares[i] > 0) {
            const double away = (m->now[i] - mean[i]) / m->squares[i];
            sum += away * away;
            counted++;
        }
    return counted > 0 ? sqrt(sum / counted) : 0;
}

/* ---- the first of a ranking ------------------------------------------------------------------ */

static bool goes_before(const ranking *r, const example *a, const example *b)
{
    if (a->distance != b->distance)
        return (a->distance < b->distance) != r->farthest;
    return a->split != b->split ? a->split < b->split : a->index < b->index;
}

static void offer(ranking *r, const example *fresh)
{
    uint32_t same = 0, last = r->count, at = 0;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->best[i].class == fresh->class) {
            same++;
            last = i;
        }
    uint32_t leaves = same >= r->each ? last : r->count == r->most ? r->count - 1 : r->count;
    if (leaves < r->count && !goes_before(r, fresh, &r->best[leaves]))
        return;
    if (leaves == r->count)
        r->count++;
    while (at < leaves && !goes_before(r, fresh, &r->best[at]))
        at++;
    memmove(r->best + at + 1, r->best + at, (leaves - at) * sizeof *r->best);
    r->best[at] = *fresh;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *sh_examples_target(const sh_dataset_info *info, const json_t *description,
                           const void *target)
{
    char text[TARGET_BYTES] = "", number[SH_DESCRIPTION_NUMBER];
    size_t used = 0, said = 0;
    int32_t class;
    if (info->target == SH_TARGET_SAMPLE)
        return json_null();
    if (info->target == SH_TARGET_CLASS) {
        memcpy(&class, target, sizeof class);
        return json_string(sh_description_name(description, info->target, (unsigned)class, number));
    }
    for (uint32_t k = 0; k < info->outputs; k++) {
        float value;
        memcpy(&value, (const char *)target + k * sizeof value, sizeof value);
        const sh_target_scale unit = sh_description_scale(description, k);
        const char *name = sh_description_name(description, info->target, k, number);
        const char *comma = said > 0 ? ", " : "";
        int length = 0;
        if (info->target == SH_TARGET_NUMBERS)
            length = snprintf(text + used, sizeof text - used, "%s%s %.5g", comma, name,
                              (double)value * unit.deviation + unit.mean);
        else if (value > 0.5f)
            length = snprintf(text + used, sizeof text - used, "%s%s", comma, name);
        if (length < 0 || (size_t)length >= sizeof text - used) {
            text[used] = '\0'; /* drops a partial name: the text stays UTF-8 */
            break;
        }
        used += (size_t)length;
        said += length > 0;
    }
    return json_string(text);
}

static sh_status example_json(json_t **json, const sh_dataset *dataset, const json_t *description,
                              const example *one, void *room[2])
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    json_t *picture;
    char place[PLACE_BYTES];
    SH_TRY(sh_dataset_read(dataset, (sh_split)one->split, one->index, room[0], room[1]));
    SH_TRY(sh_thumbnail_json(&picture, info, description, room[0]));
    snprintf(place, sizeof place, "%s %u", one->split == SH_SPLIT_TRAIN ? "training" : "validation",
             one->index);
    json_t *fresh = json_pack("{s:s, s:o, s:f, s:o}", "place", place, "target",
                              sh_examples_target(info, description, room[1]), "distance",
                              one->distance, "picture", picture);
    if (fresh == NULL)
        return sh_fail_memory(sizeof(json_t), "samples to look at");
    *json = fresh;
    return SH_OK;
}

static sh_status add_ranking(json_t *root, const char *name, const ranking *r,
                             const sh_dataset *dataset, void *room[2])
{
    json_t *description = sh_description_read(sh_dataset_description(dataset));
    json_t *list = json_array(), *one;
    sh_status status = json_object_set_new(root, name, list) == 0
                           ? SH_OK
                           : sh_fail_memory(sizeof(json_t), "samples to look at");
    for (uint32_t i = 0; status == SH_OK && i < r->count; i++) {
        status = example_json(&one, dataset, description, &r->best[i], room);
        if (status == SH_OK && json_array_append_new(list, one) != 0)
            status = sh_fail_memory(sizeof(json_t), "samples to look at");
    }
    json_decref(description);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static sh_status pass_over(measure *m, const sh_dataset *dataset, void *room[2], ranking *typical,
                           ranking *odd)
{
    for (uint32_t split = 0; split < SH_SPLITS; split++)
        for (uint32_t index = 0; index < m->info->count[split]; index++) {
            if (typical == NULL && split != SH_SPLIT_TRAIN)
                continue;
            SH_TRY(sh_dataset_read(dataset, (sh_split)split, index, room[0], room[1]));
            if (typical == NULL) {
                learn(m, room[0], room[1]);
                continue;
            }
            example one = {.split = split, .index = index, .class = class_of(m, room[1])};
            one.distance = distance_of(m, room[0], one.class);
            offer(typical, &one);
            offer(odd, &one);
        }
    return SH_OK;
}

static sh_status take(void *block, size_t count, size_t bytes)
{
    void *fresh = calloc(count > 0 ? count : 1, bytes);
    if (fresh == NULL)
        return sh_fail_memory(count * bytes, "samples to look at");
    memcpy(block, &fresh, sizeof fresh);
    return SH_OK;
}

sh_status sh_examples_json(json_t **json, const sh_dataset *dataset, uint32_t count)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    const uint32_t most = count < SH_EXAMPLES_MOST ? count : SH_EXAMPLES_MOST;
    const bool few = info->target == SH_TARGET_CLASS && info->outputs <= CLASSES_MOST;
    measure m = {.info = info, .classes = few ? info->outputs : 0};
    ranking typical = {.most = most, .each = most},
            odd = {.farthest = true, .most = most, .each = most};
    void *room[2] = {NULL, NULL};
    json_t *root = json_object();
    sh_status status;
    if (m.classes > 0)
        typical.each = (most + m.classes - 1) / m.classes;
    divide(&m);
    SH_TRY_DONE(take(&m.sums, ((size_t)m.classes + 1) * m.features, sizeof *m.sums));
    SH_TRY_DONE(take(&m.squares, m.features, sizeof *m.squares));
    SH_TRY_DONE(take(&m.now, m.features, sizeof *m.now));
    SH_TRY_DONE(take(&m.counts, (size_t)m.classes + 1, sizeof *m.counts));
    SH_TRY_DONE(take(&room[0], sh_dataset_bytes(info), 1));
    SH_TRY_DONE(take(&room[1], sh_target_bytes(info->target, info->outputs), 1));
    SH_TRY_DONE(pass_over(&m, dataset, room, NULL, NULL));
    settle(&m);
    if (most > 0)
        SH_TRY_DONE(pass_over(&m, dataset, room, &typical, &odd));
    SH_TRY_DONE(add_ranking(root, "typical", &typical, dataset, room));
    SH_TRY_DONE(add_ranking(root, "odd", &odd, dataset, room));
    *json = root;
    root = NULL;
done:
    json_decref(root);
    free(m.sums);
    free(m.squares);
    free(m.now);
    free(m.counts);
    free(room[0]);
    free(room[1]);
    return status;
}
