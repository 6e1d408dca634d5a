/* SPDX-License-Identifier: Apache-2.0 */
/* One pass, validation first; then sorting the digests groups equal samples, training first. */
#include "data/survey.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "data/description.h"

#define KEY_BYTES 12
#define NAMED 5 /* classes in a warning */
#define NAME_BYTES 64
#define PLACE_BYTES 32
#define UNEVEN 10 /* imbalance that deserves a warning */

typedef struct place {
    uint32_t split, index;
} place;

/* A sample's digest, truncated, and a hash of its target. */
typedef struct entry {
    uint8_t key[KEY_BYTES];
    uint32_t place; /* highest bit: validation */
    uint32_t target;
} entry;

typedef struct finds {
    uint64_t count;
    place first[SH_SURVEY_LIST];
} finds;

typedef struct range {
    double least, most, sum, squares;
} range;

typedef struct survey {
    const sh_dataset_info *info;
    json_t *description;
    uint64_t *counts;    /* [outputs][SH_SPLITS]: samples per class or label */
    range *targets;      /* [outputs]: packed numbers */
    float *least, *most; /* [elements] of training samples */
    finds blank;
    entry *entries;
    size_t entry_count, entry_most;
    uint64_t copies, shared, contradicting;
    place pairs[SH_SURVEY_LIST][2];
    size_t pair_count;
    json_t *warnings;
    bool failed; /* out of memory */
} survey;

/* ---- one sample ------------------------------------------------------------------------------ */

static uint32_t hash_target(const unsigned char *bytes, size_t count)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

static float element_at(const sh_dataset_info *info, const void *sample, size_t index)
{
    return info->element == SH_ELEMENT_FLOAT ? ((const float *)sample)[index]
                                             : (float)((const uint8_t *)sample)[index];
}

static void note_values(survey *s, place at, const void *sample)
{
    const size_t elements = sh_dataset_elements(s->info);
    const float first = element_at(s->info, sample, 0);
    const bool training = at.split == SH_SPLIT_TRAIN;
    bool blank = elements > 1;
    for (size_t i = 0; i < elements; i++) {
        const float value = element_at(s->info, sample, i);
        blank = blank && value == first;
        if (!training)
            continue;
        s->least[i] = at.index == 0 || value < s->least[i] ? value : s->least[i];
        s->most[i] = at.index == 0 || value > s->most[i] ? value : s->most[i];
    }
    if (blank && s->blank.count++ < SH_SURVEY_LIST)
        s->blank.first[s->blank.count - 1] = at;
}

static void note_target(survey *s, place at, const void *target)
{
    const uint32_t outputs = s->info->outputs;
    int32_t class;
    if (s->info->target == SH_TARGET_CLASS) {
        memcpy(&class, target, sizeof class);
        if (class >= 0 && (uint32_t) class < outputs)
            s->counts[(size_t) class * SH_SPLITS + at.split]++;
        return;
    }
    const float *values = target;
    for (uint32_t k = 0; s->info->target == SH_TARGET_LABELS && k < outputs; k++)
        s->counts[(size_t)k * SH_SPLITS + at.split] += values[k] > 0.5f;
    for (uint32_t k = 0; s->targets != NULL && at.split == SH_SPLIT_TRAIN && k < outputs; k++) {
        range *one = &s->targets[k];
        const double value = (double)values[k];
        one->least = at.index == 0 || value < one->least ? value : one->least;
        one->most = at.index == 0 || value > one->most ? value : one->most;
        one->sum += value;
        one->squares += value * value;
    }
}

static sh_status note_digest(survey *s, place at, const void *sample, const void *target)
{
    uint8_t digest[SH_DIGEST_BYTES];
    if (s->entry_count == s->entry_most)
        return SH_OK;
    SH_TRY(sh_digest_block(digest, sample, sh_dataset_bytes(s->info)));
    entry *fresh = &s->entries[s->entry_count++];
    memcpy(fresh->key, digest, KEY_BYTES);
    fresh->place = at.index | at.split << 31;
    fresh->target = hash_target(target, sh_target_bytes(s->info->target, s->info->outputs));
    return SH_OK;
}

/* ---- equal samples --------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const entry *left = a, *right = b;
    const int order = memcmp(left->key, right->key, KEY_BYTES);
    return order != 0 ? order : left->place < right->place ? -1 : left->place > right->place;
}

static place place_of(const entry *one)
{
    return (place){one->place >> 31, one->place & INT32_MAX};
}

/* Keeps pairs across splits first, then the lowest second indices. */
static void keep_pair(survey *s, place first, place second)
{
    const bool across = first.split != second.split;
    size_t at = s->pair_count;
    for (; at > 0; at--) {
        const place *before = s->pairs[at - 1];
        const bool its = before[0].split != before[1].split;
        if (its > across || (its == across && before[1].index < second.index))
            break;
    }
    if (at == SH_SURVEY_LIST)
        return;
    s->pair_count += s->pair_count < SH_SURVEY_LIST;
    memmove(s->pairs[at + 1 < SH_SURVEY_LIST ? at + 1 : at], s->pairs[at],
            (s->pair_count - at - 1) * sizeof s->pairs[0]);
    s->pairs[at][0] = first;
    s->pairs[at][1] = second;
}

static void find_equal(survey *s)
{
    if (s->entry_count > 1)
        qsort(s->entries, s->entry_count, sizeof *s->entries, compare);
    for (size_t i = 0, first = 0; i < s->entry_count; i++) {
        const entry *one = &s->entries[i], *same = &s->entries[first];
        if (i == first || memcmp(one->key, same->key, KEY_BYTES) != 0) {
            first = i;
            continue;
        }
        s->copies++;
        s->contradicting += one->target != same->target;
        s->shared += place_of(one).split != place_of(same).split;
        keep_pair(s, place_of(same), place_of(one));
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void set(survey *s, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        s->failed = true;
}

static void append(survey *s, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        s->failed = true;
}

static void set_count(survey *s, json_t *object, const char *name, uint64_t count)
{
    set(s, object, name, json_integer((json_int_t)count));
}

static void set_number(survey *s, json_t *object, const char *name, double value)
{
    set(s, object, name, isfinite(value) ? json_real(value) : json_null());
}

static json_t *place_text(place at)
{
    char text[PLACE_BYTES];
    snprintf(text, sizeof text, "%s %u", at.split == SH_SPLIT_TRAIN ? "training" : "validation",
             at.index);
    return json_string(text);
}

static void advise(survey *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void advise(survey *s, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    append(s, s->warnings, json_stringn_nocheck(text, strlen(text)));
}

static void warn_of_empty(survey *s, uint32_t split)
{
    char names[NAMED * (NAME_BYTES + 2)] = "", number[SH_DESCRIPTION_NUMBER], clean[NAME_BYTES];
    uint32_t empty = 0;
    size_t used = 0;
    for (uint32_t k = 0; k < s->info->outputs; k++) {
        if (s->counts[(size_t)k * SH_SPLITS + split] > 0 || ++empty > NAMED)
            continue;
        const char *name = sh_description_name(s->description, s->info->target, k, number);
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", empty > 1 ? ", " : "",
                                 sh_utf8_clean(clean, sizeof clean, name));
    }
    if (empty > 0)
        advise(s, "%u of %u classes have no %s samples: %s%s", empty, s->info->outputs,
               split == SH_SPLIT_TRAIN ? "training" : "validation", names,
               empty > NAMED ? ", ..." : "");
}

static void set_classes(survey *s, json_t *root)
{
    json_t *classes = json_array();
    uint64_t smallest = UINT64_MAX, largest = 0;
    for (uint32_t k = 0; k < s->info->outputs; k++) {
        char number[SH_DESCRIPTION_NUMBER];
        const uint64_t *counts = s->counts + (size_t)k * SH_SPLITS;
        const uint64_t training = counts[SH_SPLIT_TRAIN];
        json_t *one = json_object();
        set(s, one, "name",
            json_string(sh_description_name(s->description, s->info->target, k, number)));
        set_count(s, one, "training", training);
        set_count(s, one, "validation", counts[SH_SPLIT_VALIDATION]);
        append(s, classes, one);
        smallest = training < smallest ? training : smallest;
        largest = training > largest ? training : largest;
    }
    set(s, root, "classes", classes);
    const double imbalance = smallest > 0 ? (double)largest / (double)smallest : NAN;
    set_number(s, root, "imbalance", imbalance);
    warn_of_empty(s, SH_SPLIT_TRAIN);
    warn_of_empty(s, SH_SPLIT_VALIDATION);
    if (imbalance >= UNEVEN)
        advise(s,
               "the largest class has %.0f times as many training samples as the smallest: use "
               "balanced accuracy",
               imbalance);
}

static void set_targets(survey *s, json_t *root)
{
    const double count = s->info->count[SH_SPLIT_TRAIN];
    json_t *targets = json_array();
    for (uint32_t k = 0; k < s->info->outputs && count > 0; k++) {
        char number[SH_DESCRIPTION_NUMBER], clean[NAME_BYTES];
        const range *one = &s->targets[k];
        const sh_target_scale scale = sh_description_scale(s->description, k);
        const double mean = one->sum / count, spread = one->squares / count - mean * mean;
        const char *name = sh_description_name(s->description, s->info->target, k, number);
        json_t *target = json_object();
        set(s, target, "name", json_string(name));
        set_number(s, target, "least", one->least * scale.deviation + scale.mean);
        set_number(s, target, "most", one->most * scale.deviation + scale.mean);
        set_number(s, target, "mean", mean * scale.deviation + scale.mean);
        set_number(s, target, "deviation", sqrt(spread > 0 ? spread : 0) * scale.deviation);
        append(s, targets, target);
        if (one->least == one->most)
            advise(s, "the target %s is the same for all training samples",
                   sh_utf8_clean(clean, sizeof clean, name));
    }
    set(s, root, "targets", targets);
}

static void set_values(survey *s, json_t *root)
{
    const size_t elements = sh_dataset_elements(s->info);
    json_t *constant = json_object(), *list = json_array(), *blank = json_object();
    json_t *samples = json_array();
    double least = INFINITY, most = -INFINITY;
    uint64_t count = 0;
    for (size_t i = 0; i < elements; i++) {
        least = (double)s->least[i] < least ? (double)s->least[i] : least;
        most = (double)s->most[i] > most ? (double)s->most[i] : most;
        if (s->least[i] == s->most[i] && count++ < SH_SURVEY_LIST)
            append(s, list, json_integer((json_int_t)i));
    }
    set_number(s, root, "least", least);
    set_number(s, root, "most", most);
    set_count(s, constant, "count", count);
    set(s, constant, "first", list);
    set(s, root, "constant_inputs", constant);
    for (size_t i = 0; i < SH_SURVEY_LIST && i < s->blank.count; i++)
        append(s, samples, place_text(s->blank.first[i]));
    set_count(s, blank, "count", s->blank.count);
    set(s, blank, "first", samples);
    set(s, root, "blank_samples", blank);
    if (count > 0 && s->info->element == SH_ELEMENT_FLOAT) /* photos often have constant borders */
        advise(s, "%llu of %zu inputs are the same in all training samples",
               (unsigned long long)count, elements);
    if (s->blank.count > 0)
        advise(s, "samples with one value everywhere: %llu", (unsigned long long)s->blank.count);
}

static void set_duplicates(survey *s, json_t *root)
{
    json_t *object = json_object(), *list = json_array();
    for (size_t i = 0; i < s->pair_count; i++) {
        json_t *pair = json_array();
        append(s, pair, place_text(s->pairs[i][0]));
        append(s, pair, place_text(s->pairs[i][1]));
        append(s, list, pair);
    }
    set_count(s, object, "samples", s->copies);
    set_count(s, object, "validation", s->shared);
    set_count(s, object, "contradicting", s->contradicting);
    set(s, object, "first", list);
    set_count(s, object, "searched", s->entry_count);
    set(s, root, "duplicates", object);
    if (s->shared > 0)
        advise(s,
               "%llu of %u validation samples are also training samples: results with them are too "
               "good",
               (unsigned long long)s->shared, s->info->count[SH_SPLIT_VALIDATION]);
    if (s->contradicting > 0)
        advise(s, "samples whose target differs from that of an equal sample: %llu",
               (unsigned long long)s->contradicting);
}

static json_t *describe(survey *s)
{
    const sh_dataset_info *info = s->info;
    const json_t *notes = sh_description_notes(s->description);
    json_t *root = json_object(), *sample = json_array();
    s->warnings = json_array();
    append(s, sample, json_integer((json_int_t)info->channels));
    append(s, sample, json_integer((json_int_t)info->height));
    append(s, sample, json_integer((json_int_t)info->width));
    set(s, root, "kind", json_string(info->name));
    set(s, root, "task", json_string(sh_target_name(info->target)));
    set(s, root, "sample", sample);
    set(s, root, "element", json_string(info->element == SH_ELEMENT_FLOAT ? "float" : "byte"));
    set_count(s, root, "outputs", info->outputs);
    set(s, root, "fingerprint", json_string(info->fingerprint));
    set_count(s, root, "training", info->count[SH_SPLIT_TRAIN]);
    set_count(s, root, "validation", info->count[SH_SPLIT_VALIDATION]);
    if (s->counts != NULL)
        set_classes(s, root);
    if (s->targets != NULL)
        set_targets(s, root);
    set_values(s, root);
    set_duplicates(s, root);
    set(s, root, "notes", notes != NULL ? json_deep_copy(notes) : json_array());
    set(s, root, "warnings", s->warnings);
    return root;
}

/* ---- all ------------------------------------------------------------------------------------- */

static sh_status take(void *block, size_t count, size_t bytes)
{
    void *fresh = calloc(count > 0 ? count : 1, bytes);
    if (fresh == NULL)
        return sh_fail_memory(count * bytes, "looking at the data");
    memcpy(block, &fresh, sizeof fresh);
    return SH_OK;
}

static sh_status take_all(survey *s)
{
    const sh_target target = s->info->target;
    const uint64_t all = (uint64_t)s->info->count[0] + s->info->count[1];
    const size_t elements = sh_dataset_elements(s->info);
    if (target == SH_TARGET_CLASS || target == SH_TARGET_LABELS)
        SH_TRY(take(&s->counts, s->info->outputs, SH_SPLITS * sizeof *s->counts));
    if (target == SH_TARGET_NUMBERS)
        SH_TRY(take(&s->targets, s->info->outputs, sizeof *s->targets));
    SH_TRY(take(&s->least, elements, sizeof *s->least));
    SH_TRY(take(&s->most, elements, sizeof *s->most));
    s->entry_most = all < SH_SURVEY_SEARCHED ? (size_t)all : SH_SURVEY_SEARCHED;
    return take(&s->entries, s->entry_most, sizeof *s->entries);
}

sh_status sh_survey_json(json_t **json, const sh_dataset *dataset)
{
    static const uint32_t order[] = {SH_SPLIT_VALIDATION, SH_SPLIT_TRAIN};
    survey s = {.info = sh_dataset_about(dataset)};
    void *sample = NULL, *target = NULL;
    sh_status status;
    SH_TRY_DONE(take_all(&s));
    SH_TRY_DONE(take(&sample, sh_dataset_bytes(s.info), 1));
    SH_TRY_DONE(take(&target, sh_target_bytes(s.info->target, s.info->outputs), 1));
    s.description = sh_description_read(sh_dataset_description(dataset));
    for (int i = 0; i < SH_SPLITS; i++)
        for (uint32_t index = 0; index < s.info->count[order[i]]; index++) {
            const place at = {order[i], index};
            SH_TRY_DONE(sh_dataset_read(dataset, (sh_split)at.split, index, sample, target));
            note_values(&s, at, sample);
            note_target(&s, at, target);
            SH_TRY_DONE(note_digest(&s, at, sample, target));
        }
    find_equal(&s);
    json_t *root = describe(&s);
    if (s.failed) {
        json_decref(root);
        SH_TRY_DONE(sh_fail_memory(sizeof(json_t), "looking at the data"));
    }
    *json = root;
done:
    json_decref(s.description);
    free(s.counts);
    free(s.targets);
    free(s.least);
    free(s.most);
    free(s.entries);
    free(sample);
    free(target);
    return status;
}
