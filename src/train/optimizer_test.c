/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LENGTH = 1003 };

struct tensors {
    float weights[LENGTH], velocity[LENGTH];
    int32_t sum[LENGTH];
};

static void fill(struct tensors *tensors)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < LENGTH; i++) {
        tensors->weights[i] = sh_random_unit(&random) - 0.5f;
        tensors->velocity[i] = sh_random_unit(&random) - 0.5f;
        tensors->sum[i] = (int32_t)sh_random_next(&random) >> sh_random_below(&random, 31);
    }
    tensors->sum[0] = INT32_MAX;
    tensors->sum[1] = -INT32_MAX;
    tensors->sum[2] = 0;
    tensors->sum[3] = (1 << 24) + 1;
}

/* The definition, each operation forced to round on its own; or with fused ones, to see a
 * difference. */
static void reference(struct tensors *tensors, const sh_optimizer_hyper *hyper, float scale,
                      bool fused)
{
    for (size_t i = 0; i < LENGTH; i++) {
        volatile float gradient = (float)tensors->sum[i];
        gradient = gradient * scale;
        volatile float decay = hyper->weight_decay * tensors->weights[i];
        gradient = gradient + decay;
        volatile float kept = hyper->momentum * tensors->velocity[i];
        volatile float velocity = kept + gradient;
        if (hyper->momentum == 0)
            velocity = gradient;
        else
            tensors->velocity[i] = velocity;
        volatile float change = hyper->lr * velocity;
        tensors->weights[i] =
            fused ? fmaf(-hyper->lr, velocity, tensors->weights[i]) : tensors->weights[i] - change;
    }
}

static const sh_optimizer_hyper hypers[] = {
    {.lr = 0.1f},
    {.lr = 0.1f, .momentum = 0.9f},
    {.lr = 0.01f, .momentum = 0.9f, .weight_decay = 5e-4f},
    {.lr = 0.3f, .weight_decay = 1e-2f},
    {.lr = 0},
};

static const sh_optimizer *sgd(void)
{
    const sh_optimizer *optimizer = NULL;
    assert_ok(sh_optimizer_find(&optimizer, "sgd"));
    return optimizer;
}

static void every_variant_gives_the_bits_of_the_definition(void **state)
{
    (void)state;
    const float scale = 0x1p-26f;
    for (size_t h = 0; h < COUNT(hypers); h++) {
        static struct tensors start, expected, fused, got;
        fill(&start);
        expected = fused = start;
        reference(&expected, &hypers[h], scale, false);
        reference(&fused, &hypers[h], scale, true);
        if (hypers[h].lr > 0) /* the data can tell a contraction */
            assert_memory_not_equal(fused.weights, expected.weights, sizeof fused.weights);
        for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
            if (!sh_variant_runs((sh_variant)v))
                continue;
            got = start;
            uint32_t max_abs = 0;
            float *slots[] = {got.velocity};
            sgd()->kernels(&hypers[h])[v](&hypers[h], got.weights, slots, got.sum, scale, LENGTH,
                                          &max_abs);
            assert_memory_equal(&got, &expected, sizeof got);
            assert_int_equal(max_abs, INT32_MAX);
        }
    }
}

/* Exact in binary, so worked out by hand: torch.optim.SGD(lr=0.5, momentum=0.5, weight_decay=0.25).
 */
static void sgd_is_pytorchs(void **state)
{
    (void)state;
    const sh_optimizer_hyper hyper = {.lr = 0.5f, .momentum = 0.5f, .weight_decay = 0.25f};
    static const struct {
        int32_t sum;
        float velocity, weight;
    } steps[] = {
        {8, 1.25f, 0.375f},             /* g = 1 + 0.25 */
        {-4, 0.21875f, 0.265625f},      /* g = -0.5 + 0.09375 */
        {0, 0.17578125f, 0.177734375f}, /* g = 0.06640625 */
    };
    float weight = 1, velocity = 0;
    float *slots[] = {&velocity};
    for (size_t s = 0; s < COUNT(steps); s++) {
        uint32_t max_abs = 0;
        sh_optimizer_apply(sgd(), &hyper, &weight, slots, &steps[s].sum, 0.125f, 1, &max_abs);
        assert_true(velocity == steps[s].velocity);
        assert_true(weight == steps[s].weight);
    }
}

static void ranges_add_up_to_the_whole(void **state)
{
    (void)state;
    for (size_t h = 0; h < COUNT(hypers); h++) {
        static struct tensors whole, parts;
        fill(&whole);
        parts = whole;
        uint32_t whole_max = 0, parts_max = 0;
        float *slots[] = {whole.velocity};
        sh_optimizer_apply(sgd(), &hypers[h], whole.weights, slots, whole.sum, 0x1p-26f, LENGTH,
                           &whole_max);
        for (size_t first = 0, count = 0; first < LENGTH; first += count, count++) {
            const size_t left = LENGTH - first, length = count < left ? count : left;
            float *part_slots[] = {parts.velocity + first};
            sh_optimizer_apply(sgd(), &hypers[h], parts.weights + first, part_slots,
                               parts.sum + first, 0x1p-26f, length, &parts_max);
        }
        assert_memory_equal(&parts, &whole, sizeof parts);
        assert_int_equal(parts_max, whole_max);
    }
}

static void the_largest_is_raised_only(void **state)
{
    (void)state;
    const int32_t sums[] = {-7, 3, 5};
    float weights[3] = {0};
    uint32_t max_abs = 6;
    sh_optimizer_apply(sgd(), &hypers[0], weights, NULL, sums, 1, 3, &max_abs);
    assert_int_equal(max_abs, 7);
    max_abs = 9;
    sh_optimizer_apply(sgd(), &hypers[0], weights, NULL, sums, 1, 3, &max_abs);
    assert_int_equal(max_abs, 9);
}

static void state_is_kept_for_momentum_only(void **state)
{
    (void)state;
    assert_int_equal(sh_optimizer_slots(sgd(), &hypers[0]), 0);
    assert_int_equal(sh_optimizer_slots(sgd(), &hypers[1]), 1);
    size_t count;
    const sh_optimizer *list = sh_optimizer_list(&count);
    for (size_t i = 0; i < count; i++) {
        const sh_optimizer *found = NULL;
        assert_ok(sh_optimizer_find(&found, list[i].name));
        assert_ptr_equal(found, &list[i]);
        assert_true(sh_optimizer_slots(found, &hypers[2]) <= SH_OPTIMIZER_MAX_SLOTS);
    }
}

static void what_it_cannot_work_with_is_refused(void **state)
{
    (void)state;
    static const struct {
        sh_optimizer_hyper hyper;
        const char *message;
    } bad[] = {
        {{.lr = -0.1f},
         "--lr -0.1 --momentum 0 --weight-decay 0: --lr must be a number that is not"},
        {{.lr = NAN}, "--lr must be"},
        {{.lr = INFINITY}, "--lr must be"},
        {{.momentum = 1}, "--momentum must be at least 0 and below 1"},
        {{.momentum = -0.5f}, "--momentum must be"},
        {{.momentum = NAN}, "--momentum must be"},
        {{.weight_decay = -1}, "--weight-decay must be"},
        {{.weight_decay = INFINITY}, "--weight-decay must be"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_fails(sh_optimizer_check(sgd(), &bad[i].hyper), SH_INVALID, bad[i].message);
    for (size_t i = 0; i < COUNT(hypers); i++)
        assert_ok(sh_optimizer_check(sgd(), &hypers[i]));
    const sh_optimizer *optimizer = NULL;
    assert_fails(sh_optimizer_find(&optimizer, "lion"), SH_NOT_FOUND,
                 "--optimizer lion: there is no such optimizer; there are: sgd");
    assert_null(optimizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_gives_the_bits_of_the_definition),
        cmocka_unit_test(sgd_is_pytorchs),
        cmocka_unit_test(ranges_add_up_to_the_whole),
        cmocka_unit_test(the_largest_is_raised_only),
        cmocka_unit_test(state_is_kept_for_momentum_only),
        cmocka_unit_test(what_it_cannot_work_with_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
