/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the samples of a recording in a WAV, FLAC, AIFF or OGG file. libsndfile decodes it, and is
 * loaded when the first recording is opened.
 *
 * Channels are averaged. Full scale is 1. The format is recognised by content, not by name. Samples
 * are identical on every machine, except for OGG, whose decoders round differently.
 *
 *     sh_recording *recording;
 *     SH_TRY(sh_recording_open(&recording, fd, "yes/17.wav"));
 *     const sh_recording_info *info = sh_recording_about(recording);
 *     SH_TRY(sh_recording_read(recording, samples, 0, info->samples));
 *     sh_recording_close(recording);
 *
 * Threads: any, on different recordings.
 */
#ifndef SHOAL_DATA_SOUND_RECORDING_H
#define SHOAL_DATA_SOUND_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_RECORDING_CHANNELS_MOST 64
#define SH_RECORDING_RATE_LEAST 100
#define SH_RECORDING_RATE_MOST 768000
#define SH_RECORDING_SAMPLES_MOST (UINT64_C(1) << 31) /* of a channel: half a day at 48 kHz */

typedef struct sh_recording sh_recording;

typedef struct sh_recording_info {
    uint32_t rate; /* per second */
    uint32_t channels;
    uint64_t samples; /* of each channel by the header, at least 1 */
} sh_recording_info;

/* True if the name has the extension of a recording. */
bool sh_recording_is_named(const char *name);

/*
 * `*recording` is owned; `fd` and `name` (for messages) are borrowed until sh_recording_close.
 * SH_FORMAT or SH_CORRUPT if the file is not a recording, is truncated or has no samples;
 * SH_UNSUPPORTED without libsndfile.
 */
sh_status sh_recording_open(sh_recording **recording, int fd, const char *name) SHOAL_CHECKED;

/* Borrowed until sh_recording_close. */
const sh_recording_info *sh_recording_about(const sh_recording *recording);

/*
 * Decodes the whole file and stores `count` samples from number `first`, which may be negative.
 * Samples outside of the recording are 0. Call it only once for a recording. SH_CORRUPT if the file
 * has fewer samples than its header says, or one is not finite.
 */
sh_status sh_recording_read(sh_recording *recording, float *samples, int64_t first,
                            size_t count) SHOAL_CHECKED;

void sh_recording_close(sh_recording *recording);

#endif
