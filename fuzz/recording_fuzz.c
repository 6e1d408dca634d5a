/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes as a recording: an accepted file becomes a sample of finite numbers.
 * libsndfile decodes it, so findings may be libsndfile's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/sound/sound_sample.h"

#define FRAMES 5
#define MELS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sh_sound_sampler *sampler;
    static int fd = -1;
    const sh_sound_form form = {.rate = 8000, .mels = MELS, .frames = FRAMES};
    float values[FRAMES * MELS];
    if (sampler == NULL) {
        fd = memfd_create("recording", MFD_CLOEXEC);
        if (fd < 0 || sh_sound_sampler_new(&sampler, &form) != SH_OK)
            abort();
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    if (sh_sound_sampler_run(sampler, values, fd, "fuzzed") != SH_OK)
        return 0;
    for (int i = 0; i < FRAMES * MELS; i++)
        if (!isfinite(values[i]))
            abort();
    return 0;
}
