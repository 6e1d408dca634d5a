/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/trivial.h"

#include "base/test.h"

enum { SIDE = 24, PLANE = SIDE * SIDE, BYTES = 3 * PLANE };

static uint8_t a[BYTES], b[BYTES], before[BYTES];

static sh_picture make(uint32_t channels)
{
    for (uint32_t i = 0; i < BYTES; i++)
        before[i] = a[i] = (uint8_t)(10 + (i * i * 3 + 11 * i + i / PLANE * 50) % 200);
    return (sh_picture){a, b, channels, SIDE, SIDE};
}

static void draws_are_uniform(void **state)
{
    (void)state;
    enum { EACH = 1000 };
    uint32_t kinds[SH_TRIVIAL_KINDS] = {0}, bins[SH_TRIVIAL_BINS] = {0}, negative = 0;
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (uint32_t i = 0; i < SH_TRIVIAL_KINDS * EACH; i++) {
        const sh_trivial_change change = sh_trivial_draw(&random);
        assert_in_range(change.kind, 0, SH_TRIVIAL_KINDS - 1);
        assert_in_range(change.bin, 0, SH_TRIVIAL_BINS - 1);
        kinds[change.kind]++;
        bins[change.bin]++;
        negative += change.negative;
    }
    for (int i = 0; i < SH_TRIVIAL_KINDS; i++) /* 4.5 sigma, here and below */
        assert_in_range(kinds[i], EACH - 140, EACH + 140);
    for (int i = 0; i < SH_TRIVIAL_BINS; i++)
        assert_in_range(bins[i], 452 - 95, 452 + 95);
    assert_in_range(negative, SH_TRIVIAL_KINDS * EACH / 2 - 270, SH_TRIVIAL_KINDS * EACH / 2 + 270);
}

static void the_least_magnitude_changes_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind < SH_TRIVIAL_AUTOCONTRAST; kind++)
        for (int negative = 0; negative < 2; negative++) {
            sh_picture p = make(3);
            sh_trivial_apply(&p, (sh_trivial_change){(sh_trivial_kind)kind, 0, negative == 1});
            assert_memory_equal(p.bytes, before, BYTES); /* `before` has no level of 255 */
        }
}

static void the_largest_magnitudes_are_torchvisions(void **state)
{
    (void)state;
    for (int kind = SH_TRIVIAL_SHEAR_X; kind < SH_TRIVIAL_KINDS; kind++) {
        sh_picture p = make(3);
        sh_trivial_apply(&p, (sh_trivial_change){(sh_trivial_kind)kind, 30, true});
        assert_memory_not_equal(p.bytes, before, BYTES);
        for (uint32_t i = 0; i < BYTES; i++)
            switch (kind) {
            case SH_TRIVIAL_TRANSLATE_X: /* 32 pixels are more than the side */
            case SH_TRIVIAL_TRANSLATE_Y:
                assert_int_equal(p.bytes[i], 0);
                break;
            case SH_TRIVIAL_BRIGHTNESS:
                assert_in_range(p.bytes[i], (before[i] + 48) / 100, (before[i] + 50) / 100);
                break;
            case SH_TRIVIAL_POSTERIZE:
                assert_int_equal(p.bytes[i], before[i] / 64 * 64);
                break;
            case SH_TRIVIAL_SOLARIZE:
                assert_int_equal(p.bytes[i], 255 - before[i]);
                break;
            default:
                break;
            }
    }
}

/* The corner stays; other points of a line move in proportion to their distance from it. */
static void shear_is_about_the_corner(void **state)
{
    (void)state;
    for (int across = 0; across < 2; across++) {
        sh_picture p = make(1);
        for (uint32_t i = 0; i < PLANE; i++) /* a white line: column or row 12 */
            a[i] = (across ? i % SIDE : i / SIDE) == 12 ? 255 : 0;
        const sh_trivial_kind kind = across ? SH_TRIVIAL_SHEAR_X : SH_TRIVIAL_SHEAR_Y;
        sh_trivial_apply(&p, (sh_trivial_change){kind, 10, false}); /* a shear of 0.33 */
        for (uint32_t far = 0; far < SIDE; far++) {
            double sum = 0, place = 0;
            for (uint32_t k = 0; k < SIDE; k++) {
                const uint8_t byte = p.bytes[across ? far * SIDE + k : k * SIDE + far];
                sum += byte;
                place += byte * (double)k;
            }
            if (sum == 0)
                continue;
            const double expected = 12 - 0.33 * (far + 0.5);
            assert_true(place / sum > expected - 0.05 && place / sum < expected + 0.05);
        }
        assert_true(p.bytes[across ? 12 : 12 * SIDE] > 200);
    }
}

static void part_of_a_translation_is_cut(void **state)
{
    (void)state;
    sh_picture p = make(3);
    sh_trivial_apply(&p, (sh_trivial_change){SH_TRIVIAL_TRANSLATE_X, 5, true}); /* 5.33 pixels */
    for (uint32_t i = 0; i < BYTES; i++)
        assert_int_equal(p.bytes[i], i % SIDE < 5 ? 0 : before[i - 5]);
    p = make(3);
    sh_trivial_apply(&p, (sh_trivial_change){SH_TRIVIAL_TRANSLATE_Y, 3, false}); /* 3.2 */
    for (uint32_t i = 0; i < BYTES; i++)
        assert_int_equal(p.bytes[i], i % PLANE / SIDE >= SIDE - 3 ? 0 : before[i + 3 * SIDE]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_uniform),
        cmocka_unit_test(the_least_magnitude_changes_nothing),
        cmocka_unit_test(the_largest_magnitudes_are_torchvisions),
        cmocka_unit_test(shear_is_about_the_corner),
        cmocka_unit_test(part_of_a_translation_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
