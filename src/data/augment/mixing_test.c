/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/mixing.h"

#include <math.h>

#include "base/test.h"

static const sh_mix_shape image = {3, 32, 32}, series = {2, 1, 100};

static sh_augment parse(const char *list)
{
    sh_augment augment;
    assert_ok(sh_augment_parse(&augment, list));
    assert_true(sh_augment_mixes(&augment));
    return augment;
}

static void partners_are_any_of_the_others(void **state)
{
    (void)state;
    enum { SAMPLES = 10, EPOCHS = 1800 };
    const sh_augment augment = parse("mixup:1");
    uint32_t count[SAMPLES] = {0};
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++)
        count[sh_mixing_draw(&augment, image, SAMPLES, 1, epoch, 4).partner]++;
    for (int i = 0; i < SAMPLES; i++)
        assert_in_range(count[i], i == 4 ? 0 : 140, i == 4 ? 0 : 260); /* 4.3 sigma */
    assert_int_equal(sh_mixing_draw(&augment, image, 1, 1, 0, 0).partner, 0);
}

static void weights_are_of_the_beta_distribution(void **state)
{
    (void)state;
    enum { DRAWS = 20000 };
    static const struct {
        const char *list;
        double variance;
    } cases[] = {{"mixup:0.2", 0.25 / 1.4}, {"mixup:1", 0.25 / 3}, {"mixup:4", 0.25 / 9}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const sh_augment augment = parse(cases[k].list);
        double mean = 0, squares = 0;
        for (uint32_t i = 0; i < DRAWS; i++) {
            const sh_mix mix = sh_mixing_draw(&augment, image, DRAWS, 1, 0, i);
            assert_false(mix.cuts);
            assert_true(mix.weight >= 0 && mix.weight <= 1);
            mean += (double)mix.weight / DRAWS;
            squares += ((double)mix.weight - 0.5) * ((double)mix.weight - 0.5) / DRAWS;
        }
        assert_true(fabs(mean - 0.5) < 4.5 * sqrt(cases[k].variance / DRAWS));
        assert_true(fabs(squares - cases[k].variance) < 0.04 * cases[k].variance);
    }
}

static void boxes_are_what_the_weight_says(void **state)
{
    (void)state;
    const sh_augment augment = parse("cutmix:1");
    const sh_mix_shape shapes[] = {image, series, {1, 40, 98}, {1, 100, 1}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const double size = (double)shapes[k].height * shapes[k].width;
        double mean = 0;
        for (uint32_t i = 0; i < 4000; i++) {
            const sh_mix mix = sh_mixing_draw(&augment, shapes[k], 4000, 1, 3, i);
            assert_true(mix.cuts);
            assert_true(mix.box.top + mix.box.height <= shapes[k].height);
            assert_true(mix.box.left + mix.box.width <= shapes[k].width);
            const double area = (double)mix.box.height * mix.box.width;
            assert_true(fabs((double)mix.weight - (1 - area / size)) < 1e-6);
            mean += (double)mix.weight / 4000;
        }
        /* Clipping makes the mean larger than 1/2. */
        assert_true(mean > 0.5 && mean < 0.75);
    }
}

static void each_is_chosen_for_half(void **state)
{
    (void)state;
    const sh_augment augment = parse("cutmix:1,mixup:0.2");
    uint32_t cuts = 0;
    for (uint32_t i = 0; i < 1000; i++)
        cuts += sh_mixing_draw(&augment, image, 1000, 1, 3, i).cuts;
    assert_in_range(cuts, 430, 570); /* 4.5 sigma */
}

static void samples_are_mixed(void **state)
{
    (void)state;
    enum { COUNT = 2 * 3 * 5 };
    const sh_mix_shape shape = {2, 3, 5};
    const sh_mix mixes[] = {
        {.weight = 0.25f},
        {.weight = 1},
        {.weight = 0},
        {.cuts = true, .weight = 0.6f, .box = {1, 2, 2, 3}},
        {.cuts = true, .weight = 1, .box = {3, 5, 0, 0}},
    };
    for (size_t k = 0; k < sizeof mixes / sizeof *mixes; k++) {
        float values[COUNT], other[COUNT];
        for (uint32_t i = 0; i < COUNT; i++) {
            values[i] = (float)i;
            other[i] = 1000 + (float)i * 2;
        }
        sh_mixing_apply(&mixes[k], values, other, shape);
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint32_t y = i / 5 % 3, x = i % 5;
            const sh_box box = mixes[k].box;
            const bool inside = y >= box.top && y < box.top + box.height && x >= box.left &&
                                x < box.left + box.width;
            const float weight = mixes[k].cuts ? !inside : mixes[k].weight;
            assert_true(values[i] == weight * (float)i + (1 - weight) * other[i]);
        }
    }
}

static void mixtures_belong_to_seed_epoch_and_sample(void **state)
{
    (void)state;
    const sh_augment augment = parse("cutmix:1,mixup:0.2");
    uint32_t equal = 0;
    for (uint32_t i = 0; i < 100; i++) {
        const sh_mix first = sh_mixing_draw(&augment, image, 5000, 3, 7, i);
        const sh_mix again = sh_mixing_draw(&augment, image, 5000, 3, 7, i);
        assert_int_equal(first.partner, again.partner);
        assert_true(first.weight == again.weight && first.cuts == again.cuts);
        equal += first.partner == sh_mixing_draw(&augment, image, 5000, 4, 7, i).partner;
        equal += first.partner == sh_mixing_draw(&augment, image, 5000, 3, 8, i).partner;
        equal += first.partner == sh_mixing_draw(&augment, image, 5000, 3, 7, i + 1).partner;
    }
    assert_in_range(equal, 0, 3);
}

/* See golden_pictures in retouch_test.c. */
static void golden_mixtures(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        uint32_t sum;
    } golden[] = {
        {"mixup:0.2", 0xc6081978}, {"cutmix:1", 0xdf5ce63f}, {"mixup:4,cutmix:0.5", 0xc41745e0}};
    uint32_t failed = 0;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        const sh_augment augment = parse(golden[i].list);
        uint32_t sum = 0;
        for (uint32_t index = 0; index < 1000; index++) {
            const sh_mix mix = sh_mixing_draw(&augment, image, 1000, 1, index % 3, index);
            uint32_t bits;
            memcpy(&bits, &mix.weight, sizeof bits);
            const uint32_t facts[] = {bits,         mix.partner,    mix.cuts,     mix.box.top,
                                      mix.box.left, mix.box.height, mix.box.width};
            for (size_t k = 0; k < sizeof facts / sizeof *facts; k++)
                sum = sum * 31 + facts[k];
        }
        if (sum != golden[i].sum) {
            print_error("%s: the sum is 0x%08x\n", golden[i].list, sum);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners_are_any_of_the_others),
        cmocka_unit_test(weights_are_of_the_beta_distribution),
        cmocka_unit_test(boxes_are_what_the_weight_says),
        cmocka_unit_test(each_is_chosen_for_half),
        cmocka_unit_test(samples_are_mixed),
        cmocka_unit_test(golden_mixtures),
        cmocka_unit_test(mixtures_belong_to_seed_epoch_and_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
