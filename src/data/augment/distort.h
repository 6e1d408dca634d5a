/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Augments samples of numbers: series, [C][1][time], and spectrograms, [1][time][frequency].
 * Applies in this order:
 *
 *     shift   moves all values in time, then in frequency; values that enter repeat the edge
 *     scale   multiplies each channel by a factor (T. T. Um et al.: "Data augmentation of wearable
 *             sensor data for Parkinson's disease monitoring", ICMI 2017)
 *     noise   adds a normal random number to each value
 *     mask    sets a band of frequencies and one of times to 0, the mean of standardised values
 *             (D. S. Park et al.: "SpecAugment", Interspeech 2019)
 *
 * Threads: any, each with its own recording.
 */
#ifndef SHOAL_DATA_AUGMENT_DISTORT_H
#define SHOAL_DATA_AUGMENT_DISTORT_H

#include "data/augment.h"

typedef struct sh_recording {
    float *values;                    /* [C][H][W]; borrowed, changed in place */
    uint32_t channels, height, width; /* at least 1 */
} sh_recording;

/* Fails with SH_INVALID if a shift or mask is not smaller than the samples of data set `name`. */
sh_status sh_distort_check(const sh_augment *augment, const char *name, size_t height,
                           size_t width) SHOAL_CHECKED;

/* Augments sample `index`. sh_distort_check must have succeeded for its shape. */
void sh_distort(const sh_recording *recording, const sh_augment *augment, uint64_t seed,
                uint32_t epoch, uint32_t index);

#endif
