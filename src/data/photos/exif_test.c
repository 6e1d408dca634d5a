/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/exif.h"

#include <stdbool.h>

#include "base/test.h"

static size_t make(uint8_t bytes[64], bool big, uint32_t at, uint32_t type, uint32_t count,
                   uint32_t value)
{
    const struct {
        uint32_t at, number, width;
    } parts[] = {
        {2, 42, 2},         {4, at, 4},          {at, 2, 2},          {at + 2, 0x0100, 2},
        {at + 4, 4, 2},     {at + 6, 1, 4},      {at + 10, 99, 4},    {at + 14, 0x0112, 2},
        {at + 16, type, 2}, {at + 18, count, 4}, {at + 22, value, 2},
    };
    memset(bytes, 0, 64);
    memcpy(bytes, big ? "MM" : "II", 2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (uint32_t k = 0; k < parts[i].width; k++)
            bytes[parts[i].at + k] =
                (uint8_t)(parts[i].number >> 8 * (big ? parts[i].width - 1 - k : k));
    return at + 26;
}

static void orientations_are_found(void **state)
{
    (void)state;
    uint8_t bytes[64];
    for (int big = 0; big < 2; big++)
        for (uint32_t value = 0; value < 12; value++) {
            const size_t count = make(bytes, big == 1, big == 1 ? 8 : 20, 3, 1, value);
            assert_int_equal(sh_exif_orientation(bytes, count),
                             value >= 1 && value <= 8 ? (int)value : 1);
        }
}

/* Truncated data end an allocation, for the address sanitizer. */
static void what_is_damaged_is_upright(void **state)
{
    (void)state;
    uint8_t bytes[64];
    const size_t count = make(bytes, false, 8, 3, 1, 6);
    assert_int_equal(sh_exif_orientation(bytes, count), 6);
    for (size_t cut = 0; cut < count; cut++) {
        uint8_t *part = malloc(cut + 1);
        assert_non_null(part);
        memcpy(part + 1, bytes, cut);
        assert_int_equal(sh_exif_orientation(part + 1, cut), 1);
        free(part);
    }
    assert_int_equal(sh_exif_orientation(NULL, 0), 1);
    make(bytes, false, 8, 4, 1, 6); /* wrong type */
    assert_int_equal(sh_exif_orientation(bytes, count), 1);
    make(bytes, false, 8, 3, 2, 6); /* two values */
    assert_int_equal(sh_exif_orientation(bytes, count), 1);
    make(bytes, false, 8, 3, 1, 6);
    bytes[2] = 43;
    assert_int_equal(sh_exif_orientation(bytes, count), 1);
    make(bytes, false, 8, 3, 1, 6);
    memset(bytes + 4, 0xff, 4);
    assert_int_equal(sh_exif_orientation(bytes, count), 1);
    make(bytes, false, 8, 3, 1, 6);
    bytes[0] = 'M';
    assert_int_equal(sh_exif_orientation(bytes, count), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orientations_are_found),
        cmocka_unit_test(what_is_damaged_is_upright),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
