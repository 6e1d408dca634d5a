/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/recording.h"

#include <fcntl.h>

#include "data/sound/sound_fixture.h"

enum { SAMPLES = 1000 };

static float samples[SAMPLES + 200], values[2 * SAMPLES];

static sh_status read_file(const char *path, sh_recording_info *info, int64_t first, size_t count)
{
    sh_recording *recording;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    sh_status status = sh_recording_open(&recording, fd, "a.wav");
    if (status == SH_OK) {
        *info = *sh_recording_about(recording);
        status = sh_recording_read(recording, samples, first, count);
        sh_recording_close(recording);
    }
    assert_int_equal(close(fd), 0); /* still open */
    return status;
}

static void samples_are_those_of_the_file(void **state)
{
    (void)state;
    const sound_wave wave = {8000, 1, SAMPLES, 440};
    sh_recording_info info;
    sound_write(sound_path("a.wav"), &wave);
    assert_ok(read_file(sound_path("a.wav"), &info, 0, SAMPLES));
    assert_int_equal(info.rate, 8000);
    assert_int_equal(info.channels, 1);
    assert_int_equal(info.samples, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_true(samples[i] == (float)sound_sample_of(&wave, i) / 32768);
}

static void outside_of_it_is_silence(void **state)
{
    (void)state;
    const sound_wave wave = {8000, 1, SAMPLES, 440};
    sh_recording_info info;
    sound_write(sound_path("a.wav"), &wave);
    assert_ok(read_file(sound_path("a.wav"), &info, -100, SAMPLES + 200));
    for (uint32_t i = 0; i < SAMPLES + 200; i++)
        assert_true(
            samples[i] ==
            (i < 100 || i >= SAMPLES + 100 ? 0 : (float)sound_sample_of(&wave, i - 100) / 32768));
    assert_ok(read_file(sound_path("a.wav"), &info, 300, 10));
    for (uint32_t i = 0; i < 10; i++)
        assert_true(samples[i] == (float)sound_sample_of(&wave, i + 300) / 32768);
}

static void channels_are_averaged(void **state)
{
    (void)state;
    const sound_wave wave = {8000, 2, SAMPLES, 440};
    sh_recording_info info;
    sound_write(sound_path("a.wav"), &wave);
    assert_ok(read_file(sound_path("a.wav"), &info, 0, SAMPLES));
    assert_int_equal(info.channels, 2);
    assert_int_equal(info.samples, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++)
        assert_true(samples[i] == (float)sound_sample_of(&wave, i) / 65536);
}

static const struct kind {
    const char *what;
    int format;
    double error;
} kinds[] = {
    {"WAV, 8 bits", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 0x1p-7},
    {"WAV, 24 bits", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 0x1p-23},
    {"WAV, 32 bits", SF_FORMAT_WAV | SF_FORMAT_PCM_32, 0x1p-24},
    {"WAV, floats", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 0},
    {"WAV, doubles", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 0},
    {"WAV, mu law", SF_FORMAT_WAV | SF_FORMAT_ULAW, 0.02},
    {"WAV, extensible", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 0x1p-15},
    {"FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 0x1p-15},
    {"AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 0x1p-15},
    {"OGG", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.1},
};

static void every_kind_is_read(void **state)
{
    (void)state;
    const sound_wave wave = {16000, 1, SAMPLES, 440};
    for (uint32_t i = 0; i < SAMPLES; i++)
        values[i] = (float)sin(SOUND_TURN * 440 * i / 16000) / 2;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        sh_recording_info info;
        sound_write_as(sound_path("a.x"), kinds[k].format, &wave, values);
        assert_ok(read_file(sound_path("a.x"), &info, 0, SAMPLES));
        assert_int_equal(info.rate, 16000);
        assert_int_equal(info.samples, SAMPLES);
        for (uint32_t i = 0; i < SAMPLES; i++)
            if (!(fabs((double)samples[i] - (double)values[i]) <= kinds[k].error))
                fail_msg("%s: sample %u is %f, not %f", kinds[k].what, i, (double)samples[i],
                         (double)values[i]);
    }
}

static const struct damage {
    const char *what;
    size_t at;      /* of the change; 0: none */
    uint32_t value; /* 4 bytes */
    size_t count;   /* bytes of the file; 0: all */
    sh_status code;
    const char *part;
} damages[] = {
    {"empty", 0, 0, 1, SH_FORMAT, "begins with 0x52000000"},
    {"cut in its header", 0, 0, 30, SH_CORRUPT,
     "has a wrong header: a part of 16 bytes at byte 20"},
    {"cut before the samples", 0, 0, 36, SH_CORRUPT, "has a header and no samples: it is cut off"},
    {"cut", 0, 0, 1044, SH_CORRUPT,
     "a.wav: is cut off: its header promises 2000 bytes of samples, 1000 are there"},
    {"cut by one", 0, 0, 2043, SH_CORRUPT, "promises 2000 bytes of samples, 1999 are there"},
    {"without samples", 40, 0, 44, SH_CORRUPT, "a.wav: has no samples"},
    {"other magic", 8, 0x20495641, 0, SH_FORMAT, "is not in WAV, FLAC, AIFF or OGG"},
    {"text", 0, 0x20656854, 0, SH_FORMAT, "it begins with 0x54686520; convert it, for example"},
    {"a long part", 16, 5000, 0, SH_CORRUPT, "a wrong header: a part of 5000 bytes at byte 20"},
    {"unknown codec", 20, 0x0001beef, 0, SH_FORMAT, "an invalid header, or samples in"},
    {"rate of 0", 24, 0, 0, SH_FORMAT, "a.wav: has "},
    {"rate of 2^31", 24, 0x80000000, 0, SH_FORMAT, "a.wav: has "},
    {"rate of 50", 24, 50, 0, SH_FORMAT, "has 50 samples a second; 100 to 768000 can be read"},
    {"100 channels", 20, 0x00640001, 0, SH_FORMAT, "a.wav: has "},
};

static void damaged_files_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        size_t count;
        uint8_t *bytes = sound_bytes(&count, &(sound_wave){8000, 1, SAMPLES, 440});
        sh_recording_info info;
        if (d->at > 0 || d->value > 0)
            sound_put(bytes + d->at, d->value, 4);
        scratch_write(sound_path("a.wav"), bytes, d->count > 0 ? d->count : count);
        free(bytes);
        const sh_status status = read_file(sound_path("a.wav"), &info, 0, SAMPLES);
        if (status != d->code || strstr(sh_message(), d->part) == NULL ||
            strstr(sh_message(), "a.wav: ") == NULL)
            fail_msg("%s: %s (%s)", d->what, sh_message(), sh_status_text(status));
    }
    sh_recording_info info;
    scratch_write(sound_path("a.wav"), "", 0);
    assert_fails(read_file(sound_path("a.wav"), &info, 0, 1), SH_CORRUPT, "a.wav: is empty");
    assert_fails(read_file(scratch_folder, &info, 0, 1), SH_FORMAT, "is not a regular file");
}

static void a_length_that_was_unknown_is_let_through(void **state)
{
    (void)state;
    size_t count;
    uint8_t *bytes = sound_bytes(&count, &(sound_wave){8000, 1, SAMPLES, 440});
    sh_recording_info info;
    sound_put(bytes + 4, 0xffffffff, 4);
    sound_put(bytes + 40, 0xffffffff, 4);
    scratch_write(sound_path("a.wav"), bytes, count);
    free(bytes);
    assert_ok(read_file(sound_path("a.wav"), &info, 0, SAMPLES));
    assert_int_equal(info.samples, SAMPLES);
}

static void flac_that_is_cut_off_is_named(void **state)
{
    (void)state;
    struct stat about;
    sh_recording_info info;
    for (uint32_t i = 0; i < SAMPLES; i++)
        values[i] = (float)((i * 7919) % 1000) / 1000;
    const char *path = sound_path("a.flac");
    sound_write_as(path, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, &(sound_wave){8000, 1, SAMPLES, 0},
                   values);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size / 2), 0);
    assert_fails(read_file(path, &info, 0, SAMPLES), SH_CORRUPT, "is cut off or damaged");
}

/* Any decoder of libsndfile may fail. */
static void beginnings_alone_are_refused(void **state)
{
    (void)state;
    static const char *const begins[] = {"OggS", "fLaC", "OggS\0\2", "RIFF....WAVE",
                                         "FORM....AIFF"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        uint8_t bytes[64] = {0};
        sh_recording_info info;
        memcpy(bytes, begins[i], strlen(begins[i]));
        scratch_write(sound_path("a.wav"), bytes, sizeof bytes);
        const sh_status status = read_file(sound_path("a.wav"), &info, 0, 1);
        assert_true(status == SH_FORMAT || status == SH_CORRUPT);
        assert_non_null(strstr(sh_message(), "a.wav: "));
    }
}

static void what_is_no_number_is_named(void **state)
{
    (void)state;
    sh_recording_info info;
    for (uint32_t i = 0; i < SAMPLES; i++)
        values[i] = i == 77 ? NAN : 0.1f;
    sound_write_as(sound_path("a.wav"), SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                   &(sound_wave){8000, 1, SAMPLES, 0}, values);
    assert_fails(read_file(sound_path("a.wav"), &info, 0, SAMPLES), SH_CORRUPT,
                 "a.wav: sample 77 is not a number");
}

static void names_of_recordings_are_known(void **state)
{
    (void)state;
    static const char *const good[] = {"a.wav", "A.WAV", ".b.Flac", "x.y.ogg", "z.AIFF", "z.aif"};
    static const char *const bad[] = {"wav", "a.wavx", "a.mp3", "a", "", "a.wav.txt", "."};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(sh_recording_is_named(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sh_recording_is_named(bad[i]));
    sh_recording_close(NULL);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(samples_are_those_of_the_file),
        in_a_folder(outside_of_it_is_silence),
        in_a_folder(channels_are_averaged),
        in_a_folder(every_kind_is_read),
        in_a_folder(damaged_files_are_named),
        in_a_folder(a_length_that_was_unknown_is_let_through),
        in_a_folder(flac_that_is_cut_off_is_named),
        in_a_folder(beginnings_alone_are_refused),
        in_a_folder(what_is_no_number_is_named),
        cmocka_unit_test(names_of_recordings_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
