/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings sound from one number of samples a second to another, to the same bits on any machine.
 *
 *     sh_resampler *resampler;
 *     SH_TRY(sh_resampler_new(&resampler, 44100, 8000));
 *     sh_resampler_needs(resampler, first, count, &from, &length);
 *     sh_resampler_run(resampler, output, first, count, input, from, length);
 *     sh_resampler_free(resampler);
 *
 * A band-limited interpolation (J. O. Smith, "Digital Audio Resampling"): each output is a sum of
 * inputs near its time, weighted by a sinc under Blackman's window that crosses zero 32 times a
 * side. Tones above half the lower rate are gone (70 dB down), those below 0.41 of the lower rate
 * pass. The sum is in double. Output j lies at the time of input j * from / to. Inputs outside
 * the recording are silence.
 *
 * Threads: a resampler never changes: any may run it, several at once.
 */
#ifndef SHOAL_DATA_SOUND_RESAMPLER_H
#define SHOAL_DATA_SOUND_RESAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_resampler sh_resampler;

#define SH_RESAMPLER_RATE_MOST 768000 /* samples a second */

/* Rates are 1 .. SH_RESAMPLER_RATE_MOST. Owned: sh_resampler_free it. */
sh_status sh_resampler_new(sh_resampler **resampler, uint32_t from, uint32_t to) SHOAL_CHECKED;

/* How many outputs `inputs` samples make: as long in time, rounded up. At most 2^40 inputs. */
uint64_t sh_resampler_outputs(uint32_t from, uint32_t to, uint64_t inputs);

/* The inputs that the outputs first .. first + count - 1 are made of, `*inputs` from `*from` on,
 * some perhaps before the recording's begin (below 0) or behind its end. */
void sh_resampler_needs(const sh_resampler *resampler, uint64_t first, size_t count, int64_t *from,
                        size_t *inputs);

/* Outputs first .. first + count - 1. `input` holds the samples from number `from` on, `inputs` of
 * them; others count as silence. */
void sh_resampler_run(const sh_resampler *resampler, float *output, uint64_t first, size_t count,
                      const float *input, int64_t from, size_t inputs);

/* NULL is fine. */
void sh_resampler_free(sh_resampler *resampler);

#endif
