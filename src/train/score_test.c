/* SPDX-License-Identifier: Apache-2.0 */
#include "train/score.h"

#include <math.h>

#include "base/test.h"

static void classes_are_counted(void **state)
{
    (void)state;
    const int32_t answers[] = {1, 2, 3, 0}, targets[] = {1, 2, 0, 0};
    const uint64_t score = sh_score(SH_TARGET_CLASS, 4, 4, answers, targets);
    assert_int_equal(score, 3);
    assert_true(sh_score_figure(SH_TARGET_CLASS, 4, score, 4) == 0.75);
    assert_string_equal(sh_score_name(SH_TARGET_CLASS), "accuracy");
}

static void each_label_counts(void **state)
{
    (void)state;
    const float logits[] = {0.5f, -1, 0, 3, -2, 4}, targets[] = {1, 1, 0, 1, 0, 0};
    const uint64_t score = sh_score(SH_TARGET_LABELS, 3, 2, logits, targets);
    assert_int_equal(score, 4);
    assert_true(fabs(sh_score_figure(SH_TARGET_LABELS, 3, score, 2) - (4.0 / 6)) < 1e-15);
}

static void errors_of_numbers_are_added(void **state)
{
    (void)state;
    const float answers[] = {1, 2, -3, 0}, targets[] = {1.5f, 2.25f, 1, 0};
    const uint64_t score = sh_score(SH_TARGET_NUMBERS, 2, 2, answers, targets);
    assert_true(fabs(sh_score_figure(SH_TARGET_NUMBERS, 2, score, 2) - ((0.375 + 2) / 2)) < 1e-7);
    assert_string_equal(sh_score_name(SH_TARGET_NUMBERS), "mae");
    /* As on two devices. */
    assert_int_equal(sh_score(SH_TARGET_NUMBERS, 2, 1, answers, targets) +
                         sh_score(SH_TARGET_NUMBERS, 2, 1, answers + 2, targets + 2),
                     score);
}

static void wild_answers_are_bounded(void **state)
{
    (void)state;
    const float wild[] = {INFINITY, NAN, 1e30f}, zero[3] = {0};
    for (int i = 0; i < 3; i++) {
        const uint64_t score = sh_score(SH_TARGET_NUMBERS, 1, 1, &wild[i], zero);
        assert_true(sh_score_figure(SH_TARGET_NUMBERS, 1, score, 1) == 32768);
    }
    assert_true(sh_score_figure(SH_TARGET_SAMPLE, 1, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_counted),
        cmocka_unit_test(each_label_counts),
        cmocka_unit_test(errors_of_numbers_are_added),
        cmocka_unit_test(wild_answers_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
