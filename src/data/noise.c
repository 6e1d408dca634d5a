/* SPDX-License-Identifier: Apache-2.0 */
/* Noise of any shape, for measuring training speed and planning without data. With --task
 * reconstruction, classes are ignored. Knuth's MMIX linear congruence is random enough and fast. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset_impl.h"

#define USAGE "noise:CHANNELSxHEIGHTxWIDTH/CLASSES[/TRAIN/VALIDATION]"
#define MOST_ELEMENTS ((size_t)1 << 24) /* per sample */
#define MOST_SAMPLES 100000000
#define USUAL_TRAIN 10000
#define USUAL_VALIDATION 1000

static sh_status read_noise(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                            void *target)
{
    uint8_t *bytes = sample;
    const sh_dataset_info *info = &dataset->info;
    const size_t elements = sh_dataset_bytes(info);
    uint64_t state = (uint64_t)index * 2 + (uint64_t)split;
    for (size_t i = 0; i < elements; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(state >> 56);
    }
    if (info->target == SH_TARGET_CLASS)
        *(int32_t *)target = (int32_t)(index % info->outputs);
    return SH_OK;
}

static bool parse(sh_dataset_info *info, const char *text)
{
    size_t classes, train = USUAL_TRAIN, validation = USUAL_VALIDATION;
    if (!sh_count_read(&text, 4096, 'x', &info->channels) ||
        !sh_count_read(&text, 4096, 'x', &info->height) ||
        !sh_count_read(&text, 4096, '/', &info->width))
        return false;
    const char *counts = strchr(text, '/');
    if (!sh_count_read(&text, 1000000, counts == NULL ? '\0' : '/', &classes) || classes < 2)
        return false;
    if (counts != NULL && (!sh_count_read(&text, MOST_SAMPLES, '/', &train) ||
                           !sh_count_read(&text, MOST_SAMPLES, '\0', &validation)))
        return false;
    info->outputs = (uint32_t)classes;
    info->count[SH_SPLIT_TRAIN] = (uint32_t)train;
    info->count[SH_SPLIT_VALIDATION] = (uint32_t)validation;
    return info->channels <= SH_DATASET_CHANNELS_MOST && sh_dataset_bytes(info) <= MOST_ELEMENTS;
}

static const sh_dataset_ops noise_ops = {.read = read_noise};

static sh_status open_noise(sh_dataset **dataset, const sh_format *format, const char *argument,
                            const sh_read_options *options)
{
    sh_dataset_info info = {.name = format->name};
    if (argument == NULL || !parse(&info, argument))
        return sh_fail(SH_INVALID,
                       "noise:%.60s: must be " USAGE ", such as noise:3x32x32/10, with at most %d "
                       "channels",
                       argument == NULL ? "" : argument, SH_DATASET_CHANNELS_MOST);
    if (options != NULL && options->task != NULL &&
        strcmp(options->task, sh_target_name(SH_TARGET_SAMPLE)) == 0) {
        info.target = SH_TARGET_SAMPLE;
        info.outputs = (uint32_t)sh_dataset_elements(&info);
    }
    for (size_t i = 0; i < info.channels; i++) { /* of uniform bytes */
        info.mean[i] = 0.5f;
        info.deviation[i] = 0.289f;
    }
    const uint64_t facts[] = {info.channels, info.height,   info.width,
                              info.outputs,  info.count[0], info.count[1]};
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    sh_digest_add(digest, "noise", 5);
    sh_digest_add(digest, facts, sizeof facts);
    SH_TRY(sh_digest_finish(digest, info.fingerprint));
    sh_dataset *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "samples of noise");
    fresh->ops = &noise_ops;
    fresh->info = info;
    *dataset = fresh;
    return SH_OK;
}

const sh_format sh_noise_format = {.name = "noise", .open = open_noise};
