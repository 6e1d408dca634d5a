/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sum_kernels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LENGTH = 1100 }; /* two blocks and a part of a third */

static const float edges[] = {
    0.0f,     -0.0f,          0.5f,     -0.5f,    1.0f,       -1.0f,       127.0f,   127.5f,
    -128.0f,  -129.25f,       32767.5f, -32769.f, 0x1p30f,    2e9f,        -0x1p31f, FLT_MAX,
    -FLT_MAX, FLT_MIN,        -FLT_MIN, 1e-45f,   -1e-45f,    INFINITY,    NAN,      -INFINITY,
    -NAN,     0x1.fffffep-1f, 0x1p-31f, 0x1p-32f, 8388607.5f, 16777217.0f,
};

static int bits_of(sh_narrow narrow)
{
    return narrow == SH_NARROW_16 ? 16 : 8;
}

static int64_t read_sum(const void *sums, size_t i, sh_narrow narrow)
{
    return narrow == SH_NARROW_16 ? ((const int16_t *)sums)[i] : ((const int8_t *)sums)[i];
}

static int64_t wrapped(int64_t value, sh_narrow narrow)
{
    const uint64_t half = (uint64_t)1 << (bits_of(narrow) - 1);
    return (int64_t)(((uint64_t)value + half) & (2 * half - 1)) - (int64_t)half;
}

static float any_float(sh_random *random)
{
    const uint32_t bits = sh_random_next(random);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void make_gradient(float gradient[LENGTH], int exponent)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, (uint32_t)exponent, 0);
    for (size_t i = 0; i < LENGTH; i++) {
        gradient[i] = i < COUNT(edges) ? edges[i] : any_float(&random);
        if (i >= COUNT(edges) && i % 3 != 0)
            gradient[i] = ldexpf(sh_random_unit(&random) * 100 - 50, -exponent);
    }
}

/* A term is the product rounded down or up; whole products are exact. */
static void check_term(float gradient, int exponent, int64_t added, sh_narrow narrow)
{
    double product = isfinite(gradient) ? ldexp(fabs((double)gradient), exponent) : 0;
    product = fmin(product, (double)SH_NARROW_LARGEST);
    const int64_t sign = signbit(gradient) ? -1 : 1;
    const int64_t down = sign * (int64_t)floor(product), up = sign * (int64_t)ceil(product);
    if (added != wrapped(down, narrow) && added != wrapped(up, narrow))
        fail_msg("%a * 2^%d added %lld", (double)gradient, exponent, (long long)added);
}

static void terms_are_rounded_down_or_up(void **state)
{
    (void)state;
    static const int exponents[] = {-97, -30, 0, 5, 24, 94};
    static float gradient[LENGTH];
    int16_t sums[LENGTH], first[LENGTH];
    for (size_t e = 0; e < COUNT(exponents); e++)
        for (sh_narrow n = 0; n < SH_NARROW_COUNT; n++) {
            sh_narrow_draw draw = sh_narrow_draw_for(7, e, 1, 2);
            draw.first = 30;
            uint32_t top = 0;
            uint64_t first_check = 0;
            make_gradient(gradient, exponents[e]);
            for (size_t i = 0; i < LENGTH; i++) {
                uint32_t magnitude;
                memcpy(&magnitude, &gradient[i], sizeof magnitude);
                magnitude &= 0x7fffffff;
                top = magnitude > top ? magnitude : top;
            }
            memset(first, 0, sizeof first);
            for (unsigned v = SH_VARIANT_COUNT; v-- > 0;) {
                uint64_t check = 0;
                if (!sh_variant_runs((sh_variant)v))
                    continue;
                memset(sums, 0, sizeof sums);
                assert_int_equal(sh_narrow_add[n][v](sums, gradient, ldexpf(1, exponents[e]),
                                                     LENGTH, &draw, &check),
                                 top);
                if (v == SH_VARIANT_plain) {
                    memcpy(first, sums, sizeof first);
                    first_check = check;
                }
                assert_memory_equal(sums, first, sizeof sums);
                assert_true(check == first_check);
                for (size_t i = 0; i < LENGTH; i++)
                    check_term(gradient[i], exponents[e], read_sum(sums, i, n), n);
            }
        }
}

static void rounding_depends_on_key_and_place_alone(void **state)
{
    (void)state;
    static float gradient[LENGTH];
    make_gradient(gradient, 2);
    for (sh_narrow n = 0; n < SH_NARROW_COUNT; n++)
        for (size_t cut = 0; cut <= LENGTH; cut += 37) {
            const size_t bytes = (size_t)bits_of(n) / 8;
            const unsigned v = sh_variant_chosen();
            unsigned char whole[2 * LENGTH] = {0}, parts[2 * LENGTH] = {0};
            uint64_t check = 0, part_check = 0;
            const sh_narrow_draw draw = sh_narrow_draw_for(1, 2, 3, 4);
            sh_narrow_draw second = draw;
            second.first = (uint32_t)cut;
            sh_narrow_add[n][v](whole, gradient, 4, LENGTH, &draw, &check);
            sh_narrow_add[n][v](parts + cut * bytes, gradient + cut, 4, LENGTH - cut, &second,
                                &part_check);
            sh_narrow_add[n][v](parts, gradient, 4, cut, &draw, &part_check);
            assert_memory_equal(whole, parts, sizeof whole);
            assert_true(check == part_check);
        }
    const sh_narrow_draw draws[] = {
        sh_narrow_draw_for(1, 2, 3, 4), sh_narrow_draw_for(1 + (UINT64_C(1) << 32), 2, 3, 4),
        sh_narrow_draw_for(2, 2, 3, 4), sh_narrow_draw_for(1, 3, 3, 4),
        sh_narrow_draw_for(1, 2, 4, 4), sh_narrow_draw_for(1, 2, 3, 5)};
    int8_t sums[COUNT(draws)][LENGTH] = {{0}};
    for (size_t d = 0; d < COUNT(draws); d++) {
        uint64_t check = 0;
        for (size_t i = 0; i < LENGTH; i++)
            gradient[i] = 0.5f;
        sh_narrow_add[SH_NARROW_8][sh_variant_chosen()](sums[d], gradient, 1, LENGTH, &draws[d],
                                                        &check);
        for (size_t other = 0; other < d; other++) {
            size_t same = 0;
            for (size_t i = 0; i < LENGTH; i++)
                same += sums[d][i] == sums[other][i];
            assert_in_range(same, LENGTH / 2 - 100, LENGTH / 2 + 100); /* 6 standard deviations */
        }
    }
}

static void rounding_is_unbiased(void **state)
{
    (void)state;
    enum { GRAINS = 2000 };
    static const float fractions[] = {0.001f, 0.03f, 0.25f, 0.5f, 0.77f, 0.999f};
    static float gradient[LENGTH];
    static double by_element[LENGTH];
    for (size_t f = 0; f < COUNT(fractions); f++) {
        const double p = (double)fractions[f], variance = p * (1 - p);
        double total = 0, grains = 0, elements = 0, neighbours = 0;
        for (size_t i = 0; i < LENGTH; i++) {
            gradient[i] = i % 2 == 0 ? fractions[f] : -5 - fractions[f];
            by_element[i] = 0;
        }
        for (uint32_t g = 0; g < GRAINS; g++) {
            const sh_narrow_draw draw = sh_narrow_draw_for(3, g / 8, g % 8, 0);
            int8_t sums[LENGTH] = {0};
            uint64_t check = 0;
            double of_grain = 0, before = 0;
            sh_narrow_add[SH_NARROW_8][sh_variant_chosen()](sums, gradient, 1, LENGTH, &draw,
                                                            &check);
            for (size_t i = 0; i < LENGTH; i++) {
                const double up = (i % 2 == 0 ? sums[i] : -5 - sums[i]) - p;
                of_grain += up;
                by_element[i] += up;
                neighbours += up * before;
                before = up;
            }
            total += of_grain;
            grains += of_grain * of_grain;
        }
        for (size_t i = 0; i < LENGTH; i++)
            elements += by_element[i] * by_element[i];
        const double n = (double)LENGTH * GRAINS;
        assert_true(fabs(total) < 5 * sqrt(n * variance));
        assert_true(fabs(neighbours) < 5 * sqrt(n) * variance);
        /* Sums over grains and over elements have the variance of independent terms. */
        assert_true(fabs(grains / (n * variance) - 1) < 5 * sqrt(2.0 / GRAINS));
        assert_true(fabs(elements / (n * variance) - 1) < 5 * sqrt(2.0 / LENGTH));
    }
}

typedef struct three_grains {
    int64_t wide[LENGTH];
    unsigned char sums[2 * LENGTH];
    uint64_t check;
} three_grains;

static void add_three(three_grains *g, sh_narrow narrow, float gradients[3][LENGTH])
{
    const unsigned v = sh_variant_chosen();
    memset(g, 0, sizeof *g);
    for (uint32_t k = 0; k < 3; k++) {
        const sh_narrow_draw draw = sh_narrow_draw_for(1, 1, k, 0);
        int16_t alone[LENGTH] = {0};
        uint64_t ignored = 0;
        sh_narrow_add[narrow][v](g->sums, gradients[k], 1, LENGTH, &draw, &g->check);
        sh_narrow_add[SH_NARROW_16][v](alone, gradients[k], 1, LENGTH, &draw, &ignored);
        for (size_t i = 0; i < LENGTH; i++)
            g->wide[i] += alone[i];
    }
}

static void partial_sums_may_wrap_and_final_ones_are_found(void **state)
{
    (void)state;
    static float gradients[3][LENGTH];
    sh_random random = sh_random_for(9, SH_RANDOM_TEST, 0, 0);
    three_grains g;
    for (sh_narrow n = 0; n < SH_NARROW_COUNT; n++) {
        const float limit = (float)(1 << (bits_of(n) - 1));
        for (size_t i = 0; i < LENGTH; i++) { /* wraps with two grains, not with three */
            gradients[0][i] = gradients[1][i] = limit * 0.7f + sh_random_unit(&random);
            gradients[2][i] = -limit * 0.9f + sh_random_unit(&random);
        }
        add_three(&g, n, gradients);
        assert_true(sh_narrow_check[n][sh_variant_chosen()](g.sums, 0, LENGTH) == g.check);
        for (size_t i = 0; i < LENGTH; i++)
            assert_true(read_sum(g.sums, i, n) == g.wide[i]);

        for (size_t bad = 0; bad < LENGTH; bad += 97) {
            const float kept = gradients[2][bad];
            gradients[2][bad] = bad % 2 == 0 ? kept + limit : kept - 2 * limit;
            add_three(&g, n, gradients);
            for (unsigned v = 0; v < SH_VARIANT_COUNT; v++)
                if (sh_variant_runs((sh_variant)v))
                    assert_true(sh_narrow_check[n][v](g.sums, 0, LENGTH) != g.check);
            gradients[2][bad] = kept;
        }
        gradients[2][3] += limit; /* opposite wraps do not cancel */
        gradients[2][4] -= 2 * limit;
        add_three(&g, n, gradients);
        assert_true(sh_narrow_check[n][sh_variant_chosen()](g.sums, 0, LENGTH) != g.check);
    }
}

static void checks_of_parts_add_up(void **state)
{
    (void)state;
    int16_t sums[LENGTH];
    sh_random random = sh_random_for(10, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < LENGTH; i++)
        sums[i] = (int16_t)sh_random_next(&random);
    for (sh_narrow n = 0; n < SH_NARROW_COUNT; n++)
        for (unsigned v = 0; v < SH_VARIANT_COUNT; v++)
            for (uint32_t cut = 0; cut <= LENGTH && sh_variant_runs((sh_variant)v); cut += 31) {
                const unsigned char *rest =
                    (const unsigned char *)sums + cut * (size_t)bits_of(n) / 8;
                assert_true(sh_narrow_check[n][v](sums, 5, cut) +
                                sh_narrow_check[n][v](rest, 5 + cut, LENGTH - cut) ==
                            sh_narrow_check[n][SH_VARIANT_plain](sums, 5, LENGTH));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_are_rounded_down_or_up),
        cmocka_unit_test(rounding_depends_on_key_and_place_alone),
        cmocka_unit_test(rounding_is_unbiased),
        cmocka_unit_test(partial_sums_may_wrap_and_final_ones_are_found),
        cmocka_unit_test(checks_of_parts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
