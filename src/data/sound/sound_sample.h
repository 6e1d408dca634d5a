/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a recording to a sample: a log-mel spectrogram of a fixed length.
 *
 * The recording is resampled to the rate (resampler.h). The middle of a longer recording is used; a
 * shorter one is centred in silence. Then spectrogram.h is applied.
 *
 *     sh_sound_form form = {.rate = 8000, .mels = 40, .frames = 98};
 *     SH_TRY(sh_sound_sampler_new(&sampler, &form));
 *     SH_TRY(sh_sound_sampler_run(sampler, values, fd, "yes/17.wav")); // values[98][40]
 *     sh_sound_sampler_free(sampler);
 *
 * Threads: any for sh_sound_sampler_run.
 */
#ifndef SHOAL_DATA_SOUND_SOUND_SAMPLE_H
#define SHOAL_DATA_SOUND_SOUND_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_SOUND_RATE 8000 /* default */
#define SH_SOUND_MELS 40
#define SH_SOUND_FRAMES_MOST 3000 /* 30 s */

typedef struct sh_sound_form {
    uint32_t rate; /* SH_SPECTROGRAM_RATE_LEAST .. _MOST */
    size_t mels;   /* 1 .. SH_SPECTROGRAM_MELS_MOST */
    size_t frames; /* 1 .. SH_SOUND_FRAMES_MOST */
} sh_sound_form;

typedef struct sh_sound_sampler sh_sound_sampler;

/* Owned; `form` is copied. */
sh_status sh_sound_sampler_new(sh_sound_sampler **sampler, const sh_sound_form *form) SHOAL_CHECKED;

/* Fills values[frames][mels]. `fd` is borrowed for the call. `name` is for messages. Fails as
 * sh_recording_open and sh_recording_read do. */
sh_status sh_sound_sampler_run(sh_sound_sampler *sampler, float *values, int fd,
                               const char *name) SHOAL_CHECKED;

void sh_sound_sampler_free(sh_sound_sampler *sampler);

#endif
