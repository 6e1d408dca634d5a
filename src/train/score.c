/* SPDX-License-Identifier: Apache-2.0 */
#include "train/score.h"

#include <math.h>
#include <stddef.h>

#define UNIT 0x1p-24
#define LARGEST 0x1p15 /* limit of a sample's error: 2^25 samples do not overflow the score */

static uint64_t of_classes(uint32_t count, const int32_t *answers, const int32_t *targets)
{
    uint64_t right = 0;
    for (uint32_t i = 0; i < count; i++)
        right += answers[i] == targets[i];
    return right;
}

static uint64_t of_labels(size_t count, const float *logits, const float *targets)
{
    uint64_t right = 0;
    for (size_t i = 0; i < count; i++)
        right += (logits[i] > 0) == (targets[i] > 0.5f);
    return right;
}

/* For one sample. An error that is not finite counts as LARGEST. */
static uint64_t of_numbers(uint32_t outputs, const float *answers, const float *targets)
{
    double sum = 0;
    for (uint32_t i = 0; i < outputs; i++)
        sum += fabs((double)answers[i] - (double)targets[i]);
    const double mean = sum / outputs;
    return (uint64_t)llrint((mean < LARGEST ? mean : LARGEST) / UNIT);
}

uint64_t sh_score(sh_target target, uint32_t outputs, uint32_t count, const void *answers,
                  const void *targets)
{
    if (target == SH_TARGET_CLASS)
        return of_classes(count, answers, targets);
    const float *given = answers, *wanted = targets;
    if (target == SH_TARGET_LABELS)
        return of_labels((size_t)count * outputs, given, wanted);
    uint64_t score = 0;
    for (uint32_t i = 0; i < count; i++)
        score += of_numbers(outputs, given + (size_t)i * outputs, wanted + (size_t)i * outputs);
    return score;
}

double sh_score_figure(sh_target target, uint32_t outputs, uint64_t score, uint64_t samples)
{
    if (samples == 0)
        return 0;
    const double mean = (double)score / (double)samples;
    return target == SH_TARGET_CLASS    ? mean
           : target == SH_TARGET_LABELS ? mean / outputs
                                        : mean * UNIT;
}

const char *sh_score_name(sh_target target)
{
    return target == SH_TARGET_CLASS || target == SH_TARGET_LABELS ? "accuracy" : "mae";
}
