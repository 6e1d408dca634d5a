/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds WAV files from a description, and writes tones in any format of libsndfile, for tests.
 *
 *     const sound_wave wave = {.rate = 8000, .channels = 1, .samples = 4000, .hertz = 1000};
 *     sound_write("/tmp/x/yes/1.wav", &wave);
 *
 * Threads: one only. Failures fail the test.
 */
#ifndef SHOAL_DATA_SOUND_SOUND_FIXTURE_H
#define SHOAL_DATA_SOUND_SOUND_FIXTURE_H

#include <math.h>
#include <sndfile.h>
#include <sys/stat.h>

#include "base/library.h"
#include "base/scratch.h"

#define SOUND_TURN 6.283185307179586
#define SOUND_HEAD 44 /* bytes before the samples */

typedef struct sound_wave {
    uint32_t rate, channels, samples;
    double hertz; /* of a sine at half scale in the first channel; the others are silent */
} sound_wave;

static inline void sound_put(uint8_t *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline int16_t sound_sample_of(const sound_wave *wave, uint32_t index)
{
    return (int16_t)(16384 * sin(SOUND_TURN * wave->hertz * index / wave->rate));
}

/* 16-bit integers. Owned: free() it. */
static inline uint8_t *sound_bytes(size_t *count, const sound_wave *wave)
{
    const uint32_t data = wave->samples * wave->channels * 2;
    *count = SOUND_HEAD + (size_t)data;
    uint8_t *bytes = calloc(1, *count);
    assert_non_null(bytes);
    memcpy(bytes, "RIFF....WAVEfmt ", 16);
    sound_put(bytes + 4, 36 + data, 4);
    sound_put(bytes + 16, 16, 4);
    sound_put(bytes + 20, 1, 2); /* format: integers */
    sound_put(bytes + 22, wave->channels, 2);
    sound_put(bytes + 24, wave->rate, 4);
    sound_put(bytes + 28, wave->rate * wave->channels * 2, 4);
    sound_put(bytes + 32, wave->channels * 2, 2);
    sound_put(bytes + 34, 16, 2);
    memcpy(bytes + 36, "data", 4);
    sound_put(bytes + 40, data, 4);
    for (uint32_t i = 0; i < wave->samples; i++)
        sound_put(bytes + SOUND_HEAD + (size_t)i * wave->channels * 2,
                  (uint16_t)sound_sample_of(wave, i), 2);
    return bytes;
}

static inline void sound_write(const char *path, const sound_wave *wave)
{
    size_t count;
    uint8_t *bytes = sound_bytes(&count, wave);
    scratch_write(path, bytes, count);
    free(bytes);
}

/* Creates the folders of the path. Borrowed until the next call. */
static inline const char *sound_path(const char *name)
{
    static char path[SCRATCH_BYTES + 512];
    const int length = snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    assert_in_range(length, 1, sizeof path - 1);
    for (char *at = path + strlen(scratch_folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700); /* may exist */
        *at = '/';
    }
    return path;
}

/* Writes half a second of a tone to the scratch folder. */
static inline void sound_make(const char *name, double hertz)
{
    sound_write(sound_path(name), &(sound_wave){8000, 1, 4000, hertz});
}

typedef struct sound_writer {
    SH_LIBRARY_CALL(sf_open);
    SH_LIBRARY_CALL(sf_writef_float);
    SH_LIBRARY_CALL(sf_close);
} sound_writer;

/* Writes wave->samples frames of `values` in a format of libsndfile. */
static inline void sound_write_as(const char *path, int format, const sound_wave *wave,
                                  const float *values)
{
    static const sh_library_name names[] = {
        SH_LIBRARY_NAME(sound_writer, sf_open),
        SH_LIBRARY_NAME(sound_writer, sf_writef_float),
        SH_LIBRARY_NAME(sound_writer, sf_close),
    };
    static sh_library library = SH_LIBRARY("libsndfile.so.1", "libsndfile1", names);
    sound_writer writer;
    SF_INFO about = {
        .samplerate = (int)wave->rate, .channels = (int)wave->channels, .format = format};
    assert_ok(sh_library_load(&writer, &library));
    SNDFILE *file = writer.sf_open(path, SFM_WRITE, &about);
    assert_non_null(file);
    assert_int_equal(writer.sf_writef_float(file, values, wave->samples), wave->samples);
    assert_int_equal(writer.sf_close(file), 0);
}

#endif
