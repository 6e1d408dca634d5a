/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/fit.h"

#include "base/test.h"
#include "data/photos/photo_golden.h"

enum { SIDE_MOST = 64 };

static uint8_t level(uint32_t x, uint32_t y, uint32_t c)
{
    return (uint8_t)(x * 37 + y * 91 + c * 53 + x * y % 7 * 11);
}

static void fit_picture(uint8_t *pixels, sh_fit_kind kind, uint32_t side, int orientation,
                        uint32_t width, uint32_t height, uint32_t stored, uint32_t channels)
{
    sh_fit *fit;
    uint8_t row[SIDE_MOST * 3];
    assert_ok(sh_fit_new(&fit, kind, side, orientation, width, height, stored));
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < stored; c++)
                row[x * stored + c] = level(x, y, c);
        sh_fit_row(fit, sh_fit_skips(fit) ? NULL : row);
    }
    assert_int_equal(sh_fit_rows(fit), height);
    sh_fit_row(fit, row);
    assert_int_equal(sh_fit_rows(fit), height);
    sh_fit_finish(fit, pixels, channels);
    sh_fit_free(fit);
}

/* Pillow's filter uses the same triangle in units of 2^-22, rows first. */
static void squares_are_pillow_s(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_fits / sizeof *golden_fits; i++) {
        const struct golden_fit *g = &golden_fits[i];
        uint8_t pixels[3 * SIDE_MOST * SIDE_MOST];
        fit_picture(pixels, g->kind, g->side, 1, g->width, g->height, 3, 3);
        for (uint32_t k = 0; k < 3 * g->side * g->side; k++)
            if (pixels[k] != g->pixels[k])
                fail_msg("%s of %u x %u to %u: level %u is %u, Pillow has %u", sh_fit_name(g->kind),
                         g->width, g->height, g->side, k, pixels[k], g->pixels[k]);
    }
}

static void a_photo_of_that_size_stays_as_it_is(void **state)
{
    (void)state;
    uint8_t pixels[3 * 9 * 9];
    for (uint32_t kind = SH_FIT_CROP; kind <= SH_FIT_STRETCH; kind++) {
        fit_picture(pixels, (sh_fit_kind)kind, 9, 1, 9, 9, 3, 3);
        for (uint32_t y = 0; y < 9; y++)
            for (uint32_t x = 0; x < 9; x++)
                for (uint32_t c = 0; c < 3; c++)
                    assert_int_equal(pixels[(c * 9 + y) * 9 + x], level(x, y, c));
    }
}

static void grey_becomes_three_equal_channels(void **state)
{
    (void)state;
    uint8_t one[6 * 6], three[3 * 6 * 6];
    fit_picture(one, SH_FIT_CROP, 6, 1, 20, 13, 1, 1);
    fit_picture(three, SH_FIT_CROP, 6, 1, 20, 13, 1, 3);
    for (size_t c = 0; c < 3; c++)
        assert_memory_equal(three + c * sizeof one, one, sizeof one);
}

static void all_orientations_are_turned(void **state)
{
    (void)state;
    static const char *const seen[] = {
        "abcdefghi", /* 0 is invalid: unchanged */
        "abcdefghi", "cbafedihg", "ihgfedcba", "ghidefabc",
        "adgbehcfi", "gdahebifc", "ifchebgda", "cfibehadg",
    };
    for (int orientation = 0; orientation <= 8; orientation++) {
        sh_fit *fit;
        uint8_t pixels[9];
        assert_ok(sh_fit_new(&fit, SH_FIT_STRETCH, 3, orientation, 3, 3, 1));
        for (size_t y = 0; y < 3; y++)
            sh_fit_row(fit, (const uint8_t *)"abcdefghi" + 3 * y);
        sh_fit_finish(fit, pixels, 1);
        sh_fit_free(fit);
        assert_memory_equal(pixels, seen[orientation], sizeof pixels);
    }
}

static void white_stays_white(void **state)
{
    (void)state;
    static uint8_t row[SH_FIT_PHOTO_SIDE_MOST];
    memset(row, 255, sizeof row);
    static const uint32_t widths[] = {1, 2, 7, 1000, 4097, 65535};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (uint32_t side = 1; side <= 13; side += 4) {
            sh_fit *fit;
            uint8_t pixels[13 * 13];
            assert_ok(sh_fit_new(&fit, SH_FIT_STRETCH, side, 1, widths[i], 1, 1));
            sh_fit_row(fit, row);
            sh_fit_finish(fit, pixels, 1);
            sh_fit_free(fit);
            for (size_t k = 0; k < side * side; k++)
                assert_int_equal(pixels[k], 255);
        }
}

static void kinds_have_names(void **state)
{
    (void)state;
    sh_fit_kind kind = SH_FIT_PAD;
    assert_true(sh_fit_find(&kind, ""));
    assert_int_equal(kind, SH_FIT_CROP);
    assert_true(sh_fit_find(&kind, "stretch"));
    assert_int_equal(kind, SH_FIT_STRETCH);
    assert_false(sh_fit_find(&kind, "squeeze"));
    assert_int_equal(kind, SH_FIT_STRETCH);
    assert_string_equal(sh_fit_name(SH_FIT_PAD), "pad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_are_pillow_s),
        cmocka_unit_test(a_photo_of_that_size_stays_as_it_is),
        cmocka_unit_test(grey_becomes_three_equal_channels),
        cmocka_unit_test(all_orientations_are_turned),
        cmocka_unit_test(white_stays_white),
        cmocka_unit_test(kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
