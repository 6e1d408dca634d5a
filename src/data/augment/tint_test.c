/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/tint.h"

#include <math.h>

#include "base/test.h"

enum { HEIGHT = 16, WIDTH = 24, PLANE = HEIGHT * WIDTH, BYTES = 4 * PLANE };

static uint8_t a[BYTES], b[BYTES], before[BYTES];

static sh_picture make(uint32_t channels)
{
    for (uint32_t i = 0; i < BYTES; i++)
        before[i] = a[i] = (uint8_t)(i * i * 5 + 17 * i + i / PLANE * 40);
    return (sh_picture){a, b, channels, HEIGHT, WIDTH};
}

static double grey(uint32_t i)
{
    return 0.299 * before[i] + 0.587 * before[PLANE + i] + 0.114 * before[2 * PLANE + i];
}

static double cut(double x)
{
    return x < 0 ? 0 : x > 255 ? 255 : x;
}

static void expect(const sh_picture *p, uint32_t i, double expected, double tolerance)
{
    if (fabs(p->bytes[i] - cut(expected)) > tolerance)
        fail_msg("byte %u: %u becomes %u, expected %.2f", i, before[i], p->bytes[i], expected);
}

static const double factors[] = {0, 0.01, 0.3, 1, 1.4, 1.99};

static void brightness_is_a_factor(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        sh_picture p = make(4);
        sh_tint_brightness(&p, sh_tint_factor(factors[k]));
        for (uint32_t i = 0; i < 4 * PLANE; i++)
            expect(&p, i, factors[k] * before[i], 0.51);
    }
}

static void contrast_is_away_from_the_mean(void **state)
{
    (void)state;
    for (uint32_t channels = 1; channels <= 4; channels++)
        for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
            sh_picture p = make(channels);
            double mean = 0;
            for (uint32_t i = 0; i < channels * PLANE; i++)
                mean += channels == 3 ? grey(i % PLANE) : before[i];
            mean /= channels * PLANE;
            sh_tint_contrast(&p, sh_tint_factor(factors[k]));
            for (uint32_t i = 0; i < channels * PLANE; i++)
                expect(&p, i, mean + factors[k] * (before[i] - mean), 1.1);
        }
}

static void saturation_is_away_from_grey(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        sh_picture p = make(3);
        sh_tint_saturation(&p, sh_tint_factor(factors[k]));
        for (uint32_t i = 0; i < 3 * PLANE; i++) {
            const double from = grey(i % PLANE);
            expect(&p, i, from + factors[k] * (before[i] - from), 1.1);
        }
    }
}

static void hue_goes_round(void **state)
{
    (void)state;
    for (int thirds = -1; thirds <= 1; thirds++) {
        sh_picture p = make(3);
        sh_tint_hue(&p, sh_tint_factor(thirds / 3.0));
        for (uint32_t i = 0; i < 3 * PLANE; i++) {
            const uint32_t from = (i / PLANE + (uint32_t)(3 - thirds)) % 3;
            expect(&p, i, before[from * PLANE + i % PLANE], 1);
        }
    }
}

/* Hue does not change grey either. */
static void hue_keeps_the_largest_and_smallest(void **state)
{
    (void)state;
    for (int32_t part = -32768; part <= 32768; part += 4096) {
        sh_picture p = make(3);
        for (uint32_t c = 0; c < 3; c++)
            p.bytes[c * PLANE] = 77;
        sh_tint_hue(&p, part);
        for (uint32_t i = 0; i < PLANE; i++) {
            uint8_t least[] = {255, 255}, most[] = {0, 0};
            for (uint32_t c = 0; c < 3 && i > 0; c++) {
                const uint8_t byte[] = {before[c * PLANE + i], p.bytes[c * PLANE + i]};
                for (int k = 0; k < 2; k++) {
                    least[k] = byte[k] < least[k] ? byte[k] : least[k];
                    most[k] = byte[k] > most[k] ? byte[k] : most[k];
                }
            }
            assert_int_equal(least[0], least[1]);
            assert_int_equal(most[0], most[1]);
        }
        for (uint32_t c = 0; c < 3; c++)
            assert_int_equal(p.bytes[c * PLANE], 77);
    }
}

static void sharpness_is_away_from_a_blur(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof factors / sizeof *factors; k++) {
        sh_picture p = make(2);
        sh_tint_sharpness(&p, sh_tint_factor(factors[k]));
        for (uint32_t i = 0; i < 2 * PLANE; i++) {
            const uint32_t y = i % PLANE / WIDTH, x = i % WIDTH;
            double blur = 4 * before[i];
            if (y == 0 || y == HEIGHT - 1 || x == 0 || x == WIDTH - 1) {
                expect(&p, i, before[i], 0);
                continue;
            }
            for (uint32_t j = 0; j < 9; j++)
                blur += before[i + (j / 3) * WIDTH + j % 3 - WIDTH - 1];
            expect(&p, i, blur / 13 + factors[k] * (before[i] - blur / 13), 1.1);
        }
    }
    sh_picture thin = {a, b, 1, 2, WIDTH};
    memcpy(a, before, sizeof a);
    sh_tint_sharpness(&thin, 0);
    assert_memory_equal(thin.bytes, before, 2 * WIDTH);
}

static void levels_are_cut_and_inverted(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits <= 8; bits++) {
        sh_picture p = make(2);
        sh_tint_posterize(&p, bits);
        for (uint32_t i = 0; i < 2 * PLANE; i++)
            assert_int_equal(p.bytes[i], before[i] & (0xff00 >> bits));
    }
    sh_picture p = make(2);
    sh_tint_solarize(&p, 255); /* inverts 127.5 and above */
    for (uint32_t i = 0; i < 2 * PLANE; i++)
        assert_int_equal(p.bytes[i], before[i] >= 128 ? 255 - before[i] : before[i]);
}

static void channels_are_stretched(void **state)
{
    (void)state;
    sh_picture p = make(3);
    for (uint32_t i = 0; i < PLANE; i++) { /* levels 40 to 90, one, all */
        before[i] = a[i] = (uint8_t)(40 + i % 51);
        before[PLANE + i] = a[PLANE + i] = 99;
        before[2 * PLANE + i] = a[2 * PLANE + i] = (uint8_t)i;
    }
    sh_tint_autocontrast(&p);
    for (uint32_t i = 0; i < PLANE; i++)
        expect(&p, i, (before[i] - 40) * 5.1, 0.51);
    assert_memory_equal(p.bytes + PLANE, before + PLANE, 2 * PLANE);
}

/* Computed by hand after ImageOps.equalize. Of 384 pixels, 96 each are 10, 20, 30 and 40. The step
 * is (384 - 96) / 255 = 1, half of which is 0. */
static void levels_become_as_frequent(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0, 96, 192, 255};
    sh_picture p = make(2);
    for (uint32_t i = 0; i < PLANE; i++) {
        a[i] = (uint8_t)(10 + i % 4 * 10);
        a[PLANE + i] = 77;
    }
    sh_tint_equalize(&p);
    for (uint32_t i = 0; i < PLANE; i++) {
        assert_int_equal(p.bytes[i], expected[i % 4]);
        assert_int_equal(p.bytes[PLANE + i], 77);
    }
}

static void nothing_changes_without_a_magnitude(void **state)
{
    (void)state;
    for (uint32_t channels = 1; channels <= 4; channels++) {
        sh_picture p = make(channels);
        sh_tint_brightness(&p, SH_TINT_UNIT);
        sh_tint_contrast(&p, SH_TINT_UNIT);
        sh_tint_saturation(&p, SH_TINT_UNIT);
        sh_tint_hue(&p, 0);
        sh_tint_sharpness(&p, SH_TINT_UNIT);
        sh_tint_posterize(&p, 8);
        sh_tint_solarize(&p, 511);
        if (channels != 3) {
            sh_tint_saturation(&p, 0);
            sh_tint_hue(&p, 9999);
        }
        assert_memory_equal(p.bytes, before, channels * PLANE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brightness_is_a_factor),
        cmocka_unit_test(contrast_is_away_from_the_mean),
        cmocka_unit_test(saturation_is_away_from_grey),
        cmocka_unit_test(hue_goes_round),
        cmocka_unit_test(hue_keeps_the_largest_and_smallest),
        cmocka_unit_test(sharpness_is_away_from_a_blur),
        cmocka_unit_test(levels_are_cut_and_inverted),
        cmocka_unit_test(channels_are_stretched),
        cmocka_unit_test(levels_become_as_frequent),
        cmocka_unit_test(nothing_changes_without_a_magnitude),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
