/* SPDX-License-Identifier: Apache-2.0 */
#include "data/dataset.h"

#include "base/test.h"

static void noise_has_the_shape_that_was_asked_for(void **state)
{
    (void)state;
    sh_dataset *data, *other;
    assert_ok(sh_dataset_open(&data, "noise:3x8x6/5", NULL));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_int_equal(info->channels, 3);
    assert_int_equal(info->height, 8);
    assert_int_equal(info->width, 6);
    assert_int_equal(info->outputs, 5);
    assert_int_equal(info->count[SH_SPLIT_TRAIN], 10000);
    assert_int_equal(info->count[SH_SPLIT_VALIDATION], 1000);
    assert_ok(sh_dataset_open(&other, "noise:3x8x6/5/40/7", NULL));
    assert_int_equal(sh_dataset_about(other)->count[SH_SPLIT_TRAIN], 40);
    assert_int_equal(sh_dataset_about(other)->count[SH_SPLIT_VALIDATION], 7);
    assert_string_not_equal(info->fingerprint, sh_dataset_about(other)->fingerprint);
    sh_dataset_close(other);
    sh_dataset_close(data);
}

static void samples_differ_and_stay_the_same(void **state)
{
    (void)state;
    sh_dataset *data;
    uint8_t first[3 * 8 * 6], again[3 * 8 * 6], second[3 * 8 * 6];
    int32_t label;
    unsigned sum = 0;
    assert_ok(sh_dataset_open(&data, "noise:3x8x6/5", NULL));
    assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 7, first, &label));
    assert_int_equal(label, 2);
    assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 7, again, &label));
    assert_memory_equal(first, again, sizeof first);
    assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, 8, second, &label));
    assert_memory_not_equal(first, second, sizeof first);
    assert_ok(sh_dataset_read(data, SH_SPLIT_VALIDATION, 7, second, &label));
    assert_memory_not_equal(first, second, sizeof first);
    for (size_t i = 0; i < sizeof first; i++)
        sum += first[i];
    assert_in_range(sum / sizeof first, 100, 155);
    sh_dataset_close(data);
}

static void what_is_no_shape_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "noise",
        "noise:",
        "noise:3",
        "noise:3x8x6",
        "noise:3x8x6/",
        "noise:3x8x6/1",
        "noise:0x8x6/5",
        "noise:5x8x6/5",
        "noise:3x8x6/5/",
        "noise:3x8x6/5/4",
        "noise:3x8x6/5/4/",
        "noise:3x8x6/5/4/0",
        "noise:3x8x6/5 ",
        "noise:3x8x6/5/4/7/",
        "noise: 3x8x6/5",
        "noise:-3x8x6/5",
        "noise:3x4097x6/5",
        "noise:4x4096x4096/5",
        "noise:3x8x6/99999999999999999999",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sh_dataset *data;
        assert_fails(sh_dataset_open(&data, wrong[i], NULL), SH_INVALID,
                     "must be noise:CHANNELSxHEIGHTxWIDTH/CLASSES[/TRAIN/VALIDATION]");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_has_the_shape_that_was_asked_for),
        cmocka_unit_test(samples_differ_and_stay_the_same),
        cmocka_unit_test(what_is_no_shape_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
