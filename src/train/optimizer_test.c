/* SPDX-License-Identifier: Apache-2.0 */
#include "train/optimizer.h"

#include <math.h>

#include "base/random.h"
#include "base/test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LENGTH = 1003 };

struct tensors {
    float weights[LENGTH], slots[SH_OPTIMIZER_MAX_SLOTS][LENGTH];
    int32_t sum[LENGTH];
};

static void fill(struct tensors *tensors)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < LENGTH; i++) {
        tensors->weights[i] = sh_random_unit(&random) - 0.5f;
        tensors->slots[0][i] = sh_random_unit(&random); /* squares must not be negative */
        tensors->slots[1][i] = sh_random_unit(&random);
        tensors->sum[i] = (int32_t)sh_random_next(&random) >> sh_random_below(&random, 31);
    }
    tensors->sum[0] = INT32_MAX;
    tensors->sum[1] = -INT32_MAX;
    tensors->sum[2] = 0;
    tensors->sum[3] = (1 << 24) + 1;
    tensors->slots[0][2] = tensors->slots[1][2] = 0; /* 0 / (0 + epsilon) */
}

struct way {
    const char *name;
    sh_optimizer_settings settings;
    sh_optimizer_step step;
    uint32_t slots;
};

#define BETAS .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f

static const struct way ways[] = {
    {"sgd", {.lr = 0.1f}, {.lr = 0.1f, .clip = 1}, 0},
    {"sgd", {.lr = 0.3f, .weight_decay = 1e-2f}, {.lr = 0.3f, .clip = 0.7f}, 0},
    {"sgd", {.momentum = 0.9f}, {.lr = 0.1f, .clip = 1}, 1},
    {"sgd", {.momentum = 0.9f, .weight_decay = 5e-4f}, {.lr = 0.01f, .clip = 0.3f}, 1},
    {"sgd", {.momentum = 0.9f, .nesterov = true}, {.lr = 0.1f, .clip = 1}, 1},
    {"sgd",
     {.momentum = 0.8f, .nesterov = true, .weight_decay = 1e-3f},
     {.lr = 0.1f, .clip = 0.3f},
     1},
    {"adam", {BETAS}, {.pace = 0.1f, .unbias = 1.7f, .clip = 1}, 2},
    {"adam", {BETAS, .weight_decay = 0.01f}, {.pace = 0.01f, .unbias = 1, .clip = 0.3f}, 2},
    {"adamw",
     {BETAS, .weight_decay = 0.01f},
     {.pace = 0.1f, .unbias = 2, .keep = 0.9f, .clip = 1},
     2},
    {"rmsprop", {.alpha = 0.99f, .epsilon = 1e-8f}, {.lr = 0.01f, .clip = 1}, 1},
    {"rmsprop",
     {.alpha = 0.9f, .epsilon = 1e-3f, .momentum = 0.9f, .weight_decay = 4e-5f},
     {.lr = 0.045f, .clip = 0.3f},
     2},
};

static const sh_optimizer *find(const char *name)
{
    const sh_optimizer *optimizer = NULL;
    assert_ok(sh_optimizer_find(&optimizer, name));
    return optimizer;
}

/* a * b + c, rounded twice or fused, to detect contraction. */
static float muladd(float a, float b, float c, bool fused)
{
    volatile float product = a * b;
    volatile float sum = product + c;
    return fused ? fmaf(a, b, c) : sum;
}

static float mul(float a, float b)
{
    volatile float product = a * b;
    return product;
}

static float adam_change(struct tensors *t, size_t i, const struct way *way, float g, bool fused)
{
    const sh_optimizer_settings *s = &way->settings;
    volatile float square = g * g, root;
    t->slots[0][i] = muladd(s->beta1, t->slots[0][i], mul(1 - s->beta1, g), fused);
    t->slots[1][i] = muladd(s->beta2, t->slots[1][i], mul(1 - s->beta2, square), fused);
    root = sqrtf(t->slots[1][i]);
    volatile float top = way->step.pace * t->slots[0][i];
    volatile float below = muladd(root, way->step.unbias, s->epsilon, fused);
    return top / below;
}

static float rmsprop_change(struct tensors *t, size_t i, const struct way *way, float g, bool fused)
{
    const sh_optimizer_settings *s = &way->settings;
    volatile float square = g * g, root;
    t->slots[0][i] = muladd(s->alpha, t->slots[0][i], mul(1 - s->alpha, square), fused);
    root = sqrtf(t->slots[0][i]);
    volatile float below = root + s->epsilon;
    volatile float change = g / below;
    if (s->momentum > 0)
        change = t->slots[1][i] = muladd(s->momentum, t->slots[1][i], change, fused);
    return mul(way->step.lr, change);
}

static float sgd_change(struct tensors *t, size_t i, const struct way *way, float g, bool fused)
{
    const sh_optimizer_settings *s = &way->settings;
    if (s->momentum > 0) {
        t->slots[0][i] = muladd(s->momentum, t->slots[0][i], g, fused);
        g = s->nesterov ? muladd(s->momentum, t->slots[0][i], g, fused) : t->slots[0][i];
    }
    return mul(way->step.lr, g);
}

static void reference(struct tensors *t, const struct way *way, float scale, bool fused)
{
    volatile float factor = scale * way->step.clip;
    for (size_t i = 0; i < LENGTH; i++) {
        const bool decoupled = strcmp(way->name, "adamw") == 0;
        volatile float g = (float)t->sum[i];
        g = g * factor;
        if (!decoupled)
            g = muladd(way->settings.weight_decay, t->weights[i], g, fused);
        volatile float change = way->name[0] == 'a'   ? adam_change(t, i, way, g, fused)
                                : way->name[0] == 's' ? sgd_change(t, i, way, g, fused)
                                                      : rmsprop_change(t, i, way, g, fused);
        volatile float kept = decoupled ? mul(way->step.keep, t->weights[i]) : t->weights[i];
        t->weights[i] = kept - change;
    }
}

static void every_variant_gives_the_bits_of_the_definition(void **state)
{
    (void)state;
    const float scale = 0x1p-26f;
    for (size_t w = 0; w < COUNT(ways); w++) {
        static struct tensors start, expected, fused, got;
        const struct way *way = &ways[w];
        fill(&start);
        expected = fused = start;
        reference(&expected, way, scale, false);
        reference(&fused, way, scale, true);
        if (way->slots > 0)
            assert_memory_not_equal(fused.slots, expected.slots, sizeof fused.slots);
        for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
            if (!sh_variant_runs((sh_variant)v))
                continue;
            got = start;
            uint32_t max_abs = 0;
            float *slots[] = {got.slots[0], got.slots[1]};
            const sh_optimizer *optimizer = find(way->name);
            sh_optimizer_sums[v](optimizer, &way->settings, &way->step, got.weights, slots, got.sum,
                                 scale, LENGTH, &max_abs);
            if (memcmp(&got, &expected, sizeof got) != 0)
                fail_msg("way %zu (%s), variant %u: other bits than its definition", w, way->name,
                         v);
            assert_int_equal(max_abs, INT32_MAX);
            assert_true(isfinite(got.weights[2]));

            static float values[LENGTH]; /* scaled without rounding */
            for (size_t i = 0; i < LENGTH; i++)
                values[i] = (float)start.sum[i] * scale;
            got = start;
            sh_optimizer_values[v](optimizer, &way->settings, &way->step, got.weights, slots,
                                   values, LENGTH);
            if (memcmp(&got, &expected, sizeof got) != 0)
                fail_msg("way %zu (%s), variant %u: other bits from values", w, way->name, v);
        }
    }
}

/* Computed by hand for torch.optim.SGD(lr=0.5, momentum=0.5, weight_decay=0.25); exact in
 * binary. */
static void sgd_is_pytorchs(void **state)
{
    (void)state;
    const sh_optimizer_settings settings = {.momentum = 0.5f, .weight_decay = 0.25f};
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
        const sh_optimizer_step step = sh_optimizer_step_of(&settings, 0.5, 1, s + 1);
        sh_optimizer_sums[sh_variant_chosen()](find("sgd"), &settings, &step, &weight, slots,
                                               &steps[s].sum, 0.125f, 1, &max_abs);
        assert_true(velocity == steps[s].velocity);
        assert_true(weight == steps[s].weight);
    }
}

/* With a constant gradient of any size, each step moves a weight by the learning rate. Wrong bias
 * corrections would show from the first step on. */
static void adam_moves_by_the_rate(void **state)
{
    (void)state;
    static const char *const names[] = {"adam", "adamw"};
    const sh_optimizer_settings settings = {BETAS};
    for (size_t n = 0; n < COUNT(names); n++) {
        float weights[] = {1, 1, 1}, first[3] = {0}, second[3] = {0};
        float *slots[] = {first, second};
        const int32_t sum[] = {1, -20, 3000000};
        for (uint64_t s = 1; s <= 50; s++) {
            uint32_t max_abs = 0;
            const sh_optimizer_step step = sh_optimizer_step_of(&settings, 0x1p-7, 1, s);
            sh_optimizer_sums[sh_variant_chosen()](find(names[n]), &settings, &step, weights, slots,
                                                   sum, 1, 3, &max_abs);
            for (int i = 0; i < 3; i++) {
                const float sign = i == 1 ? -1.0f : 1.0f;
                assert_true(fabsf(weights[i] - (1 - sign * (float)s * 0x1p-7f)) < 1e-4f);
            }
        }
    }
}

static void numbers_of_a_step(void **state)
{
    (void)state;
    const sh_optimizer_settings settings = {.weight_decay = 0.25f, .beta1 = 0.5f, .beta2 = 0.75f};
    const sh_optimizer_step first = sh_optimizer_step_of(&settings, 0.5, 0.125, 1);
    assert_true(first.lr == 0.5f && first.clip == 0.125f && first.keep == 0.875f);
    assert_true(first.pace == 1.0f && first.unbias == 2.0f);
    const sh_optimizer_step third = sh_optimizer_step_of(&settings, 0.875, 1, 3);
    assert_true(third.pace == 1.0f);
    assert_true(fabsf(third.unbias - 1.3151918f) < 1e-6f); /* 1 / sqrt(37/64) */
    const sh_optimizer_step late = sh_optimizer_step_of(&settings, 0.5, 1, UINT64_MAX);
    assert_true(late.pace == 0.5f && late.unbias == 1.0f);
    const sh_optimizer_settings none = {.beta1 = 0, .beta2 = 0};
    const sh_optimizer_step plain = sh_optimizer_step_of(&none, 0.5, 1, 1);
    assert_true(plain.pace == 0.5f && plain.unbias == 1.0f && plain.keep == 1.0f);
}

static void ranges_add_up_to_the_whole(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(ways); w++) {
        static struct tensors whole, parts;
        const struct way *way = &ways[w];
        fill(&whole);
        parts = whole;
        uint32_t whole_max = 0, parts_max = 0;
        float *slots[] = {whole.slots[0], whole.slots[1]};
        sh_optimizer_sums[sh_variant_chosen()](find(way->name), &way->settings, &way->step,
                                               whole.weights, slots, whole.sum, 0x1p-26f, LENGTH,
                                               &whole_max);
        for (size_t first = 0, count = 0; first < LENGTH; first += count, count++) {
            const size_t left = LENGTH - first, length = count < left ? count : left;
            float *part_slots[] = {parts.slots[0] + first, parts.slots[1] + first};
            sh_optimizer_sums[sh_variant_chosen()](find(way->name), &way->settings, &way->step,
                                                   parts.weights + first, part_slots,
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
    sh_optimizer_sums[sh_variant_chosen()](find("sgd"), &ways[0].settings, &ways[0].step, weights,
                                           NULL, sums, 1, 3, &max_abs);
    assert_int_equal(max_abs, 7);
    max_abs = 9;
    sh_optimizer_sums[sh_variant_chosen()](find("sgd"), &ways[0].settings, &ways[0].step, weights,
                                           NULL, sums, 1, 3, &max_abs);
    assert_int_equal(max_abs, 9);
}

static void state_is_kept_where_it_is_needed(void **state)
{
    (void)state;
    for (size_t w = 0; w < COUNT(ways); w++) {
        assert_int_equal(sh_optimizer_slots(find(ways[w].name), &ways[w].settings), ways[w].slots);
        assert_true(ways[w].slots <= SH_OPTIMIZER_MAX_SLOTS);
    }
}

static void what_it_cannot_work_with_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        sh_optimizer_settings settings;
        const char *message;
    } bad[] = {
        {"sgd", {.nesterov = true}, "--nesterov: needs momentum; give a"},
        {"adam", {.epsilon = 0}, "--epsilon 0: must be above 0, to keep updates finite"},
        {"adamw",
         {BETAS, .momentum = 0.9f, .nesterov = true},
         "--nesterov: is only for --optimizer sgd"},
        {"rmsprop", {.alpha = 0.9f, .epsilon = -1}, "--epsilon -1: must be above 0"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_fails(sh_optimizer_check(find(bad[i].name), &bad[i].settings), SH_INVALID,
                     bad[i].message);
    for (size_t w = 0; w < COUNT(ways); w++)
        assert_ok(sh_optimizer_check(find(ways[w].name), &ways[w].settings));
    const sh_optimizer *optimizer = NULL;
    assert_fails(sh_optimizer_find(&optimizer, "lion"), SH_NOT_FOUND,
                 "--optimizer lion: no such optimizer; known are: sgd, adam, adamw, rmsprop");
    assert_null(optimizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_gives_the_bits_of_the_definition),
        cmocka_unit_test(sgd_is_pytorchs),
        cmocka_unit_test(adam_moves_by_the_rate),
        cmocka_unit_test(numbers_of_a_step),
        cmocka_unit_test(ranges_add_up_to_the_whole),
        cmocka_unit_test(the_largest_is_raised_only),
        cmocka_unit_test(state_is_kept_where_it_is_needed),
        cmocka_unit_test(what_it_cannot_work_with_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
