/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What augmentation does to samples of numbers: series, [C][1][time], and recordings as
 * spectrograms, [1][time][frequency]. In this order:
 *
 *     shift   all moves in time, earlier or later, then in frequency, higher or lower, as another
 *             voice would sound; what comes in repeats the edge
 *     scale   each channel times a factor (T. T. Um et al.: "Data augmentation of wearable sensor
 *             data for Parkinson's disease monitoring", ICMI 2017)
 *     noise   a normal number is added to each
 *     mask    a band of frequencies and one of times become 0, the mean of standardised numbers
 *             (D. S. Park et al.: "SpecAugment", Interspeech 2019)
 *
 *     if (sh_augment_distorts(&augment))
 *         sh_distort(&(sh_recording){values, 1, 98, 40}, &augment, seed, epoch, index);
 *
 * Threads: any; a recording belongs to its caller.
 */
#ifndef SHOAL_DATA_AUGMENT_DISTORT_H
#define SHOAL_DATA_AUGMENT_DISTORT_H

#include "data/augment.h"

typedef struct sh_recording {
    float *values;                    /* [C][H][W]; borrowed, changed in place */
    uint32_t channels, height, width; /* at least 1 */
} sh_recording;

/* Fails with SH_INVALID where a shift or mask is not smaller than the samples; `name` is the
 * data's. */
sh_status sh_distort_check(const sh_augment *augment, const char *name, size_t height,
                           size_t width) SHOAL_CHECKED;

/* Changes the sample as sample `index` is seen in an epoch. It was checked. */
void sh_distort(const sh_recording *recording, const sh_augment *augment, uint64_t seed,
                uint32_t epoch, uint32_t index);

#endif
