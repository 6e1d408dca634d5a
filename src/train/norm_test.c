/* SPDX-License-Identifier: Apache-2.0 */
#include "train/norm.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

enum { LENGTH = 5003 };

static void fill(int32_t integers[LENGTH])
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < LENGTH; i++)
        integers[i] = (int32_t)sh_random_next(&random) >> sh_random_below(&random, 31);
    integers[0] = INT32_MAX;
    integers[1] = INT32_MIN;
    integers[2] = 0;
}

static bool are_equal(const sh_squares *a, const sh_squares *b)
{
    return a->low == b->low && a->high == b->high;
}

static void every_variant_and_cut_gives_one_sum(void **state)
{
    (void)state;
    static int32_t integers[LENGTH];
    fill(integers);
    sh_squares whole = {0};
    sh_squares_add(&whole, integers, LENGTH);
    for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
        if (!sh_variant_runs((sh_variant)v))
            continue;
        sh_squares other = {0};
        sh_squares_kernels[v](&other, integers, LENGTH);
        assert_true(are_equal(&other, &whole));
    }
    for (size_t piece = 1; piece < LENGTH; piece = piece * 3 + 1) {
        sh_squares lanes[3] = {{0, 0}, {0, 0}, {0, 0}}, sum = {0};
        for (size_t first = 0, turn = 0; first < LENGTH; first += piece, turn++)
            sh_squares_add(&lanes[turn % 3], integers + first,
                           LENGTH - first < piece ? LENGTH - first : piece);
        for (size_t lane = 3; lane-- > 0;)
            sh_squares_merge(&sum, &lanes[lane]);
        assert_true(are_equal(&sum, &whole));
    }
}

static void it_is_the_sum_of_squares(void **state)
{
    (void)state;
    static int32_t integers[LENGTH];
    fill(integers);
    sh_squares squares = {0};
    sh_squares_add(&squares, integers, LENGTH);
    long double reference = 0;
    for (size_t i = 0; i < LENGTH; i++)
        reference += (long double)integers[i] * (long double)integers[i];
    const double got = sh_squares_value(&squares, 1);
    assert_true(fabsl((long double)got - reference) < 1e-14L * reference);
    assert_true(sh_squares_value(&squares, 0x1p-40f) == got * 0x1p-80);
    assert_true(sh_squares_value(&squares, 0x1p-125f) == got * 0x1p-250);
    assert_true(sh_squares_value(&squares, 0x1p97f) == got * 0x1p194);
}

/* Neither a double nor a 64-bit word could hold the sums. */
static void nothing_is_rounded_away(void **state)
{
    (void)state;
    const int32_t one = 1, large = INT32_MAX, least = INT32_MIN;
    sh_squares squares = {0};
    for (int i = 0; i < 5; i++)
        sh_squares_add(&squares, &large, 1);
    for (int i = 0; i < 7; i++)
        sh_squares_add(&squares, &one, 1);
    const uint64_t high = squares.high + (squares.low >> 32), low = squares.low & UINT32_MAX;
    assert_true(high == 5 * ((UINT64_C(1) << 30) - 1)); /* 5 (2^62 - 2^32 + 1) + 7 */
    assert_true(low == 12);
    squares = (sh_squares){0};
    for (int i = 0; i < 8; i++)
        sh_squares_add(&squares, &least, 1);
    assert_true(sh_squares_value(&squares, 1) == 0x1p65);
    assert_true(sh_squares_value(&(sh_squares){UINT64_MAX, 0}, 1) == 0x1p64);
    assert_true(sh_squares_value(&(sh_squares){0}, 1) == 0);
}

static void clipping_is_pytorchs(void **state)
{
    (void)state;
    assert_true(sh_norm_clip(0, 1) == 1);
    assert_true(sh_norm_clip(0.5, 1) == 1);
    assert_true(sh_norm_clip(1, 1) < 1);
    assert_true(fabs(sh_norm_clip(4, 1) - 0.25) < 1e-6 && sh_norm_clip(4, 1) < 0.25);
    assert_true(sh_norm_clip(3, 1.5) == 1.5 / (3 + 1e-6));
    assert_true(sh_norm_clip(INFINITY, 1) == 0);
}

/* Eight interleaved sums, added in order. */
static void floats_are_added_in_one_order(void **state)
{
    (void)state;
    float values[19];
    double sums[8] = {0}, total = 0;
    for (int i = 0; i < 19; i++) {
        values[i] = ldexpf(1 + (float)i * 0x1.1p-20f, i % 5 * 12);
        sums[i % 8] += (double)values[i] * (double)values[i];
    }
    for (int i = 0; i < 8; i++)
        total += sums[i];
    assert_true(sh_norm_squares(values, 19) == total);
    assert_true(sh_norm_squares(values, 1) == 1);
    assert_true(sh_norm_squares(values, 0) == 0);
    values[7] = NAN;
    assert_true(isnan(sh_norm_squares(values, 19)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_are_added_in_one_order),
        cmocka_unit_test(every_variant_and_cut_gives_one_sum),
        cmocka_unit_test(it_is_the_sum_of_squares),
        cmocka_unit_test(nothing_is_rounded_away),
        cmocka_unit_test(clipping_is_pytorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
