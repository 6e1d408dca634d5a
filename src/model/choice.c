/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first matching rule applies:
 *
 *     the target is the sample itself            autoencoder
 *     one row: series, or several channels       cnn1d
 *     one row: anything else                     mlp, wider for more samples
 *     sides below 8                              mlp, as above
 *     audio                                      dscnn:s, dscnn:m from MANY samples on
 *     grey images with sides from 16 to 32       lenet
 *     sides up to 96, or one below 16            resnet:20, resnet:8 below FEW samples
 *     other images                               mobilenetv2:0.5, resnet18 from MANY samples on
 *
 * A small network overfits few samples less, and a large one is slow on small devices.
 */
#include "model/choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FEW 2000
#define MANY 20000

#define LEAST_SIDE 8 /* for convolutions */
#define LEAST_STEPS 4
#define LENET_LEAST 16
#define LENET_MOST 32
#define SMALL_SIDE                                                                                 \
    96 /* largest side for which a CIFAR network is fast enough; it learns from few photos */
#define LARGE_LEAST 16 /* for networks that halve the image five times */

static bool is_kind(const char *kind, const char *name)
{
    return strcmp(kind, name) == 0;
}

/* Chooses hidden layers by the number of samples, with at most 16 units per input. */
static void choose_dense(sh_model_choice *choice, size_t inputs, uint32_t samples)
{
    size_t width = samples < 500 ? 32 : samples < 5000 ? 64 : samples < 50000 ? 128 : 256;
    while (width > 16 && width > 16 * inputs)
        width /= 2;
    if (samples < 500)
        snprintf(choice->spec, sizeof choice->spec, "mlp:h%zu", width);
    else
        snprintf(choice->spec, sizeof choice->spec, "mlp:h%zu-%zu", width, width / 2);
}

static const char *choose_for_images(const sh_problem *problem, const char *kind, uint32_t samples)
{
    const size_t high = problem->height, wide = problem->width;
    const size_t least = high < wide ? high : wide, most = high < wide ? wide : high;
    if (is_kind(kind, "audio"))
        return samples < MANY ? "dscnn:s" : "dscnn:m";
    if (problem->channels == 1 && least >= LENET_LEAST && most <= LENET_MOST)
        return "lenet";
    if (most <= SMALL_SIDE || least < LARGE_LEAST)
        return samples < FEW ? "resnet:8" : "resnet:20";
    return samples < MANY ? "mobilenetv2:0.5" : "resnet18";
}

static void describe(char *text, size_t bytes, const sh_problem *problem, const char *kind)
{
    const size_t high = problem->height, wide = problem->width;
    const bool one_row = high == 1;
    if (one_row && (is_kind(kind, "series") || problem->channels > 1))
        snprintf(text, bytes, "%zu steps and %zu %s", wide, problem->channels,
                 problem->channels == 1 ? "channel" : "channels");
    else if (one_row)
        snprintf(text, bytes, "%zu %s", wide, wide == 1 ? "number" : "numbers");
    else if (is_kind(kind, "audio"))
        snprintf(text, bytes, "%zu frames of %zu bands", high, wide);
    else
        snprintf(text, bytes, "%zux%zu pixels and %zu %s", wide, high, problem->channels,
                 problem->channels == 1 ? "channel" : "channels");
}

void sh_model_choose(sh_model_choice *choice, const sh_problem *problem, const char *kind,
                     uint32_t samples)
{
    char sample[64];
    const size_t high = problem->height, wide = problem->width;
    const bool series = is_kind(kind, "series") || problem->channels > 1;
    const char *spec = NULL;
    if (problem->target == SH_TARGET_SAMPLE)
        spec = "autoencoder";
    else if (high == 1 && series && wide >= LEAST_STEPS)
        spec = "cnn1d";
    else if (high >= LEAST_SIDE && wide >= LEAST_SIDE)
        spec = choose_for_images(problem, kind, samples);
    if (spec == NULL)
        choose_dense(choice, problem->channels * high * wide, samples);
    else
        snprintf(choice->spec, sizeof choice->spec, "%s", spec);
    describe(sample, sizeof sample, problem, kind);
    snprintf(choice->why, sizeof choice->why, "%s for %" PRIu32 " samples of %s%s", choice->spec,
             samples, sample, problem->target == SH_TARGET_SAMPLE ? ", to be reconstructed" : "");
}
