/* SPDX-License-Identifier: Apache-2.0 */
#include "data/trained.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/contents.h"
#include "data/description.h"

#define NAMED_MOST 8  /* classes in a message */
#define NAME_BYTES 64 /* per class, with NUL */

/* --- writing --- */

static json_t *figures_json(const float *figures, size_t count)
{
    json_t *list = json_array();
    for (size_t c = 0; c < count; c++)
        if (json_array_append_new(list, json_real((double)figures[c])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

sh_status sh_trained_text(char **text, const sh_dataset *dataset)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    const bool bytes = info->element == SH_ELEMENT_BYTE;
    const size_t channels = bytes ? info->channels : 0;
    json_t *about = sh_description_read(sh_dataset_description(dataset));
    if (about != NULL)
        (void)json_object_del(about, "notes");
    json_t *json = json_pack(
        "{s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:[I, I], s:o, s:o, s:s, s:o*}", "format", info->name,
        "channels", (json_int_t)info->channels, "height", (json_int_t)info->height, "width",
        (json_int_t)info->width, "element", bytes ? "byte" : "float", "target",
        sh_target_name(info->target), "outputs", (json_int_t)info->outputs, "samples",
        (json_int_t)info->count[SH_SPLIT_TRAIN], (json_int_t)info->count[SH_SPLIT_VALIDATION],
        "mean", figures_json(info->mean, channels), "deviation",
        figures_json(info->deviation, channels), "fingerprint", info->fingerprint, "description",
        about);
    char *fresh = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (fresh == NULL)
        return sh_fail_memory(4096, "a model's description of its data");
    if (strlen(fresh) > SH_TRAINED_BYTES_MOST) {
        free(fresh);
        fresh = NULL;
    }
    *text = fresh;
    return SH_OK;
}

/* --- reading --- */

static bool take_figures(float *figures, const json_t *list, size_t count)
{
    if (json_array_size(list) != count)
        return false;
    for (size_t c = 0; c < count; c++) {
        const json_t *value = json_array_get(list, c);
        figures[c] = (float)json_number_value(value);
        if (!json_is_number(value) || !isfinite(figures[c]))
            return false;
    }
    return true;
}

static bool take(sh_trained *trained)
{
    const char *element, *target, *fingerprint;
    json_int_t channels, height, width, outputs, train, validation;
    json_t *mean, *deviation;
    sh_dataset_info *info = &trained->info;
    if (json_unpack(trained->json,
                    "{s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:[I, I], s:o, s:o, s:s, s?o}", "format",
                    &info->name, "channels", &channels, "height", &height, "width", &width,
                    "element", &element, "target", &target, "outputs", &outputs, "samples", &train,
                    &validation, "mean", &mean, "deviation", &deviation, "fingerprint",
                    &fingerprint, "description", &trained->about) != 0)
        return false;
    const json_int_t side = SH_CONTENTS_SIDE_MOST;
    if (channels < 1 || channels > side || height < 1 || height > side || width < 1 ||
        width > side || outputs < 1 || outputs > UINT32_MAX / 2 || train < 1 ||
        train > UINT32_MAX || validation < 1 || validation > UINT32_MAX ||
        strlen(fingerprint) >= sizeof info->fingerprint || !sh_target_find(&info->target, target))
        return false;
    info->channels = (size_t)channels;
    info->height = (size_t)height;
    info->width = (size_t)width;
    info->outputs = (uint32_t)outputs;
    info->count[SH_SPLIT_TRAIN] = (uint32_t)train;
    info->count[SH_SPLIT_VALIDATION] = (uint32_t)validation;
    info->element = strcmp(element, "byte") == 0 ? SH_ELEMENT_BYTE : SH_ELEMENT_FLOAT;
    snprintf(info->fingerprint, sizeof info->fingerprint, "%s", fingerprint);
    if (info->element == SH_ELEMENT_FLOAT)
        return true;
    if (channels > SH_DATASET_CHANNELS_MOST || !take_figures(info->mean, mean, info->channels) ||
        !take_figures(info->deviation, deviation, info->channels))
        return false;
    for (size_t c = 0; c < info->channels; c++)
        if (!(info->deviation[c] > 0))
            return false;
    return true;
}

sh_status sh_trained_parse(sh_trained **trained, const char *text)
{
    sh_trained *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a model's description of its data");
    fresh->json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    if (fresh->json == NULL || !take(fresh)) {
        sh_trained_free(fresh);
        return sh_fail(SH_FORMAT, "the checkpoint's description of the training data is malformed");
    }
    *trained = fresh;
    return SH_OK;
}

void sh_trained_free(sh_trained *trained)
{
    if (trained == NULL)
        return;
    json_decref(trained->json);
    free(trained);
}

/* --- comparing --- */

sh_status sh_trained_class(uint32_t *number, const sh_trained *trained, const char *name)
{
    const json_t *classes = json_object_get(trained->about, "classes");
    const size_t count = json_array_size(classes);
    char list[512] = "", clean[256];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const char *known = json_string_value(json_array_get(classes, i));
        if (known == NULL)
            continue;
        if (strcmp(known, name) == 0) {
            *number = (uint32_t)i;
            return SH_OK;
        }
        if (i < NAMED_MOST && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                     sh_utf8_clean(clean, NAME_BYTES, known));
    }
    return sh_fail(SH_MISMATCH, "the run does not know the class '%s'; it knows %s%s",
                   sh_utf8_clean(clean, sizeof clean, name), list,
                   count > NAMED_MOST || used >= sizeof list ? ", ..." : "");
}

static sh_status check_classes(const sh_trained *trained, const char *description)
{
    json_t *about = json_loads(description, 0, NULL);
    const json_t *classes = json_object_get(about, "classes");
    sh_status status = SH_OK;
    for (size_t i = 0; i < json_array_size(classes) && status == SH_OK; i++) {
        const char *name = json_string_value(json_array_get(classes, i));
        uint32_t number = 0;
        char clean[256];
        if (name == NULL)
            continue;
        status = sh_trained_class(&number, trained, name);
        if (status == SH_OK && number != i)
            status = sh_fail(SH_MISMATCH,
                             "class %zu is '%s', which was class %" PRIu32
                             " in the training; data of all its classes is needed",
                             i, sh_utf8_clean(clean, sizeof clean, name), number);
    }
    json_decref(about);
    return status;
}

sh_status sh_trained_check(const sh_trained *trained, const sh_dataset_info *info,
                           const char *description)
{
    const sh_dataset_info *then = &trained->info;
    if (info->target != then->target)
        return sh_fail(SH_MISMATCH, "%s has targets for %s, but the run was trained for %s",
                       info->name, sh_target_name(info->target), sh_target_name(then->target));
    if (info->element != then->element || info->channels != then->channels ||
        (info->element == SH_ELEMENT_FLOAT &&
         (info->height != then->height || info->width != then->width)))
        return sh_fail(SH_MISMATCH,
                       "a sample of %s is %zux%zux%zu %s, but the run was trained with %zux%zux%zu "
                       "%s",
                       info->name, info->channels, info->height, info->width,
                       info->element == SH_ELEMENT_BYTE ? "bytes" : "numbers", then->channels,
                       then->height, then->width,
                       then->element == SH_ELEMENT_BYTE ? "bytes" : "numbers");
    if (info->target != SH_TARGET_SAMPLE && info->outputs != then->outputs)
        return sh_fail(SH_MISMATCH, "%s has %u %s, but the run was trained with %u", info->name,
                       info->outputs, info->target == SH_TARGET_NUMBERS ? "targets" : "classes",
                       then->outputs);
    if (description == NULL || json_object_get(trained->about, "classes") == NULL)
        return SH_OK;
    return check_classes(trained, description);
}
