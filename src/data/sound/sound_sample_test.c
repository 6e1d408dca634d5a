/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/sound_sample.h"

#include <fcntl.h>

#include "data/sound/sound_fixture.h"

enum { MELS = 40, FRAMES = 48, VALUES = FRAMES * MELS };

static float values[VALUES], others[VALUES];

static void sample_tone(sh_sound_sampler *sampler, float *to, uint32_t rate, uint32_t length_ms,
                        double hertz)
{
    const uint32_t count = (uint32_t)((uint64_t)rate * length_ms / 1000);
    sound_write(sound_path("a.wav"), &(sound_wave){rate, 1, count, hertz});
    const int fd = open(sound_path("a.wav"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_ok(sh_sound_sampler_run(sampler, to, fd, "a.wav"));
    close(fd);
}

static sh_sound_sampler *make_sampler(void)
{
    sh_sound_sampler *sampler;
    const sh_sound_form form = {.rate = 8000, .mels = MELS, .frames = FRAMES};
    assert_ok(sh_sound_sampler_new(&sampler, &form));
    return sampler;
}

static size_t loudest(const float *row)
{
    size_t best = 0;
    for (size_t m = 0; m < MELS; m++)
        best = row[m] > row[best] ? m : best;
    return best;
}

static void rates_make_no_difference(void **state)
{
    (void)state;
    static const uint32_t rates[] = {11025, 16000, 22050, 24000, 32000, 44100,
                                     48000, 96000, 12345, 44101, 16000};
    sh_sound_sampler *sampler = make_sampler();
    sample_tone(sampler, values, 8000, 600, 1000);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        sample_tone(sampler, others, rates[i], 600, 1000);
        for (size_t frame = 2; frame < FRAMES - 2; frame++) {
            const float *a = values + frame * MELS, *b = others + frame * MELS;
            const size_t best = loudest(a);
            assert_int_equal(loudest(b), best);
            if (fabs((double)a[best] - (double)b[best]) > 0.01)
                fail_msg("%u: frame %zu has %f, not %f", rates[i], frame, (double)b[best],
                         (double)a[best]);
        }
    }
    sh_sound_sampler_free(sampler);
}

static void short_ones_stand_in_the_middle(void **state)
{
    (void)state;
    sh_sound_sampler *sampler = make_sampler();
    static const uint32_t rates[] = {8000, 16000};
    for (size_t i = 0; i < 2; i++) {
        sample_tone(sampler, values, rates[i], 195, 1000); /* in a sample of 495 ms */
        for (size_t frame = 0; frame < FRAMES; frame++) {
            const float *row = values + frame * MELS;
            const bool inside = frame >= 15 && frame <= 32, outside = frame < 11 || frame > 36;
            if (inside)
                assert_true(row[loudest(row)] > 1);
            if (outside)
                assert_true(row[loudest(row)] < -1.99f);
        }
    }
    sh_sound_sampler_free(sampler);
}

static void of_long_ones_the_middle_is_taken(void **state)
{
    (void)state;
    enum { LONG = 24000, MOST = 6 * LONG };
    static const uint32_t rates[] = {8000, 16000, 48000};
    static float sound[MOST];
    sh_sound_sampler *sampler = make_sampler();
    for (size_t k = 0; k < 3; k++) {
        const uint32_t rate = rates[k], times = rate / 8000;
        for (size_t i = 0; i < (size_t)LONG * times; i++) {
            const bool sounds = i >= 11000 * times && i < 13000 * times;
            sound[i] = sounds ? (float)sin(SOUND_TURN * 1000 * (double)i / rate) : 0;
        }
        sound_write_as(sound_path("a.wav"), SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                       &(sound_wave){rate, 1, LONG * times, 0}, sound);
        const int fd = open(sound_path("a.wav"), O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_ok(sh_sound_sampler_run(sampler, values, fd, "a.wav"));
        close(fd);
        /* 2000 of 3960 samples are frames 980 / 80 = 12 to (2980 - 200) / 80 = 34. */
        for (size_t frame = 0; frame < FRAMES; frame++) {
            const float *row = values + frame * MELS;
            if (frame >= 13 && frame <= 34)
                assert_true(row[loudest(row)] > 1.5f);
            else if (frame < 8 || frame > 39)
                assert_true(row[loudest(row)] < -1.9f);
        }
    }
    sh_sound_sampler_free(sampler);
}

static void a_single_sample_is_enough(void **state)
{
    (void)state;
    sh_sound_sampler *sampler = make_sampler();
    sound_write(sound_path("a.wav"), &(sound_wave){768000, 1, 1, 1000});
    const int fd = open(sound_path("a.wav"), O_RDONLY | O_CLOEXEC);
    assert_ok(sh_sound_sampler_run(sampler, values, fd, "a.wav"));
    close(fd);
    for (size_t i = 0; i < VALUES; i++)
        assert_true(isfinite(values[i]));
    sh_sound_sampler_free(sampler);
    sh_sound_sampler_free(NULL);
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(rates_make_no_difference),
        in_a_folder(short_ones_stand_in_the_middle),
        in_a_folder(of_long_ones_the_middle_is_taken),
        in_a_folder(a_single_sample_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
