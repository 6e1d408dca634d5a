/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a recording in a file: WAV, FLAC, AIFF or OGG, by libsndfile, which is loaded when
 * the first one is opened.
 *
 *     sh_recording *recording;
 *     SH_TRY(sh_recording_open(&recording, fd, "yes/17.wav"));
 *     const sh_recording_info *info = sh_recording_about(recording);
 *     SH_TRY(sh_recording_read(recording, samples, 0, info->samples));
 *     sh_recording_close(recording);
 *
 * Channels are averaged; 1 is full scale. Files are told apart by how they begin, not by their
 * names. The bits are the same everywhere, but for OGG, whose decoders round differently.
 *
 * Threads: one at a time for each recording.
 */
#ifndef SHOAL_DATA_SOUND_RECORDING_H
#define SHOAL_DATA_SOUND_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_RECORDING_CHANNELS_MOST 64
#define SH_RECORDING_RATE_LEAST 100
#define SH_RECORDING_RATE_MOST 768000
#define SH_RECORDING_SAMPLES_MOST (UINT64_C(1) << 31) /* of each channel: half a day at 48 kHz */

typedef struct sh_recording sh_recording;

typedef struct sh_recording_info {
    uint32_t rate; /* samples a second */
    uint32_t channels;
    uint64_t samples; /* of each channel, at least 1, as the file says */
} sh_recording_info;

/* Whether a file's name ends as those of recordings do. */
bool sh_recording_is_named(const char *name);

/*
 * Reads the header. `fd` is borrowed until the recording is closed;
 * `name` is for messages and borrowed likewise. Fails with SH_FORMAT or SH_CORRUPT where the file
 * is no recording, is cut off or has no samples, and with SH_UNSUPPORTED where libsndfile is
 * missing.
 */
sh_status sh_recording_open(sh_recording **recording, int fd, const char *name) SHOAL_CHECKED;

/* Borrowed until it is closed. */
const sh_recording_info *sh_recording_about(const sh_recording *recording);

/*
 * Decodes all of the file, once, and keeps `count` samples from number `first` on; those that lie
 * outside of it are 0. `first` may be negative. SH_CORRUPT where the file holds fewer samples than
 * it says or one is no number.
 */
sh_status sh_recording_read(sh_recording *recording, float *samples, int64_t first,
                            size_t count) SHOAL_CHECKED;

/* NULL is fine. */
void sh_recording_close(sh_recording *recording);

#endif
