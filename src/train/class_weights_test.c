/* SPDX-License-Identifier: Apache-2.0 */
#include "train/class_weights.h"

#include <stdlib.h>

#include "base/test.h"

static void texts_are_numbers(void **state)
{
    (void)state;
    float *weights;
    assert_ok(sh_class_weights_parse(&weights, "1,2.5,0.125", 3));
    assert_true(weights[0] == 1 && weights[1] == 2.5f && weights[2] == 0.125f);
    free(weights);
    assert_ok(sh_class_weights_parse(&weights, "", 3));
    assert_null(weights);
    assert_ok(sh_class_weights_parse(&weights, "balanced", 3));
    assert_null(weights);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"1,",  ",1", "1;2", "-1,2", "0,1",   "1e3,1",
                                        "1 2", ".",  "nan", "1..2", "inf,1", "1234567890123456"};
    float *weights = NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_fails(sh_class_weights_check(texts[i]), SH_INVALID, "for each class");
        assert_fails(sh_class_weights_parse(&weights, texts[i], 2), SH_INVALID, "for each class");
        assert_null(weights);
    }
    assert_fails(sh_class_weights_parse(&weights, "1,2,3", 2), SH_INVALID,
                 "3 weights for 2 classes");
    assert_fails(sh_class_weights_parse(&weights, "1", 2), SH_INVALID, "1 weights for 2 classes");
}

static void balanced_classes_count_alike(void **state)
{
    (void)state;
    sh_dataset *data;
    char text[SH_CLASS_WEIGHTS_BYTES];
    float *weights;
    double of_class[10] = {0}, all = 0;
    assert_ok(sh_dataset_open(&data, "digits:500/10", NULL));
    assert_ok(sh_class_weights_balance(text, data));
    assert_ok(sh_class_weights_parse(&weights, text, 10));
    for (uint32_t i = 0; i < 500; i++) {
        uint8_t pixels[28 * 28];
        int32_t class;
        assert_ok(sh_dataset_read(data, SH_SPLIT_TRAIN, i, pixels, &class));
        of_class[class] += (double)weights[class];
    }
    for (int k = 0; k < 10; k++) {
        assert_true(of_class[k] > 49.999 && of_class[k] < 50.001);
        all += of_class[k];
    }
    assert_true(all > 499.99 && all < 500.01);
    free(weights);
    sh_dataset_close(data);
}

static void many_classes_do_not_fit(void **state)
{
    (void)state;
    sh_dataset *data;
    char text[SH_CLASS_WEIGHTS_BYTES];
    assert_ok(sh_dataset_open(&data, "noise:1x8x8/2000/2000/1", NULL));
    assert_fails(sh_class_weights_balance(text, data), SH_LIMIT, "weights of 2000 classes");
    sh_dataset_close(data);
    assert_ok(sh_dataset_open(&data, "noise:1x8x8/20/10/1", NULL));
    assert_fails(sh_class_weights_balance(text, data), SH_INVALID,
                 "class 10 has no training sample");
    sh_dataset_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_numbers),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(balanced_classes_count_alike),
        cmocka_unit_test(many_classes_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
