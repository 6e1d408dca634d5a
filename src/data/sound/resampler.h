/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts sound to another sample rate. The result is identical on every machine.
 *
 * Band-limited interpolation (J. O. Smith, "Digital Audio Resampling"): each output is a sum, in
 * double, of the inputs near its time, weighted by a sinc with a Blackman window that crosses zero
 * 32 times on each side. Tones above half the lower rate are attenuated by 70 dB; tones below 0.41
 * of the lower rate pass. Output j is at the time of input j * from / to. Inputs outside of the
 * recording count as silence.
 *
 *     sh_resampler *resampler;
 *     SH_TRY(sh_resampler_new(&resampler, 44100, 8000));
 *     sh_resampler_needs(resampler, first, count, &from, &length);
 *     sh_resampler_run(resampler, output, first, count, input, from, length);
 *     sh_resampler_free(resampler);
 *
 * Threads: any, except sh_resampler_free.
 */
#ifndef SHOAL_DATA_SOUND_RESAMPLER_H
#define SHOAL_DATA_SOUND_RESAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_resampler sh_resampler;

#define SH_RESAMPLER_RATE_MOST 768000 /* samples per second */

/* Rates must be 1 .. SH_RESAMPLER_RATE_MOST. Owned. */
sh_status sh_resampler_new(sh_resampler **resampler, uint32_t from, uint32_t to) SHOAL_CHECKED;

/* Outputs for `inputs` samples, at most 2^40: the same duration, rounded up. */
uint64_t sh_resampler_outputs(uint32_t from, uint32_t to, uint64_t inputs);

/* Outputs first .. first + count - 1 need `*inputs` inputs from `*from`. These may begin before the
 * recording (below 0) or end after it. */
void sh_resampler_needs(const sh_resampler *resampler, uint64_t first, size_t count, int64_t *from,
                        size_t *inputs);

/* Computes outputs first .. first + count - 1. `input` holds `inputs` samples from number `from`.
 * All others count as silence. */
void sh_resampler_run(const sh_resampler *resampler, float *output, uint64_t first, size_t count,
                      const float *input, int64_t from, size_t inputs);

void sh_resampler_free(sh_resampler *resampler);

#endif
