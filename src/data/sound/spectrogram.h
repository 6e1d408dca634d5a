/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-mel spectrograms: the power of each frequency band over time, with bands as wide as the ear
 * distinguishes. The result is identical on every machine.
 *
 * With R samples per second and M mels:
 *
 *     frame    R/40 samples (25 ms) every R/100 (10 ms), rounded down; the first starts with the
 *              sound, none is padded
 *     window   Hann's, periodic: (1 - cos(2 pi n / frame)) / 2
 *     power    |X[k]|^2 (2 / sum of the window)^2, where X is the Fourier transform of the frame,
 *              padded with zeros to a power of two of at least 512
 *     mels     M triangles of height 1 over M + 2 points, equidistant between 20 Hz and R/2 on the
 *              scale 1127 ln(1 + f/700) (HTK's); each triangle is linear in Hz
 *     value    2 + 2/3 log10(power in the triangle / the largest of all frames and triangles), at
 *              least -2: the range is 60 dB, independent of the recording's volume; all -2 for
 *              silence (no power above 10^-11.5)
 *
 * Threads: any, except sh_spectrogram_free.
 */
#ifndef SHOAL_DATA_SOUND_SPECTROGRAM_H
#define SHOAL_DATA_SOUND_SPECTROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_spectrogram sh_spectrogram;

#define SH_SPECTROGRAM_RATE_LEAST 1000
#define SH_SPECTROGRAM_RATE_MOST 192000
#define SH_SPECTROGRAM_MELS_MOST 256

/* Samples of a frame, and from one frame to the next. */
static inline size_t sh_spectrogram_frame(uint32_t rate)
{
    return rate / 40;
}

static inline size_t sh_spectrogram_hop(uint32_t rate)
{
    return rate / 100;
}

/* The samples that `frames` frames (at least 1) take; the number of frames that lie completely
 * within `samples`, at least 1. */
size_t sh_spectrogram_samples(uint32_t rate, size_t frames);
uint64_t sh_spectrogram_frames(uint32_t rate, uint64_t samples);

/* Number of points of the Fourier transform. */
size_t sh_spectrogram_points(uint32_t rate);

/* Rate and mels must be within the bounds above. Owned. */
sh_status sh_spectrogram_new(sh_spectrogram **spectrogram, uint32_t rate,
                             size_t mels) SHOAL_CHECKED;

/* Fills values[frames][mels]. `sound` has sh_spectrogram_samples finite samples. SH_NO_MEMORY. */
sh_status sh_spectrogram_run(const sh_spectrogram *spectrogram, float *values, const float *sound,
                             size_t frames) SHOAL_CHECKED;

void sh_spectrogram_free(sh_spectrogram *spectrogram);

#endif
