/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-mel spectrograms: how much of each pitch sounds when, on a scale like the ear's. The same
 * bits on any machine.
 *
 *     sh_spectrogram *spectrogram;
 *     SH_TRY(sh_spectrogram_new(&spectrogram, 8000, 40));
 *     SH_TRY(sh_spectrogram_run(spectrogram, values, sound, 98)); // values[98][40]
 *     sh_spectrogram_free(spectrogram);
 *
 * Definition, with R samples a second and M mels:
 *
 *     frame    R/40 samples (25 ms) from every R/100 (10 ms), rounded down; the first begins with
 *              the sound, none is padded
 *     window   Hann's, periodic: (1 - cos(2 pi n / frame)) / 2
 *     power    |X[k]|^2 (2 / sum of the window)^2, X being the Fourier transform of the frame
 *              with zeros behind it up to a power of two, 512 at least
 *     mels     M triangles of height 1 over M + 2 points that lie evenly between 20 Hz and R/2 on
 *              the scale 1127 ln(1 + f/700) (HTK's), each triangle straight in Hz
 *     value    2 + 2/3 log10(power in the triangle / the largest of all frames and triangles),
 *              at least -2: 60 dB are told apart, and how loud a recording is makes no difference;
 *              all -2 where nothing sounds (no power above 10^-11.5)
 *
 * Threads: it never changes: any may run it, several at once.
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

/* Samples of a frame, and from one to the next. */
static inline size_t sh_spectrogram_frame(uint32_t rate)
{
    return rate / 40;
}

static inline size_t sh_spectrogram_hop(uint32_t rate)
{
    return rate / 100;
}

/* Samples that `frames` frames take, at least 1 frame; and the frames that `samples` give: those
 * that lie in it wholly, at least 1. */
size_t sh_spectrogram_samples(uint32_t rate, size_t frames);
uint64_t sh_spectrogram_frames(uint32_t rate, uint64_t samples);

/* The points of the Fourier transform. */
size_t sh_spectrogram_points(uint32_t rate);

/* The rate and the mels are within the bounds above. Owned: sh_spectrogram_free it. */
sh_status sh_spectrogram_new(sh_spectrogram **spectrogram, uint32_t rate,
                             size_t mels) SHOAL_CHECKED;

/* Fills values[frames][mels] from `sound`, sh_spectrogram_samples of it, finite. Fails where memory
 * is out. */
sh_status sh_spectrogram_run(const sh_spectrogram *spectrogram, float *values, const float *sound,
                             size_t frames) SHOAL_CHECKED;

/* NULL is fine. */
void sh_spectrogram_free(sh_spectrogram *spectrogram);

#endif
