/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/spectrogram.h"

#include <math.h>

#include "base/test.h"

#define TURN 6.283185307179586

enum { MELS = 40, FRAMES = 6, MOST = 20000 };

static const uint32_t rates[] = {1000, 4000, 8000, 11025, 16000, 22050, 44100, 48000, 192000};

static float sound[MOST], values[FRAMES * SH_SPECTROGRAM_MELS_MOST];

static void run(uint32_t rate, size_t mels, size_t frames)
{
    sh_spectrogram *spectrogram;
    assert_in_range(sh_spectrogram_samples(rate, frames), 1, MOST);
    assert_ok(sh_spectrogram_new(&spectrogram, rate, mels));
    assert_ok(sh_spectrogram_run(spectrogram, values, sound, frames));
    sh_spectrogram_free(spectrogram);
}

static void make_tone(double hertz, double amplitude, uint32_t rate)
{
    for (size_t i = 0; i < MOST; i++)
        sound[i] = (float)(amplitude * sin(TURN * hertz * (double)i / rate));
}

static double to_mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700); /* HTK's book, equation 5.13 */
}

static void a_tone_lights_its_band(void **state)
{
    (void)state;
    static const double tones[] = {300, 1000, 2000, 3500};
    for (size_t t = 0; t < sizeof tones / sizeof *tones; t++) {
        make_tone(tones[t], 1, 8000);
        run(8000, MELS, FRAMES);
        const double step = (to_mel(4000) - to_mel(20)) / (MELS + 1);
        const double place = (to_mel(tones[t]) - to_mel(20)) / step - 1; /* 0: first band */
        for (size_t frame = 0; frame < FRAMES; frame++) {
            const float *row = values + frame * MELS;
            size_t best = 0;
            for (size_t m = 0; m < MELS; m++) {
                best = row[m] > row[best] ? m : best;
                if (fabs((double)m - place) > 6 && row[m] > 0.5f)
                    fail_msg("%.0f Hz: band %zu has %f", tones[t], m, (double)row[m]);
            }
            assert_true(fabs((double)best - place) <= 1);
            assert_true(row[best] > 1.9f && row[best] <= 2);
        }
    }
}

static void loudness_makes_no_difference(void **state)
{
    (void)state;
    static float louder[FRAMES * MELS];
    make_tone(1000, 0.9, 8000);
    run(8000, MELS, FRAMES);
    memcpy(louder, values, sizeof louder);
    make_tone(1000, 0.0009, 8000);
    run(8000, MELS, FRAMES);
    for (size_t i = 0; i < (size_t)FRAMES * MELS; i++)
        assert_true(fabs((double)louder[i] - (double)values[i]) < 1e-4);
}

/* A tenth of the amplitude is 20 dB less. The range of 4 is 60 dB. */
static void powers_of_ten_are_equal_steps(void **state)
{
    (void)state;
    make_tone(1000, 1, 8000);
    for (size_t i = 0; i < 400; i++)
        sound[i] *= 0.1f;
    run(8000, MELS, FRAMES);
    size_t best = 0;
    for (size_t m = 0; m < MELS; m++)
        best = values[5 * MELS + m] > values[5 * MELS + best] ? m : best;
    const double step = (double)values[5 * MELS + best] - (double)values[best];
    assert_true(fabs(step - 4.0 / 3) < 0.01);
}

static void silence_is_the_floor(void **state)
{
    (void)state;
    memset(sound, 0, sizeof sound);
    run(8000, MELS, FRAMES);
    for (size_t i = 0; i < (size_t)FRAMES * MELS; i++)
        assert_true(fabs((double)values[i] + 2) < 1e-6);
}

static void every_band_hears_a_click(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        memset(sound, 0, sizeof sound);
        sound[sh_spectrogram_frame(rates[i]) / 2] = 1000;
        run(rates[i], MELS, 1);
        for (size_t m = 0; m < MELS; m++)
            if (!(values[m] > -1.9f))
                fail_msg("%u samples a second: band %zu hears nothing", rates[i], m);
    }
}

static void frames_follow_each_other(void **state)
{
    (void)state;
    float third[MELS];
    for (size_t i = 0; i < MOST; i++)
        sound[i] = (float)((i * 7919) % 1000) / 500 - 1;
    run(8000, MELS, FRAMES);
    memcpy(third, values + 2 * MELS, sizeof third);
    memmove(sound, sound + 160, (MOST - 160) * sizeof *sound);
    run(8000, MELS, 1);
    for (size_t m = 1; m < MELS; m++) /* differences only: the maximum may be elsewhere */
        assert_true(fabs((double)(third[m] - third[0]) - (double)(values[m] - values[0])) < 1e-5);
}

static void frames_fit_the_sound(void **state)
{
    (void)state;
    assert_int_equal(sh_spectrogram_frame(8000), 200);
    assert_int_equal(sh_spectrogram_hop(8000), 80);
    assert_int_equal(sh_spectrogram_samples(8000, 1), 200);
    assert_int_equal(sh_spectrogram_samples(16000, 98), 400 + 97 * 160);
    assert_int_equal(sh_spectrogram_frames(16000, 16000), 98);
    assert_int_equal(sh_spectrogram_frames(8000, 0), 1);
    assert_int_equal(sh_spectrogram_frames(8000, 279), 1);
    assert_int_equal(sh_spectrogram_frames(8000, 280), 2);
    assert_int_equal(sh_spectrogram_points(8000), 512);
    assert_int_equal(sh_spectrogram_points(44100), 2048);
    sh_spectrogram_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tone_lights_its_band),
        cmocka_unit_test(loudness_makes_no_difference),
        cmocka_unit_test(powers_of_ten_are_equal_steps),
        cmocka_unit_test(silence_is_the_floor),
        cmocka_unit_test(every_band_hears_a_click),
        cmocka_unit_test(frames_follow_each_other),
        cmocka_unit_test(frames_fit_the_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
