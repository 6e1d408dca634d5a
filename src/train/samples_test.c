/* SPDX-License-Identifier: Apache-2.0 */
#include "train/samples.h"

#include <math.h>

#include "base/test.h"

#define CLOSE 1e-6

static bool close_to(float value, double wanted)
{
    return fabs((double)value - wanted) < CLOSE;
}

/* Without class weights, shares are unchanged. */
static void the_larger_share_is_the_target(void **state)
{
    (void)state;
    static const struct {
        float weight;
        int32_t class;
        double share;
    } cases[] = {{1, 3, 1}, {0.75f, 3, 0.75}, {0.5f, 3, 0.5}, {0.25f, 8, 0.75}, {0, 8, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_class_mix mix = sh_samples_mix_classes(3, 8, cases[i].weight, NULL);
        assert_int_equal(mix.class, cases[i].class);
        assert_int_equal(mix.other, 3 + 8 - cases[i].class);
        assert_true(close_to(mix.share, cases[i].share));
        assert_true(close_to(mix.other_share, 1 - cases[i].share));
        assert_true(mix.weight == 1);
    }
}

/* In PyTorch, the loss for probabilities y is -sum over k of weight[k] y[k] log p[k]. */
static void weights_of_classes_scale_both_losses(void **state)
{
    (void)state;
    static const float weights[] = {0.5f, 1, 4};
    for (int i = 0; i <= 8; i++) {
        const float share = (float)i / 8;
        const sh_class_mix mix = sh_samples_mix_classes(0, 2, share, weights);
        const bool kept = share >= 0.5f;
        const double first = (double)(mix.weight * (kept ? mix.share : mix.other_share));
        const double second = (double)(mix.weight * (kept ? mix.other_share : mix.share));
        assert_int_equal(mix.class, kept ? 0 : 2);
        assert_true(close_to((float)first, 0.5 * (double)share));
        assert_true(close_to((float)second, 4 * (1 - (double)share)));
        assert_true(close_to(mix.share + mix.other_share, 1));
    }
}

static void targets_of_numbers_are_mixed(void **state)
{
    (void)state;
    float target[] = {1, 0, -8}, alike[] = {5, 5, 5};
    const float other[] = {0, 1, 4};
    sh_samples_mix_numbers(target, other, 3, 0.25f);
    assert_true(target[0] == 0.25f && target[1] == 0.75f && target[2] == 1);
    sh_samples_mix_numbers(alike, (float[]){5, 5, 5}, 3, 0.25f);
    assert_true(alike[0] == 5 && alike[1] == 5 && alike[2] == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_larger_share_is_the_target),
        cmocka_unit_test(weights_of_classes_scale_both_losses),
        cmocka_unit_test(targets_of_numbers_are_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
