/* SPDX-License-Identifier: Apache-2.0 */
#include "train/exact_sum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/team.h"
#include "base/test.h"
#include "train/exact_sum_fixture.h"

static sh_status new_of(sh_sum **sum, const size_t *elements, uint32_t tensors, size_t bucket_bytes)
{
    return sh_sum_new(sum, &(sh_sum_options){.tensor_elements = elements,
                                             .tensors = tensors,
                                             .bucket_bytes = bucket_bytes});
}

static sh_sum *new_sum(void)
{
    sh_sum *sum = NULL;
    assert_ok(new_of(&sum, layout, TENSORS, 1 << 16));
    clear(sum);
    return sum;
}

static sh_sum *new_single(size_t elements)
{
    sh_sum *sum = NULL;
    assert_ok(new_of(&sum, &elements, 1, 0));
    clear(sum);
    return sum;
}

static void set_exponent(sh_sum *sum, int32_t exponent, float envelope)
{
    assert_ok(sh_sum_state_set(sum, &envelope, &exponent));
}

static int32_t *integers(sh_sum *sum)
{
    return sh_sum_total(sum).accumulator;
}

/* Seven common words precede the bound and the count of each tensor. */
static uint64_t bound_word(sh_sum *sum, uint32_t tensor)
{
    return sh_sum_total(sum).trailer[7 + 2 * tensor];
}

static float any_float(sh_random *random)
{
    const uint32_t bits = sh_random_next(random);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t reference_term(float gradient, int exponent)
{
    if (!isfinite(gradient))
        return 0;
    double scaled = ldexp((double)gradient, exponent);
    scaled = fmax(fmin(scaled, 2147483520.0), -2147483520.0);
    return llrint(scaled);
}

static const float edges[] = {
    0.0f,       -0.0f,       0.5f,           -0.5f,         1.5f,           2.5f,
    -2.5f,      0.49999997f, 0.50000006f,    8388607.5f,    8388606.5f,     -8388607.5f,
    8388608.0f, 16777217.0f, 2147483520.0f,  2147483648.0f, -2147483648.0f, 4e9f,
    FLT_MAX,    -FLT_MAX,    FLT_MIN,        -FLT_MIN,      1e-45f,         -1e-45f,
    1.1e-38f,   INFINITY,    -INFINITY,      NAN,           -NAN,           4194303.5f,
    4194304.5f, 1.0f,        0x1.fffffep-2f, 0x1p-126f,     0x1p-125f,      0x1.8p-125f,
};

static void kernels_give_the_bits_of_the_definition(void **state)
{
    (void)state;
    enum { LENGTH = 1000 };
    static const int exponents[] = {SH_SUM_EXPONENT_MIN, -30, -1, 0, 1, 24, 40,
                                    SH_SUM_EXPONENT_MAX};
    static float gradient[LENGTH];
    static int32_t start[LENGTH], got[LENGTH];
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 1, 0);
    for (size_t e = 0; e < COUNT(exponents); e++) {
        uint32_t top = 0;
        for (size_t i = 0; i < LENGTH; i++) {
            gradient[i] = i < COUNT(edges) ? edges[i] : any_float(&random);
            if (i % 3 == 0 && i >= COUNT(edges)) /* ties occur */
                gradient[i] = ldexpf(roundf(symmetric(&random) * 100.0f) / 2, -exponents[e]);
            start[i] = (int32_t)sh_random_next(&random);
            const uint32_t bits = (uint32_t)(fabsf(gradient[i]) > 0 || isnan(gradient[i]));
            uint32_t magnitude;
            memcpy(&magnitude, &gradient[i], sizeof magnitude);
            magnitude = bits ? magnitude & 0x7fffffff : 0;
            top = magnitude > top ? magnitude : top;
        }
        for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
            if (!sh_variant_runs((sh_variant)v))
                continue;
            memcpy(got, start, sizeof got);
            const float scale = ldexpf(1, exponents[e]);
            assert_int_equal(sh_sum_kernels[v](got, gradient, scale, LENGTH), top);
            for (size_t i = 0; i < LENGTH; i++) {
                const uint32_t term = (uint32_t)reference_term(gradient[i], exponents[e]);
                if ((uint32_t)got[i] != (uint32_t)start[i] + term)
                    fail_msg("variant %u, 2^%d: %a added %d, not %d", v, exponents[e],
                             (double)gradient[i], got[i] - start[i], (int32_t)term);
            }
        }
    }
}

static void kernels_take_every_length(void **state)
{
    (void)state;
    float gradient[40];
    for (size_t i = 0; i < COUNT(gradient); i++)
        gradient[i] = (float)i + 1;
    for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
        for (size_t length = 0; length < COUNT(gradient) && sh_variant_runs((sh_variant)v);
             length++) {
            int32_t sum[COUNT(gradient)] = {0};
            sh_sum_kernels[v](sum, gradient, 2, length);
            for (size_t i = 0; i < COUNT(gradient); i++)
                assert_int_equal(sum[i], i < length ? 2 * (i + 1) : 0);
        }
    }
}

static void add_grain(sh_sum *sum, const float *gradient)
{
    for (uint32_t t = TENSORS; t-- > 0;)
        sh_sum_add(sum, t, 0, gradient + sh_sum_first_element(sum, t));
}

static void merge(sh_sum *into, sh_sum *from)
{
    const sh_sum_block to = sh_sum_own(into), own = sh_sum_own(from);
    for (size_t i = 0; i < to.words; i++)
        to.trailer[i] += own.trailer[i];
    for (size_t i = 0; i < ELEMENTS; i++)
        integers(into)[i] = (int32_t)((uint32_t)integers(into)[i] + (uint32_t)integers(from)[i]);
}

static void assert_same(sh_sum *a, sh_sum *b)
{
    const sh_sum_block of_a = sh_sum_total(a), of_b = sh_sum_total(b);
    assert_int_equal(of_a.elements, ELEMENTS);
    assert_memory_equal(of_a.trailer, of_b.trailer, of_a.words * sizeof *of_a.trailer);
    assert_memory_equal(of_a.accumulator, of_b.accumulator, ELEMENTS * sizeof(int32_t));
}

static void any_order_and_any_split_give_the_same_bits(void **state)
{
    (void)state;
    float *grains = make_grains();
    sh_sum *expected = new_sum();
    bool wrapped = false;
    for (uint32_t g = 0; g < GRAINS; g++) {
        add_grain(expected, grains + g * ELEMENTS);
        const float *gradient = grains + g * ELEMENTS;
        wrapped = wrapped || (gradient[7] > 0) != (integers(expected)[7] > 0);
    }
    assert_true(wrapped);
    for (size_t i = 0; i < ELEMENTS; i++) {
        int64_t exact = 0;
        for (uint32_t g = 0; g < GRAINS; g++)
            exact += reference_term(grains[g * ELEMENTS + i], SH_SUM_EXPONENT_FIRST);
        assert_true(integers(expected)[i] == exact);
    }
    sh_random random = sh_random_for(4, SH_RANDOM_TEST, 0, 0);
    for (uint32_t devices = 1; devices <= 9; devices++) {
        sh_sum *sums[9];
        uint32_t order[GRAINS], ring[9];
        for (uint32_t d = 0; d < devices; d++) {
            sums[d] = new_sum();
            ring[d] = d;
        }
        for (uint32_t g = 0; g < GRAINS; g++)
            order[g] = g;
        shuffle(order, GRAINS, &random);
        shuffle(ring, devices, &random);
        for (uint32_t g = 0; g < GRAINS; g++)
            add_grain(sums[sh_random_below(&random, devices)], grains + order[g] * ELEMENTS);
        for (uint32_t d = 1; d < devices; d++)
            merge(sums[ring[0]], sums[ring[d]]);
        assert_same(sums[ring[0]], expected);
        for (uint32_t d = 0; d < devices; d++)
            sh_sum_free(sums[d]);
    }
    sh_sum_free(expected);
    free(grains);
}

struct lanes {
    sh_sum *sum;
    const float *grains;
    uint32_t count;
};

static void add_as_lane(void *context, uint32_t worker)
{
    const struct lanes *lanes = context;
    const float loss[] = {0.25f, 1.0f};
    for (uint32_t g = worker; g < GRAINS; g += lanes->count) {
        add_grain(lanes->sum, lanes->grains + g * ELEMENTS);
        sh_sum_add_loss(lanes->sum, loss, 2, 1);
    }
}

static void lanes_at_once_give_the_same_bits(void **state)
{
    (void)state;
    float *grains = make_grains();
    struct lanes one = {new_sum(), grains, 1};
    add_as_lane(&one, 0);
    struct lanes many = {new_sum(), grains, 4};
    sh_team *team;
    assert_ok(sh_team_start(&team, many.count));
    for (int turn = 0; turn < 3; turn++) {
        clear(many.sum);
        sh_team_run(team, add_as_lane, &many);
        assert_same(many.sum, one.sum);
    }
    sh_team_stop(team);
    sh_sum_free(one.sum);
    sh_sum_free(many.sum);
    free(grains);
}

static void the_bound_never_lies(void **state)
{
    (void)state;
    sh_random random = sh_random_for(5, SH_RANDOM_TEST, 0, 0);
    uint32_t applied = 0, refused = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        const int32_t exponent =
            SH_SUM_EXPONENT_MIN +
            (int32_t)sh_random_below(&random, SH_SUM_EXPONENT_MAX - SH_SUM_EXPONENT_MIN + 1);
        sh_sum *sum = new_single(1);
        set_exponent(sum, exponent, 1);
        const uint32_t grains = 1 + sh_random_below(&random, 8);
        const int magnitude = (int)sh_random_below(&random, 40) - 4;
        int64_t exact = 0;
        for (uint32_t g = 0; g < grains; g++) {
            float gradient = ldexpf(1 + symmetric(&random) * 0.5f, magnitude - exponent);
            const uint32_t kind = sh_random_below(&random, 4);
            if (kind == 0) /* within half a unit of a multiple of the bound's unit */
                gradient = ldexpf(256.0f * (float)sh_random_below(&random, 9) +
                                      (float)sh_random_below(&random, 5) * 0.25f - 0.5f,
                                  -exponent);
            if (kind == 1)
                gradient = nextafterf(ldexpf(1, magnitude - exponent), 0);
            if (!isfinite(gradient))
                gradient = 1;
            sh_sum_add(sum, 0, 0, &gradient);
            exact += reference_term(gradient, exponent);
        }
        assert_true((uint64_t)llabs(exact) <= bound_word(sum, 0) * 256);
        uint32_t culprit;
        if (sh_sum_verdict(sum, &culprit) == SH_VERDICT_APPLY) {
            assert_true(integers(sum)[0] == exact);
            applied++;
        } else {
            refused++;
        }
        sh_sum_free(sum);
    }
    assert_true(applied > 1000 && refused > 1000);
}

static void the_sum_is_the_float64_sum_within_half_a_unit_a_grain(void **state)
{
    (void)state;
    enum { LENGTH = 257, MANY = 100 };
    sh_random random = sh_random_for(6, SH_RANDOM_TEST, 0, 0);
    sh_sum *sum = new_single(LENGTH);
    set_exponent(sum, 20, 1);
    double exact[LENGTH] = {0};
    float gradient[LENGTH], value[LENGTH];
    for (int g = 0; g < MANY; g++) {
        for (size_t i = 0; i < LENGTH; i++) {
            gradient[i] = symmetric(&random) * 0.1f;
            exact[i] += (double)gradient[i];
        }
        sh_sum_add(sum, 0, 0, gradient);
    }
    uint32_t culprit, max_abs = 0, largest = 0;
    assert_int_equal(sh_sum_verdict(sum, &culprit), SH_VERDICT_APPLY);
    sh_sum_value(sum, 0, value, &max_abs);
    for (size_t i = 0; i < LENGTH; i++) {
        assert_true(fabs((double)value[i] - exact[i]) <= MANY * 0x1p-20 / 2);
        const uint32_t magnitude = (uint32_t)abs(integers(sum)[i]);
        largest = magnitude > largest ? magnitude : largest;
        assert_true(value[i] == (float)integers(sum)[i] * sh_sum_scale(sum, 0));
    }
    assert_int_equal(max_abs, largest);
    sh_sum_free(sum);
}

static sh_verdict attempt(sh_sum *sum, float gradient, uint32_t grains)
{
    uint32_t culprit;
    clear(sum);
    for (uint32_t g = 0; g < grains; g++)
        sh_sum_add(sum, 0, 0, &gradient);
    return sh_sum_verdict(sum, &culprit);
}

static void overflow_is_found_and_redone_at_the_right_exponent(void **state)
{
    (void)state;
    static const struct {
        int32_t exponent;
        float gradient;
        uint32_t grains;
        int32_t redone; /* the exponent after one redo; unchanged if none is needed */
    } cases[] = {
        {0, 0x1.fffffp30f, 1, 0}, /* 2^31 - 2^10: the bound is 2^23 - 4 */
        {0, 0x1p31f, 1, -2},      /* at the limit: the bound is 2^23 */
        {0, -0x1p31f, 1, -2},
        {0, 0x1.fffffep30f, 1, -2}, /* 2^31 - 128 rounds up to a bound of 2^23 */
        {0, 0x1p29f, 4, -2},        /* four together exceed the limit */
        {0, 0x1p29f, 3, 0},         /* three do not */
        {0, 0x1.8p31f, 1, -2},      /* 2^-2: 1.5 * 2^29; 2^-1 would be 1.5 * 2^30 */
        {20, 1000.0f, 10, 16},      /* 10000 * 2^20 > 2^31; 10000 * 2^16 < 2^30 */
        {40, 0x1p20f, 1, 21},       /* saturated: lowered by 19, then again */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sh_sum *sum = new_single(1);
        set_exponent(sum, cases[i].exponent, 1);
        const sh_verdict verdict = attempt(sum, cases[i].gradient, cases[i].grains);
        assert_int_equal(sh_sum_exponent(sum, 0), cases[i].redone);
        assert_int_equal(verdict == SH_VERDICT_REDO, cases[i].redone != cases[i].exponent);
        assert_false(sh_sum_calibrating(sum));
        uint32_t redos = 0;
        while (attempt(sum, cases[i].gradient, cases[i].grains) == SH_VERDICT_REDO)
            assert_in_range(++redos, 1, 4);
        float value;
        uint32_t max_abs = 0;
        sh_sum_value(sum, 0, &value, &max_abs);
        const float expected = cases[i].gradient * (float)cases[i].grains;
        assert_true(fabsf(value - expected) <= fabsf(expected) * 0x1p-23f);
        sh_sum_free(sum);
    }
}

static void a_first_step_calibrates(void **state)
{
    (void)state;
    static const float gradients[] = {1e-30f, 1e-12f, 1e-6f, 1e-3f, 1.0f, 1e6f, 1e20f, 1e30f};
    for (size_t i = 0; i < COUNT(gradients); i++) {
        sh_sum *sum = new_single(1);
        uint32_t redos = 0;
        while (attempt(sum, gradients[i], 8) == SH_VERDICT_REDO) {
            assert_true(sh_sum_calibrating(sum));
            assert_in_range(++redos, 1, 6);
        }
        assert_false(sh_sum_calibrating(sum));
        float value;
        uint32_t max_abs = 0;
        sh_sum_value(sum, 0, &value, &max_abs);
        assert_true(fabsf(value - 8 * gradients[i]) <= 8 * gradients[i] * 0x1p-16f);
        sh_sum_follow(sum, 0, max_abs);
        for (int step = 0; step < 3; step++) {
            assert_int_equal(attempt(sum, gradients[i], 8), SH_VERDICT_APPLY);
            sh_sum_value(sum, 0, &value, &max_abs);
            sh_sum_follow(sum, 0, max_abs);
        }
        assert_int_equal(attempt(sum, gradients[i] * 300, 8), SH_VERDICT_REDO);
        assert_false(sh_sum_calibrating(sum));
        sh_sum_free(sum);
    }
}

static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    static const size_t sizes[] = {3, 20000, 3};
    static const struct {
        float loss, values[3];
        sh_verdict verdict;
        uint32_t tensor;
    } cases[] = {
        {1, {0, 0, 0}, SH_VERDICT_APPLY, 77},
        {1, {0, INFINITY, 0}, SH_VERDICT_NOT_FINITE, 1},
        {1, {-INFINITY, 0, 0}, SH_VERDICT_NOT_FINITE, 0},
        {1, {NAN, 0, NAN}, SH_VERDICT_NOT_FINITE, 2},
        {NAN, {NAN, 0, NAN}, SH_VERDICT_NOT_FINITE, 2},
        {INFINITY, {0, 0, 0}, SH_VERDICT_NOT_FINITE, SH_SUM_LOSS},
        {1, {FLT_MAX, 0, NAN}, SH_VERDICT_NOT_FINITE, 2},
        {1, {0, FLT_MAX, 0}, SH_VERDICT_REDO, 77},
    };
    static float gradient[20000];
    for (size_t i = 0; i < COUNT(cases); i++) {
        sh_sum *sum;
        assert_ok(new_of(&sum, sizes, 3, 0));
        clear(sum);
        sh_sum_add_loss(sum, &cases[i].loss, 1, 0);
        for (uint32_t t = 0; t < 3; t++) {
            gradient[2] = cases[i].values[t];
            gradient[0] = 0x1p-10f;
            sh_sum_add(sum, t, 0, gradient);
            const int32_t *got = integers(sum) + sh_sum_first_element(sum, t);
            assert_int_equal(got[0], 1 << 30);
            assert_int_equal(got[2], reference_term(cases[i].values[t], SH_SUM_EXPONENT_FIRST));
            assert_int_equal(sh_sum_total(sum).trailer[7 + 2 * t + 1],
                             isfinite(cases[i].values[t]) ? 0 : 1);
            assert_int_equal(sh_sum_total(sum).words, 7 + 2 * 3);
        }
        uint32_t tensor = 77;
        assert_int_equal(sh_sum_verdict(sum, &tensor), cases[i].verdict);
        assert_int_equal(tensor, cases[i].tensor);
        if (cases[i].verdict == SH_VERDICT_NOT_FINITE)
            assert_int_equal(sh_sum_exponent(sum, 0), SH_SUM_EXPONENT_FIRST);
        sh_sum_free(sum);
    }
}

static void a_sum_that_fits_no_float_is_not_finite(void **state)
{
    (void)state;
    sh_sum *sum = new_single(1);
    sh_verdict verdict;
    for (uint32_t redos = 0; (verdict = attempt(sum, FLT_MAX, 2)) == SH_VERDICT_REDO; redos++)
        assert_in_range(redos, 0, 12);
    assert_int_equal(verdict, SH_VERDICT_NOT_FINITE);
    while ((verdict = attempt(sum, FLT_MAX / 4, 3)) == SH_VERDICT_REDO) {
    }
    assert_int_equal(verdict, SH_VERDICT_APPLY);
    float value;
    uint32_t max_abs = 0;
    sh_sum_value(sum, 0, &value, &max_abs);
    assert_true(value == FLT_MAX / 4 * 3);
    sh_sum_follow(sum, 0, max_abs);
    assert_int_equal(sh_sum_exponent(sum, 0), SH_SUM_EXPONENT_MIN);
    sh_sum_free(sum);
}

static void follow_step(sh_sum *sum, float gradient, float *envelope)
{
    float value;
    int32_t exponent;
    uint32_t max_abs = 0;
    while (attempt(sum, gradient, 1) == SH_VERDICT_REDO) {
    }
    sh_sum_value(sum, 0, &value, &max_abs);
    sh_sum_follow(sum, 0, max_abs);
    sh_sum_state_get(sum, envelope, &exponent);
    assert_int_equal(exponent, sh_sum_exponent(sum, 0));
}

static void exponents_follow_a_slowly_falling_maximum(void **state)
{
    (void)state;
    sh_sum *sum = new_single(1);
    float envelope;
    follow_step(sum, 3.0f, &envelope);
    assert_true(envelope == 3.0f);
    assert_int_equal(sh_sum_exponent(sum, 0), 22); /* 3 * 2^22 is in [2^23, 2^24) */
    follow_step(sum, 1.0f, &envelope);
    assert_true(envelope == 3.0f * 0.9375f);
    assert_int_equal(sh_sum_exponent(sum, 0), 22);
    for (int step = 0; step < 6; step++)
        follow_step(sum, -1.0f, &envelope);
    assert_int_equal(sh_sum_exponent(sum, 0), 23); /* 3 * 0.9375^7 = 1.9 */
    follow_step(sum, 100.0f, &envelope);           /* room for 128 times as much */
    assert_int_equal(sh_sum_exponent(sum, 0), 17);
    assert_true(envelope == 100.0f);
    follow_step(sum, 0.0f, &envelope);
    assert_int_equal(sh_sum_exponent(sum, 0), 17);
    assert_true(envelope == 100.0f);
    follow_step(sum, -128.0f, &envelope); /* the lower end of the range */
    assert_int_equal(sh_sum_exponent(sum, 0), 16);
    follow_step(sum, 0x1p-149f, &envelope);
    for (int step = 0; step < 3000; step++)
        follow_step(sum, 0x1p-149f, &envelope);
    assert_int_equal(sh_sum_exponent(sum, 0), SH_SUM_EXPONENT_MAX);
    sh_sum_free(sum);
}

/* The bound is far above |G|. */
static void noise_over_many_grains_does_not_redo_for_ever(void **state)
{
    (void)state;
    sh_sum *sum = new_single(1);
    uint32_t redos = 0;
    for (int step = 0; step < 50; step++) {
        for (;;) {
            clear(sum);
            for (uint32_t g = 0; g < 2000; g++) {
                const float gradient = g % 2 == 0 ? 1.0f : -1.0f + (g == 1 ? 0.001f : 0);
                sh_sum_add(sum, 0, 0, &gradient);
            }
            uint32_t culprit;
            const sh_verdict verdict = sh_sum_verdict(sum, &culprit);
            if (verdict == SH_VERDICT_APPLY)
                break;
            redos += !sh_sum_calibrating(sum);
        }
        float value;
        uint32_t max_abs = 0;
        sh_sum_value(sum, 0, &value, &max_abs);
        assert_true(fabsf(value - 0.001f) < 1e-4f);
        sh_sum_follow(sum, 0, max_abs);
    }
    assert_int_equal(redos, 0);
    sh_sum_free(sum);
}

static void state_goes_round(void **state)
{
    (void)state;
    const float envelopes[TENSORS] = {0, 1, FLT_MIN, FLT_MAX, 0.1f, 3};
    const int32_t exponents[TENSORS] = {40, 0, SH_SUM_EXPONENT_MAX, SH_SUM_EXPONENT_MIN, 7, -8};
    float got_envelopes[TENSORS];
    int32_t got_exponents[TENSORS];
    sh_sum *sum = new_sum();
    sh_sum_state_get(sum, got_envelopes, got_exponents);
    assert_true(got_envelopes[1] == 0 && got_exponents[1] == SH_SUM_EXPONENT_FIRST);
    assert_ok(sh_sum_state_set(sum, envelopes, exponents));

    static const struct {
        float envelope;
        int32_t exponent;
        const char *message;
    } bad[] = {
        {-1, 0, "tensor 2: the envelope -1 is not a maximum"},
        {NAN, 0, "nan is not a maximum"},
        {INFINITY, 0, "inf is not a maximum"},
        {1e-40f, 0, "is not a maximum"},
        {1, 126, "tensor 2: the exponent 126 is outside -97 to 125"},
        {1, -98, "the exponent -98 is outside"},
        {1, INT32_MIN, "is outside"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        float wrong_envelopes[TENSORS] = {1, 1, bad[i].envelope, 1, 1, 1};
        int32_t wrong_exponents[TENSORS] = {1, 1, bad[i].exponent, 1, 1, 1};
        assert_fails(sh_sum_state_set(sum, wrong_envelopes, wrong_exponents), SH_CORRUPT,
                     bad[i].message);
    }
    sh_sum_state_get(sum, got_envelopes, got_exponents);
    assert_memory_equal(got_envelopes, envelopes, sizeof envelopes);
    assert_memory_equal(got_exponents, exponents, sizeof exponents);
    for (uint32_t t = 0; t < TENSORS; t++)
        assert_true(sh_sum_scale(sum, t) == ldexpf(1, -exponents[t]));
    sh_sum_free(sum);
}

static void totals_are_exact(void **state)
{
    (void)state;
    sh_sum *sum = new_single(1);
    const float losses[] = {0.5f, 0x1p-32f, 0x1p-33f, 0x1.8p-32f, 2e6f, -1.0f, INFINITY};
    sh_sum_add_loss(sum, losses, 4, 3);
    sh_sum_totals totals = sh_sum_read_totals(sum);
    assert_true(totals.loss == 0.5 + 0x1p-32 + 0 + 0x1p-31); /* ties to even */
    assert_int_equal(totals.samples, 4);
    assert_int_equal(totals.score, 3);
    assert_int_equal(totals.stops, 0);
    sh_sum_clear_trailer(sum);
    sh_sum_add_loss(sum, losses + 4, 2, 0);
    sh_sum_set_note(sum, &(sh_sum_note){true, 7, 8, 1});
    sh_sum_set_note(sum, &(sh_sum_note){true, UINT32_MAX, 5, UINT64_MAX});
    totals = sh_sum_read_totals(sum);
    assert_int_equal(totals.next_view, UINT32_MAX);
    assert_int_equal(totals.audit, 5);
    assert_true(totals.check == UINT64_MAX);
    assert_true(totals.loss == 0x1p20 - 1);
    assert_int_equal(totals.samples, 2);
    assert_int_equal(totals.stops, 1);
    sh_sum_add_loss(sum, losses + 6, 1, 0);
    assert_true(isnan(sh_sum_read_totals(sum).loss));
    sh_sum_free(sum);
}

static void the_total_is_apart_from_the_own_part(void **state)
{
    (void)state;
    const float gradient = 0x1p-20f, loss = 1;
    sh_sum *sum = new_single(1);
    assert_ptr_equal(sh_sum_total(sum).accumulator, sh_sum_own(sum).accumulator);
    assert_ok(sh_sum_share(sum));
    const int32_t *alone = sh_sum_own(sum).accumulator;
    sh_sum_set_shared(sum, true);
    assert_ptr_equal(sh_sum_own(sum).accumulator, alone);
    set_exponent(sum, 40, 1);
    sh_sum_add(sum, 0, 0, &gradient);
    sh_sum_add_loss(sum, &loss, 1, 1);
    const sh_sum_block own = sh_sum_own(sum), total = sh_sum_total(sum);
    assert_true(own.accumulator != total.accumulator && own.trailer != total.trailer);
    assert_int_equal(((int32_t *)own.accumulator)[0], 1 << 20);
    assert_int_equal(((int32_t *)total.accumulator)[0], 0);
    assert_int_equal(sh_sum_read_totals(sum).samples, 0);

    uint32_t tensor, max_abs = 0;
    float value;
    for (size_t i = 0; i < own.words; i++) /* three equal devices */
        total.trailer[i] = 3 * own.trailer[i];
    ((int32_t *)total.accumulator)[0] = 3 * ((int32_t *)own.accumulator)[0];
    assert_int_equal(sh_sum_read_totals(sum).samples, 3);
    assert_int_equal(sh_sum_verdict(sum, &tensor), SH_VERDICT_APPLY);
    sh_sum_value(sum, 0, &value, &max_abs);
    assert_true(value == 3 * gradient);
    assert_int_equal(max_abs, 3 << 20);
    total.trailer[7] = (uint64_t)1 << 23;
    assert_int_equal(sh_sum_verdict(sum, &tensor), SH_VERDICT_REDO);

    assert_ok(sh_sum_share(sum));
    assert_ptr_equal(sh_sum_total(sum).accumulator, total.accumulator);
    clear(sum);
    assert_int_equal(((int32_t *)own.accumulator)[0], 0);
    assert_int_equal(((int32_t *)total.accumulator)[0], 3 << 20);
    sh_sum_set_shared(sum, false);
    assert_ptr_equal(sh_sum_total(sum).accumulator, alone);
    sh_sum_free(sum);
}

static void add_made_elsewhere(sh_sum *sum, const float *grains, uint32_t first, uint32_t count)
{
    for (uint32_t t = 0; t < TENSORS; t++) {
        sh_sum_grain facts[GRAINS] = {{0}};
        int32_t *terms = calloc(layout[t], sizeof *terms);
        assert_non_null(terms);
        for (uint32_t g = 0; g < count; g++)
            for (size_t i = 0; i < layout[t]; i++) {
                const float value =
                    grains[(first + g) * ELEMENTS + sh_sum_first_element(sum, t) + i];
                uint32_t bits;
                memcpy(&bits, &value, sizeof bits);
                bits &= 0x7fffffff;
                facts[g].not_finite += bits >= SH_SUM_INFINITY_BITS;
                if (bits < SH_SUM_INFINITY_BITS && bits > facts[g].top)
                    facts[g].top = bits;
                terms[i] = (int32_t)((uint32_t)terms[i] +
                                     (uint32_t)reference_term(value, sh_sum_exponent(sum, t)));
            }
        sh_sum_add_integers(sum, t, terms, facts, count);
        free(terms);
    }
}

static void integers_made_elsewhere_give_the_same_bits(void **state)
{
    (void)state;
    float *grains = make_grains();
    grains[3] = INFINITY;
    grains[5 * ELEMENTS + 20000] = NAN;
    sh_sum *expected = new_sum(), *sum = new_sum();
    for (uint32_t g = 0; g < GRAINS; g++)
        for (uint32_t t = 0; t < TENSORS; t++) {
            const float *gradient = grains + g * ELEMENTS + sh_sum_first_element(sum, t);
            sh_sum_add(expected, t, g, gradient);
            if (g < 2)
                sh_sum_add(sum, t, g, gradient);
        }
    add_made_elsewhere(sum, grains, 2, 7);
    add_made_elsewhere(sum, grains, 9, GRAINS - 9);
    const sh_sum_block want = sh_sum_total(expected), got = sh_sum_total(sum);
    assert_memory_equal(got.accumulator, want.accumulator, ELEMENTS * sizeof(int32_t));
    assert_memory_equal(got.trailer, want.trailer, want.words * sizeof *want.trailer);
    sh_sum_free(sum);
    sh_sum_free(expected);
    free(grains);
}

static void what_cannot_be_summed_is_refused(void **state)
{
    (void)state;
    sh_sum *sum = NULL;
    const size_t empty[] = {3, 0}, huge[] = {SIZE_MAX, 2}, large[] = {SIZE_MAX / 4 - 1};
    assert_fails(new_of(&sum, empty, 0, 0), SH_INVALID, "at least one tensor");
    assert_fails(new_of(&sum, empty, 2, 0), SH_INVALID, "tensor 1 has no elements");
    assert_fails(new_of(&sum, huge, 2, 0), SH_NO_MEMORY, "the sum of gradients");
    assert_fails(new_of(&sum, huge, 1, 0), SH_NO_MEMORY, "the sum of gradients");
    assert_fails(new_of(&sum, large, 1, 0), SH_NO_MEMORY, "the sum of gradients");
    assert_null(sum);
    sh_sum_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_give_the_bits_of_the_definition),
        cmocka_unit_test(kernels_take_every_length),
        cmocka_unit_test(any_order_and_any_split_give_the_same_bits),
        cmocka_unit_test(lanes_at_once_give_the_same_bits),
        cmocka_unit_test(the_bound_never_lies),
        cmocka_unit_test(the_sum_is_the_float64_sum_within_half_a_unit_a_grain),
        cmocka_unit_test(overflow_is_found_and_redone_at_the_right_exponent),
        cmocka_unit_test(a_first_step_calibrates),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(a_sum_that_fits_no_float_is_not_finite),
        cmocka_unit_test(exponents_follow_a_slowly_falling_maximum),
        cmocka_unit_test(noise_over_many_grains_does_not_redo_for_ever),
        cmocka_unit_test(state_goes_round),
        cmocka_unit_test(totals_are_exact),
        cmocka_unit_test(the_total_is_apart_from_the_own_part),
        cmocka_unit_test(integers_made_elsewhere_give_the_same_bits),
        cmocka_unit_test(what_cannot_be_summed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
