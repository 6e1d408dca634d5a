/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsndfile is lenient: from a truncated file it returns the samples that exist. So this file
 * first checks the chunks of WAV and AIFF files: all that the header promises must be there.
 * Programs that write to a pipe store the largest number as the length, which is accepted.
 */
#include "data/sound/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sndfile.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library.h"
#include "data/extent.h"

#define BLOCK_VALUES 16384 /* decoded at once, of all channels */
#define CHUNKS_MOST 256
#define UNKNOWN_FROM 0x7ffff000u /* lengths from here on mean "unknown" */

typedef struct sound_calls {
    SH_LIBRARY_CALL(sf_open_virtual);
    SH_LIBRARY_CALL(sf_readf_float);
    SH_LIBRARY_CALL(sf_close);
} sound_calls;

struct sh_recording {
    sound_calls calls;
    SNDFILE *file;
    int fd;
    int64_t bytes, at; /* size of the file; libsndfile's position in it */
    const char *name;
    sh_recording_info info;
};

static sh_status load(sound_calls *calls)
{
    static const sh_library_name names[] = {
        SH_LIBRARY_NAME(sound_calls, sf_open_virtual),
        SH_LIBRARY_NAME(sound_calls, sf_readf_float),
        SH_LIBRARY_NAME(sound_calls, sf_close),
    };
    static sh_library library = SH_LIBRARY("libsndfile.so.1", "libsndfile1", names);
    return sh_library_load(calls, &library);
}

bool sh_recording_is_named(const char *name)
{
    static const char *const endings[] = {"wav", "wave", "flac", "aif", "aiff", "ogg", "oga"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

/* --- checks before libsndfile opens the file --- */

static uint32_t number_at(const uint8_t *bytes, bool big)
{
    return big ? (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
                     bytes[3]
               : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 |
                     bytes[0];
}

/* A chunk is a name of 4 bytes, a length, and content padded to an even length. */
static sh_status check_chunks(int fd, const char *name, uint64_t file_bytes, bool big)
{
    const char *wanted = big ? "SSND" : "data";
    uint64_t at = 12;
    for (int i = 0; i < CHUNKS_MOST; i++) {
        uint8_t head[8];
        size_t got;
        SH_TRY(sh_fail_in(sh_extent_read(&got, fd, at, head, sizeof head), "%s", name));
        if (got < sizeof head)
            return sh_fail(SH_CORRUPT,
                           "%s: has a header and no samples: it is cut off; copy or record it "
                           "again",
                           name);
        const uint32_t length = number_at(head + 4, big);
        at += sizeof head;
        const uint64_t left = file_bytes > at ? file_bytes - at : 0;
        if (memcmp(head, wanted, 4) == 0 || memcmp(head, "data", 4) == 0) {
            if (length > left && length < UNKNOWN_FROM)
                return sh_fail(SH_CORRUPT,
                               "%s: is cut off: its header promises %" PRIu32
                               " bytes of samples, %" PRIu64 " are there; copy or record it again",
                               name, length, left);
            return SH_OK;
        }
        if (length > left)
            return sh_fail(SH_CORRUPT,
                           "%s: has a wrong header: a part of %" PRIu32 " bytes at byte %" PRIu64
                           " ends after the file; copy or record it again",
                           name, length, at);
        at += (uint64_t)length + (length & 1);
    }
    return sh_fail(SH_FORMAT, "%s: none of its first %d parts holds samples", name, CHUNKS_MOST);
}

static sh_status check_file(int64_t *bytes, int fd, const char *name)
{
    struct stat about;
    uint8_t head[12] = {0};
    size_t got;
    if (fstat(fd, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot examine it", name);
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_FORMAT, "%s: is not a regular file", name);
    *bytes = about.st_size;
    if (about.st_size == 0)
        return sh_fail(SH_CORRUPT, "%s: is empty; copy or record it again", name);
    SH_TRY(sh_fail_in(sh_extent_read(&got, fd, 0, head, sizeof head), "%s", name));
    const bool wave = memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WAVE", 4) == 0;
    const bool aiff = memcmp(head, "FORM", 4) == 0 && memcmp(head + 8, "AIF", 3) == 0;
    if (wave || aiff)
        return check_chunks(fd, name, (uint64_t)about.st_size, aiff);
    if (memcmp(head, "fLaC", 4) != 0 && memcmp(head, "OggS", 4) != 0)
        return sh_fail(SH_FORMAT,
                       "%s: is not in WAV, FLAC, AIFF or OGG, despite its name: it begins with "
                       "0x%02x%02x%02x%02x; convert it, for example with ffmpeg -i FILE NEW.wav",
                       name, head[0], head[1], head[2], head[3]);
    return SH_OK;
}

/* --- file access for libsndfile --- */

/* These replace sf_open_fd, which closes the descriptor if it fails with an OGG file, even if told
 * not to. */

static sf_count_t file_bytes(void *context)
{
    return ((const sh_recording *)context)->bytes;
}

static sf_count_t file_seek(sf_count_t offset, int whence, void *context)
{
    sh_recording *r = context;
    const int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? r->at : r->bytes;
    int64_t to;
    if (__builtin_add_overflow(from, (int64_t)offset, &to) || to < 0)
        return -1;
    r->at = to;
    return to;
}

static sf_count_t file_read(void *bytes, sf_count_t count, void *context)
{
    sh_recording *r = context;
    size_t got;
    if (count <= 0 || sh_extent_read(&got, r->fd, (uint64_t)r->at, bytes, (size_t)count) != SH_OK)
        return 0;
    r->at += (int64_t)got;
    return (sf_count_t)got;
}

static sf_count_t file_write(const void *bytes, sf_count_t count, void *context)
{
    (void)bytes;
    (void)count;
    (void)context;
    return 0;
}

static sf_count_t file_tell(void *context)
{
    return ((const sh_recording *)context)->at;
}

/* --- decoding --- */

sh_status sh_recording_open(sh_recording **recording, int fd, const char *name)
{
    sound_calls calls;
    SF_INFO about = {0};
    SF_VIRTUAL_IO file = {file_bytes, file_seek, file_read, file_write, file_tell};
    int64_t bytes;
    SH_TRY(check_file(&bytes, fd, name));
    SH_TRY(load(&calls));
    sh_recording *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a recording");
    fresh->calls = calls;
    fresh->name = name;
    fresh->fd = fd;
    fresh->bytes = bytes;
    fresh->file = calls.sf_open_virtual(&file, SFM_READ, &about, fresh);
    sh_status status = SH_OK;
    if (fresh->file == NULL)
        status = sh_fail(SH_FORMAT,
                         "%s: has an invalid header, or samples in a form that libsndfile does not "
                         "read; convert it, for example with ffmpeg -i FILE NEW.wav",
                         name);
    else if (about.frames <= 0)
        status = sh_fail(SH_CORRUPT, "%s: has no samples; record it again or remove it", name);
    else if (about.frames > (sf_count_t)SH_RECORDING_SAMPLES_MOST)
        status = sh_fail(SH_FORMAT, "%s: claims %" PRId64 " samples, more than %" PRIu64, name,
                         (int64_t)about.frames, SH_RECORDING_SAMPLES_MOST);
    else if (about.samplerate < SH_RECORDING_RATE_LEAST ||
             about.samplerate > SH_RECORDING_RATE_MOST)
        status = sh_fail(SH_FORMAT, "%s: has %d samples a second; %d to %d can be read", name,
                         about.samplerate, SH_RECORDING_RATE_LEAST, SH_RECORDING_RATE_MOST);
    else if (about.channels < 1 || about.channels > SH_RECORDING_CHANNELS_MOST)
        status = sh_fail(SH_FORMAT, "%s: has %d channels; 1 to %d can be read", name,
                         about.channels, SH_RECORDING_CHANNELS_MOST);
    if (status != SH_OK) {
        sh_recording_close(fresh);
        return status;
    }
    fresh->info = (sh_recording_info){(uint32_t)about.samplerate, (uint32_t)about.channels,
                                      (uint64_t)about.frames};
    *recording = fresh;
    return SH_OK;
}

const sh_recording_info *sh_recording_about(const sh_recording *recording)
{
    return &recording->info;
}

static double mean_of(const float *values, uint32_t channels)
{
    double sum = 0;
    for (uint32_t c = 0; c < channels; c++)
        sum += (double)values[c];
    return sum / channels;
}

/* `block` has BLOCK_VALUES. */
static sh_status decode(sh_recording *r, float *samples, int64_t first, size_t count, float *block)
{
    const uint32_t channels = r->info.channels;
    const sf_count_t most = BLOCK_VALUES / (sf_count_t)channels;
    const int64_t all = (int64_t)r->info.samples;
    for (int64_t at = 0; at < all;) {
        const sf_count_t want = all - at < most ? all - at : most;
        const sf_count_t got = r->calls.sf_readf_float(r->file, block, want);
        if (got <= 0 || got > want)
            return sh_fail(SH_CORRUPT,
                           "%s: is cut off or damaged: its header promises %" PRIu64
                           " samples, %" PRId64 " can be read; copy or record it again",
                           r->name, r->info.samples, at);
        for (sf_count_t i = 0; i < got; i++) {
            const double mean = mean_of(block + i * channels, channels);
            if (!isfinite(mean))
                return sh_fail(SH_CORRUPT, "%s: sample %" PRId64 " is not a number", r->name,
                               at + i);
            const int64_t place = at + i - first;
            if (place >= 0 && (uint64_t)place < count)
                samples[place] = (float)mean;
        }
        at += got;
    }
    return SH_OK;
}

sh_status sh_recording_read(sh_recording *recording, float *samples, int64_t first, size_t count)
{
    memset(samples, 0, count * sizeof *samples);
    float *block = malloc(BLOCK_VALUES * sizeof *block);
    if (block == NULL)
        return sh_fail_memory(BLOCK_VALUES * sizeof *block, "a recording");
    const sh_status status = decode(recording, samples, first, count, block);
    free(block);
    return status;
}

void sh_recording_close(sh_recording *recording)
{
    if (recording == NULL)
        return;
    if (recording->file != NULL)
        recording->calls.sf_close(recording->file);
    free(recording);
}
