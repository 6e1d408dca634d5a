/* SPDX-License-Identifier: Apache-2.0 */
#include "train/class_weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define DIGITS_MOST 15 /* such a number and its power of ten are exact as doubles */
#define MILLION 1000000

/* Moves *text past the number. False if there is none. */
static bool read_weight(const char **text, float *weight)
{
    uint64_t digits = 0;
    double below = 1;
    int count = 0;
    bool point = false;
    for (;; ++*text) {
        const char c = **text;
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        if (++count > DIGITS_MOST)
            return false;
        digits = digits * 10 + (uint64_t)(c - '0');
        if (point)
            below *= 10;
    }
    *weight = (float)((double)digits / below);
    return count > 0 && *weight > 0;
}

static bool is_without(const char *text)
{
    return text[0] == '\0' || strcmp(text, SH_CLASS_WEIGHTS_BALANCED) == 0;
}

/* Stores the first `room` numbers. `*count` is the number of all. */
static sh_status read_all(const char *text, float *weights, uint32_t room, uint32_t *count)
{
    *count = 0;
    for (const char *at = text;; at++) {
        float weight;
        if (!read_weight(&at, &weight) || (*at != ',' && *at != '\0'))
            return sh_fail(SH_INVALID,
                           "--class-weights %.64s: write balanced, or a number above 0 for each "
                           "class, such as 1,2.5,1",
                           text);
        if (*count < room)
            weights[*count] = weight;
        ++*count;
        if (*at == '\0')
            return SH_OK;
    }
}

sh_status sh_class_weights_check(const char *text)
{
    uint32_t count;
    return is_without(text) ? SH_OK : read_all(text, NULL, 0, &count);
}

sh_status sh_class_weights_parse(float **weights, const char *text, uint32_t classes)
{
    uint32_t count;
    *weights = NULL;
    if (is_without(text))
        return SH_OK;
    float *fresh = calloc(classes, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(classes * sizeof *fresh, "the weights of classes");
    sh_status status = read_all(text, fresh, classes, &count);
    if (status == SH_OK && count != classes)
        status = sh_fail(SH_INVALID, "--class-weights: %u weights for %u classes", count, classes);
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    *weights = fresh;
    return SH_OK;
}

static sh_status count_samples(uint32_t *counts, const sh_dataset *dataset)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    sh_status status = SH_OK;
    void *sample = malloc(sh_dataset_bytes(info));
    if (sample == NULL)
        return sh_fail_memory(sh_dataset_bytes(info), "a sample");
    for (uint32_t i = 0; i < info->count[SH_SPLIT_TRAIN]; i++) {
        int32_t class;
        SH_TRY_DONE(sh_dataset_read_target(dataset, SH_SPLIT_TRAIN, i, sample, &class));
        counts[class]++;
    }
done:
    free(sample);
    return status;
}

static sh_status write_weights(char text[SH_CLASS_WEIGHTS_BYTES], const uint32_t *counts,
                               const sh_dataset_info *info)
{
    size_t used = 0;
    for (uint32_t k = 0; k < info->outputs; k++) {
        if (counts[k] == 0)
            return sh_fail(SH_INVALID,
                           "--class-weights balanced: class %u has no training sample; give the "
                           "weights as numbers",
                           k);
        const double weight =
            (double)info->count[SH_SPLIT_TRAIN] / ((double)info->outputs * (double)counts[k]);
        const uint64_t millionths = (uint64_t)(weight * MILLION + 0.5);
        used +=
            (size_t)snprintf(text + used, SH_CLASS_WEIGHTS_BYTES - used, "%s%" PRIu64 ".%06" PRIu64,
                             k > 0 ? "," : "", millionths / MILLION, millionths % MILLION);
        if (used >= SH_CLASS_WEIGHTS_BYTES)
            return sh_fail(SH_LIMIT,
                           "--class-weights balanced: a job has no room for the weights of %u "
                           "classes",
                           info->outputs);
    }
    return SH_OK;
}

sh_status sh_class_weights_balance(char text[SH_CLASS_WEIGHTS_BYTES], const sh_dataset *dataset)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    if (info->target != SH_TARGET_CLASS)
        return sh_fail(SH_INVALID, "--class-weights: %s has targets for %s, not classes",
                       info->name, sh_target_name(info->target));
    uint32_t *counts = calloc(info->outputs, sizeof *counts);
    if (counts == NULL)
        return sh_fail_memory(info->outputs * sizeof *counts, "the weights of classes");
    sh_status status = count_samples(counts, dataset);
    if (status == SH_OK)
        status = write_weights(text, counts, info);
    free(counts);
    return status;
}
