/* SPDX-License-Identifier: Apache-2.0 */
#include "train/exact_sum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"
#include "train/exact_sum_fixture.h"

static void set_exponent(sh_sum *sum, int32_t exponent, float envelope)
{
    assert_ok(sh_sum_state_set(sum, &envelope, &exponent));
}

static const uint32_t narrow_wires[] = {16, 8};

/* The first `wide` tensors have 32 bits. */
static sh_sum *new_narrow(uint32_t wire, uint32_t wide)
{
    sh_sum *sum = NULL;
    assert_ok(sh_sum_new(&sum, &(sh_sum_options){.tensor_elements = layout,
                                                 .tensors = TENSORS,
                                                 .bucket_bytes = 1 << 16,
                                                 .wire = wire,
                                                 .wide = wide,
                                                 .seed = 5}));
    clear(sum);
    return sum;
}

static size_t block_bytes(const sh_sum *sum)
{
    return sh_layout_offset(sh_sum_layout_of(sum), ELEMENTS);
}

/* Exponents for which the largest terms fill the width, so that partial sums wrap. */
static void set_exponents(sh_sum *sum, uint32_t wire, uint32_t wide)
{
    float envelopes[TENSORS];
    int32_t exponents[TENSORS];
    for (uint32_t t = 0; t < TENSORS; t++) {
        envelopes[t] = 1;
        exponents[t] = t < wide ? 30 : (int32_t)wire + 8;
    }
    assert_ok(sh_sum_state_set(sum, envelopes, exponents));
}

static void add_numbered(sh_sum *sum, const float *grains, uint32_t grain)
{
    for (uint32_t t = TENSORS; t-- > 0;)
        sh_sum_add(sum, t, grain, grains + grain * ELEMENTS + sh_sum_first_element(sum, t));
}

static void merge_narrow(sh_sum *into, sh_sum *from)
{
    const sh_sum_layout *lies = sh_sum_layout_of(into);
    const sh_sum_block to = sh_sum_own(into), own = sh_sum_own(from);
    for (size_t i = 0; i < to.words; i++)
        to.trailer[i] += own.trailer[i];
    for (uint32_t b = 0; b < lies->bucket_count; b++) {
        const sh_sum_bucket *bucket = &lies->buckets[b];
        const size_t offset = sh_layout_offset(lies, bucket->first_element);
        unsigned char *sums = (unsigned char *)to.accumulator + offset;
        const unsigned char *terms = (const unsigned char *)own.accumulator + offset;
        for (size_t i = 0; i < bucket->elements; i++)
            if (bucket->word == SH_WORD_I8)
                sums[i] = (unsigned char)(sums[i] + terms[i]);
            else if (bucket->word == SH_WORD_I16)
                ((uint16_t *)sums)[i] =
                    (uint16_t)(((uint16_t *)sums)[i] + ((const uint16_t *)terms)[i]);
            else
                ((uint32_t *)sums)[i] += ((const uint32_t *)terms)[i];
    }
}

static void narrow_sums_are_the_same_in_any_order_and_split(void **state)
{
    (void)state;
    float *grains = make_grains();
    sh_random random = sh_random_for(11, SH_RANDOM_TEST, 0, 0);
    for (uint32_t c = 0; c < 4; c++) {
        const uint32_t wire = narrow_wires[c % 2], wide = c < 2 ? 0 : 3;
        sh_sum *expected = new_narrow(wire, wide), *sums[3];
        uint32_t order[GRAINS], tensor;
        set_exponents(expected, wire, wide);
        for (uint32_t g = 0; g < GRAINS; g++) {
            add_numbered(expected, grains, g);
            order[g] = g;
        }
        assert_int_equal(sh_sum_verdict(expected, &tensor), SH_VERDICT_APPLY);
        shuffle(order, GRAINS, &random);
        for (uint32_t d = 0; d < 3; d++) {
            sums[d] = new_narrow(wire, wide);
            set_exponents(sums[d], wire, wide);
        }
        for (uint32_t g = 0; g < GRAINS; g++)
            add_numbered(sums[sh_random_below(&random, 3)], grains, order[g]);
        merge_narrow(sums[2], sums[0]);
        merge_narrow(sums[2], sums[1]);
        const sh_sum_block a = sh_sum_own(sums[2]), b = sh_sum_own(expected);
        assert_memory_equal(a.trailer, b.trailer, a.words * sizeof *a.trailer);
        assert_memory_equal(a.accumulator, b.accumulator, block_bytes(expected));
        assert_int_equal(sh_sum_verdict(sums[2], &tensor), SH_VERDICT_APPLY);
        for (uint32_t d = 0; d < 3; d++)
            sh_sum_free(sums[d]);
        sh_sum_free(expected);
    }
    free(grains);
}

static void rounding_is_drawn_anew_for_each_step_and_grain(void **state)
{
    (void)state;
    static float gradient[1000];
    const size_t elements = COUNT(gradient);
    unsigned char first[2000];
    sh_sum *sum;
    for (size_t i = 0; i < elements; i++)
        gradient[i] = 0.5f;
    assert_ok(sh_sum_new(
        &sum, &(sh_sum_options){.tensor_elements = &elements, .tensors = 1, .wire = 16}));
    set_exponent(sum, 0, 1);
    for (uint32_t turn = 0; turn < 4; turn++) { /* the same twice, another step, another grain */
        clear(sum);
        sh_sum_set_step(sum, turn == 2);
        sh_sum_add(sum, 0, turn == 3, gradient);
        if (turn == 0)
            memcpy(first, sh_sum_total(sum).accumulator, sizeof first);
        const int differ = memcmp(first, sh_sum_total(sum).accumulator, sizeof first);
        assert_true((differ == 0) == (turn < 2));
    }
    sh_sum_free(sum);
}

static sh_verdict attempt_narrow(sh_sum *sum, float gradient, uint32_t grains)
{
    uint32_t culprit;
    clear(sum);
    for (uint32_t g = 0; g < grains; g++)
        sh_sum_add(sum, 0, g, &gradient);
    return sh_sum_verdict(sum, &culprit);
}

static sh_sum *new_narrow_single(uint32_t wire)
{
    const size_t one = 1;
    sh_sum *sum;
    assert_ok(
        sh_sum_new(&sum, &(sh_sum_options){.tensor_elements = &one, .tensors = 1, .wire = wire}));
    return sum;
}

static float value_of(sh_sum *sum, uint32_t *max_abs)
{
    float value;
    *max_abs = 0;
    sh_sum_value(sum, 0, &value, max_abs);
    return value;
}

static void narrow_sums_that_wrap_are_redone(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(narrow_wires); w++) {
        const uint32_t wire = narrow_wires[w];
        const float limit = ldexpf(1, (int)wire - 1);
        const struct {
            float gradient;
            uint32_t grains;
            int32_t fall; /* by which the exponent falls; 0: no redo */
        } cases[] = {
            {limit - 1, 1, 0}, {-limit, 1, 0},    {limit, 1, 2},         {-limit - 1, 1, 2},
            {limit / 4, 3, 0}, {limit / 4, 4, 2}, {limit * 1000, 3, 13}, {1e30f, 1, 0},
        };
        for (size_t i = 0; i < COUNT(cases); i++) {
            sh_sum *sum = new_narrow_single(wire);
            set_exponent(sum, 0, 1);
            const sh_verdict verdict = attempt_narrow(sum, cases[i].gradient, cases[i].grains);
            assert_false(sh_sum_calibrating(sum));
            if (cases[i].gradient < 1e30f)
                assert_int_equal(-sh_sum_exponent(sum, 0), cases[i].fall);
            assert_int_equal(verdict == SH_VERDICT_REDO, sh_sum_exponent(sum, 0) != 0);
            uint32_t redos = 0, max_abs;
            while (attempt_narrow(sum, cases[i].gradient, cases[i].grains) == SH_VERDICT_REDO)
                assert_in_range(++redos, 1, 8);
            assert_true(redos == 0 || cases[i].gradient == 1e30f);
            const float expected = cases[i].gradient * (float)cases[i].grains;
            assert_true(fabsf(value_of(sum, &max_abs) - expected) <=
                        (float)cases[i].grains * sh_sum_scale(sum, 0));
            sh_sum_free(sum);
        }
    }
}

static void many_grains_of_noise_are_summed_in_few_bits(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(narrow_wires); w++) {
        sh_sum *sum = new_narrow_single(narrow_wires[w]);
        const float half = ldexpf(1, (int)narrow_wires[w] - 2);
        uint32_t culprit, max_abs;
        set_exponent(sum, 0, 1);
        clear(sum);
        for (uint32_t g = 0; g < 1001; g++) {
            const float gradient = g % 2 == 0 ? half : -half;
            sh_sum_add(sum, 0, g, &gradient);
        }
        assert_int_equal(sh_sum_verdict(sum, &culprit), SH_VERDICT_APPLY);
        assert_true(value_of(sum, &max_abs) == half);
        assert_int_equal(max_abs, (uint32_t)half);
        sh_sum_free(sum);
    }
}

static void narrow_exponents_are_found_and_followed(void **state)
{
    (void)state;
    static const float gradients[] = {1e-25f, 1e-12f, 1e-3f, 1.0f, 1e6f, 1e20f};
    for (size_t w = 0; w < COUNT(narrow_wires); w++)
        for (size_t i = 0; i < COUNT(gradients); i++) {
            sh_sum *sum = new_narrow_single(narrow_wires[w]);
            const float low = narrow_wires[w] == 16 ? 0x1p10f : 0x1p4f;
            uint32_t redos = 0, max_abs;
            while (attempt_narrow(sum, gradients[i], 4) == SH_VERDICT_REDO) {
                assert_true(sh_sum_calibrating(sum));
                assert_in_range(++redos, 1, 8);
            }
            for (int step = 0; step < 4; step++) {
                (void)value_of(sum, &max_abs);
                sh_sum_follow(sum, 0, max_abs);
                assert_int_equal(attempt_narrow(sum, gradients[i], 4), SH_VERDICT_APPLY);
            }
            (void)value_of(sum, &max_abs); /* random rounding may move it past a power of two */
            assert_true((float)max_abs >= low - 4 && (float)max_abs <= 2 * low + 4);
            assert_int_equal(attempt_narrow(sum, gradients[i] * 3, 4), SH_VERDICT_APPLY);
            assert_int_equal(attempt_narrow(sum, gradients[i] * 33, 4), SH_VERDICT_REDO);
            assert_false(sh_sum_calibrating(sum));
            assert_int_equal(attempt_narrow(sum, 0, 4), SH_VERDICT_APPLY);
            sh_sum_free(sum);
        }
}

static void narrow_sums_take_less_and_refuse_what_does_not_fit(void **state)
{
    (void)state;
    uint32_t tensor;
    for (size_t w = 0; w < COUNT(narrow_wires); w++) {
        sh_sum *sum = new_narrow(narrow_wires[w], 2);
        const float bad[2] = {NAN, 1}, envelope = 1;
        const int32_t exponent = SH_SUM_EXPONENT_MAX_NARROW + 1;
        assert_int_equal(block_bytes(sum), 6 * 4 + (ELEMENTS - 6) * narrow_wires[w] / 8);
        assert_int_equal(sh_sum_own(sum).words, 7 + 3 * TENSORS);
        sh_sum_free(sum);
        sum = new_narrow_single(narrow_wires[w]);
        assert_fails(sh_sum_state_set(sum, &envelope, &exponent), SH_CORRUPT,
                     "the exponent 95 is outside -97 to 94");
        clear(sum);
        sh_sum_add(sum, 0, 0, bad);
        assert_int_equal(sh_sum_verdict(sum, &tensor), SH_VERDICT_NOT_FINITE);
        assert_int_equal(tensor, 0);
        sh_verdict verdict;
        uint32_t redos = 0;
        while ((verdict = attempt_narrow(sum, FLT_MAX, 2)) == SH_VERDICT_REDO)
            assert_in_range(++redos, 1, 12);
        assert_int_equal(verdict, SH_VERDICT_NOT_FINITE); /* the largest unit is 2^97 */
        sh_sum_free(sum);
    }
}

/* Splits after `cut` elements, or after each one if `cut` is 0. */
static void add_in_parts(sh_sum *sum, uint32_t tensor, const float *gradient, size_t cut)
{
    const size_t count = sh_sum_elements(sum, tensor);
    sh_sum_parts parts = {99, 99, 99}; /* left from another gradient */
    for (size_t first = 0, now; first < count; first += now) {
        const size_t left = count - first;
        now = cut == 0 ? 1 : cut < left && first == 0 ? cut : left;
        const sh_gradient part = {gradient + first, first, now, now == left};
        sh_sum_add_part(sum, tensor, 3, &part, &parts);
    }
}

static void a_gradient_may_come_in_parts(void **state)
{
    (void)state;
    static const uint32_t wires[] = {32, 16, 8};
    static float gradient[ELEMENTS];
    sh_random random = sh_random_for(4, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < ELEMENTS; i++)
        gradient[i] = i % 97 == 41 ? INFINITY : sh_random_unit(&random) - 0.5f;
    for (size_t w = 0; w < COUNT(wires); w++) {
        sh_sum *whole = new_narrow(wires[w], 2);
        for (uint32_t t = 0; t < TENSORS; t++)
            sh_sum_add(whole, t, 3, gradient + sh_sum_first_element(whole, t));
        const sh_sum_block expected = sh_sum_own(whole);
        for (size_t cut = 0; cut < 3; cut++) {
            sh_sum *sum = new_narrow(wires[w], 2);
            for (uint32_t t = 0; t < TENSORS; t++)
                add_in_parts(sum, t, gradient + sh_sum_first_element(sum, t), cut);
            const sh_sum_block found = sh_sum_own(sum);
            assert_memory_equal(found.accumulator, expected.accumulator, block_bytes(sum));
            assert_memory_equal(found.trailer, expected.trailer,
                                found.words * sizeof *found.trailer);
            sh_sum_free(sum);
        }
        sh_sum_free(whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_sums_are_the_same_in_any_order_and_split),
        cmocka_unit_test(rounding_is_drawn_anew_for_each_step_and_grain),
        cmocka_unit_test(narrow_sums_that_wrap_are_redone),
        cmocka_unit_test(many_grains_of_noise_are_summed_in_few_bits),
        cmocka_unit_test(narrow_exponents_are_found_and_followed),
        cmocka_unit_test(a_gradient_may_come_in_parts),
        cmocka_unit_test(narrow_sums_take_less_and_refuse_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
