/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the kernels with the formulas in double for many shapes, and the variants' bits. */
#include "backend/lower/norm_rows.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/test.h"

#define EPSILON 1e-5f

static const struct size {
    size_t rows, channels;
} sizes[] = {
    {1, 1},     {1, 700},    {2, 3},    {7, 16},   {33, 16},   {513, 1},
    {1000, 24}, {4096, 8},   {100, 40}, {9, 513},  {300, 50},  {70, 96},
    {35, 1280}, {16384, 16}, {160, 64}, {31, 512}, {1025, 17}, {64, 511},
};

#define SIZES (sizeof sizes / sizeof *sizes)

typedef struct subject {
    sh_norm norm;
    size_t elements;
    float *x, *dy, *residual, *y;
    float *mean, *variance, *w, *b, *dw, *db;
    float *parts;
    void *scratch;
} subject;

static float *take(size_t count)
{
    void *block;
    assert_ok(sh_block_new(&block, count * sizeof(float), "a test"));
    return block;
}

static void fill(float *data, size_t count, uint32_t which, float offset)
{
    sh_random random = sh_random_for(5, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = 2.0f * sh_random_unit(&random) - 1.0f + offset;
}

static subject start(struct size size, float offset)
{
    subject s = {.norm = sh_norm_of(size.rows, size.channels),
                 .elements = size.rows * size.channels};
    float **const images[] = {&s.x, &s.dy, &s.residual, &s.y};
    float **const channels[] = {&s.mean, &s.variance, &s.w, &s.b, &s.dw, &s.db};
    s.norm.epsilon = EPSILON;
    for (uint32_t i = 0; i < 4; i++) {
        *images[i] = take(s.elements);
        fill(*images[i], s.elements, i, i == 0 ? offset : 0.0f);
    }
    for (uint32_t i = 0; i < 6; i++) {
        *channels[i] = take(size.channels);
        fill(*channels[i], size.channels, 10 + i, i == 1 ? 1.5f : 0.0f);
    }
    s.parts = take(2 * size.channels);
    assert_ok(sh_block_new(&s.scratch, sh_norm_scratch(&s.norm), "scratch"));
    return s;
}

static void stop(subject *s)
{
    void *const blocks[] = {s->x, s->dy, s->residual, s->y,  s->mean,  s->variance,
                            s->w, s->b,  s->dw,       s->db, s->parts, s->scratch};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
}

static void backward(sh_variant variant, const subject *s, const float *dy, const float *x,
                     float *dx)
{
    const sh_norm_channels of = {s->mean, s->variance, s->w, s->b};
    sh_norm_sums(variant, &s->norm, dy, x, &of, s->dw, s->db, s->parts, s->scratch);
    sh_norm_backward(variant, &s->norm, dy, x, &of, s->parts, dx, s->scratch);
}

static sh_norm_channels channels_of(const subject *s)
{
    return (sh_norm_channels){s->mean, s->variance, s->w, s->b};
}

static void reference_moments(const subject *s, size_t c, double *mean, double *variance)
{
    const size_t C = s->norm.channels, rows = s->norm.rows;
    *mean = *variance = 0;
    for (size_t r = 0; r < rows; r++)
        *mean += (double)s->x[r * C + c] / (double)rows;
    for (size_t r = 0; r < rows; r++)
        *variance += pow((double)s->x[r * C + c] - *mean, 2) / (double)rows;
}

static void check_moments(const subject *s, double tolerance)
{
    for (size_t c = 0; c < s->norm.channels; c++) {
        double mean, variance;
        reference_moments(s, c, &mean, &variance);
        const double deviation = sqrt(variance);
        if (!(fabs((double)s->mean[c] - mean) <= tolerance * deviation + 1.2e-7 * fabs(mean)) ||
            !(fabs((double)s->variance[c] - variance) <= tolerance * variance))
            fail_msg("%zu rows of %zu, channel %zu: mean %.9g, expected %.9g; variance %.9g, "
                     "expected %.9g",
                     s->norm.rows, s->norm.channels, c, (double)s->mean[c], mean,
                     (double)s->variance[c], variance);
    }
}

static void moments_are_those_of_two_passes_in_double(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        subject s = start(sizes[i], 0.25f);
        sh_norm_moments(sh_variant_chosen(), &s.norm, s.x, s.mean, s.variance, s.scratch);
        check_moments(&s, 1e-6);
        stop(&s);
    }
}

/* Sums of squares about a fixed point would be inaccurate. */
static void variance_survives_a_distant_mean(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        if (sizes[i].rows < 2)
            continue;
        subject far = start(sizes[i], 1000.0f), drift = start(sizes[i], 0.0f);
        sh_norm_moments(sh_variant_chosen(), &far.norm, far.x, far.mean, far.variance, far.scratch);
        check_moments(&far, 1e-6);
        for (size_t j = 0; j < drift.elements; j++)
            drift.x[j] += j < 2048 ? -300.0f : (float)j / (float)drift.elements;
        sh_norm_moments(sh_variant_chosen(), &drift.norm, drift.x, drift.mean, drift.variance,
                        drift.scratch);
        check_moments(&drift, 1e-6);
        stop(&far);
        stop(&drift);
    }
}

static void a_constant_has_no_variance(void **state)
{
    (void)state;
    subject s = start((struct size){5000, 24}, 0);
    for (size_t i = 0; i < s.elements; i++)
        s.x[i] = 0.1f * (float)(i % 24);
    sh_norm_moments(sh_variant_chosen(), &s.norm, s.x, s.mean, s.variance, s.scratch);
    for (size_t c = 0; c < 24; c++) {
        assert_true(s.mean[c] == 0.1f * (float)c);
        assert_true(s.variance[c] >= 0 && s.variance[c] < 1e-12f);
    }
    s.x[24 * 2500 + 3] = NAN; /* stays in its channel */
    sh_norm_moments(sh_variant_chosen(), &s.norm, s.x, s.mean, s.variance, s.scratch);
    for (size_t c = 0; c < 24; c++)
        assert_true(isnan(s.mean[c]) == (c == 3) && isnan(s.variance[c]) == (c == 3));
    stop(&s);
}

static float reference_activation(sh_activation activation, float y)
{
    if (activation != SH_ACTIVATION_NONE && y < 0)
        return 0;
    return activation == SH_ACTIVATION_RELU6 && y > 6 ? 6 : y;
}

static bool reference_passes(sh_activation activation, float y)
{
    return activation == SH_ACTIVATION_NONE ||
           (y > 0 && (activation == SH_ACTIVATION_RELU || y < 6));
}

static float scale_of(const subject *s, size_t c)
{
    return s->w[c] / sqrtf(s->variance[c] + EPSILON);
}

static float normalised(const subject *s, size_t i)
{
    const size_t c = i % s->norm.channels;
    return s->x[i] * scale_of(s, c) + (s->b[c] - s->mean[c] * scale_of(s, c));
}

static void forward_has_the_bits_of_its_expression(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++)
        for (int activation = 0; activation <= SH_ACTIVATION_RELU6; activation++)
            for (int residual = 0; residual < 2; residual++) {
                subject s = start(sizes[i], 0);
                s.norm.activation = (sh_activation)activation;
                for (size_t j = 0; j < s.elements; j += 3)
                    s.x[j] *= 16;
                s.x[s.elements / 2] = NAN;
                const sh_norm_channels of = channels_of(&s);
                sh_norm_forward(sh_variant_chosen(), &s.norm, s.x, &of,
                                residual == 1 ? s.residual : NULL, s.y, s.scratch);
                for (size_t j = 0; j < s.elements; j++) {
                    const float sum = normalised(&s, j) + (residual == 1 ? s.residual[j] : 0.0f);
                    const float expected = reference_activation(s.norm.activation, sum);
                    assert_true(s.y[j] == expected || (isnan(s.y[j]) && isnan(expected)));
                }
                sh_norm_forward(sh_variant_chosen(), &s.norm, s.x, &of,
                                residual == 1 ? s.residual : NULL, residual == 1 ? s.residual : s.x,
                                s.scratch);
                assert_memory_equal(s.y, residual == 1 ? s.residual : s.x,
                                    s.elements * sizeof *s.y);
                stop(&s);
            }
}

static void check_channel_gradients(const subject *s, size_t c)
{
    double sum = 0, product = 0, size = 1e-30;
    for (size_t i = c; i < s->elements; i += s->norm.channels) {
        if (!reference_passes(s->norm.activation, normalised(s, i)))
            continue;
        const double normal =
            ((double)s->x[i] - (double)s->mean[c]) / sqrt((double)s->variance[c] + (double)EPSILON);
        sum += (double)s->dy[i];
        product += (double)s->dy[i] * normal;
        size += fabs((double)s->dy[i]) * (1 + fabs(normal));
    }
    assert_true(fabs((double)s->db[c] - sum) < 1e-6 * size);
    assert_true(fabs((double)s->dw[c] - product) < 1e-6 * size);
}

static void check_input_gradient(const subject *s, const float *dx)
{
    const float count = s->norm.training ? (float)s->norm.rows : INFINITY;
    double worst = 0, largest = 1e-30;
    for (size_t i = 0; i < s->elements; i++) {
        const size_t c = i % s->norm.channels;
        const bool passes = reference_passes(s->norm.activation, normalised(s, i));
        const float normal = (s->x[i] - s->mean[c]) * (1.0f / sqrtf(s->variance[c] + EPSILON));
        const double expected =
            (double)scale_of(s, c) * ((passes ? (double)s->dy[i] : 0) - (double)(s->db[c] / count) -
                                      (double)normal * (double)(s->dw[c] / count));
        worst = fmax(worst, fabs((double)dx[i] - expected));
        largest = fmax(largest, fabs(expected));
    }
    assert_true(worst <= 5e-7 * largest);
}

static void backward_follows_the_formulas(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++)
        for (int activation = 0; activation <= SH_ACTIVATION_RELU6; activation++)
            for (int training = 0; training < 2; training++) {
                subject s = start(sizes[i], 0);
                s.norm.activation = (sh_activation)activation;
                s.norm.training = training == 1;
                for (size_t j = 0; j < s.elements; j += 3)
                    s.x[j] *= 16;
                backward(sh_variant_chosen(), &s, s.dy, s.x, s.y);
                for (size_t c = 0; c < s.norm.channels; c++)
                    check_channel_gradients(&s, c);
                check_input_gradient(&s, s.y);
                memcpy(s.residual, s.dy, s.elements * sizeof *s.dy);
                backward(sh_variant_chosen(), &s, s.dy, s.x, s.dy);
                assert_memory_equal(s.dy, s.y, s.elements * sizeof *s.y);
                backward(sh_variant_chosen(), &s, s.residual, s.x, s.x);
                assert_memory_equal(s.x, s.y, s.elements * sizeof *s.y);
                stop(&s);
            }
}

static void what_is_masked_adds_nothing(void **state)
{
    (void)state;
    subject s = start((struct size){50, 16}, 0);
    s.norm.activation = SH_ACTIVATION_RELU;
    s.x[16 * 7 + 5] = NAN;
    s.dy[16 * 9 + 6] = NAN;
    s.x[16 * 9 + 6] = s.w[6] > 0 ? -100.0f : 100.0f;
    backward(sh_variant_chosen(), &s, s.dy, s.x, s.y);
    for (size_t c = 0; c < 16; c++)
        assert_false(isnan(s.dw[c]) || isnan(s.db[c]));
    for (size_t i = 0; i < s.elements; i++)
        assert_int_equal(isnan(s.y[i]) != 0, i == 16 * 7 + 5);
    stop(&s);
}

static void every_variant_gives_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        subject first = start(sizes[i], 0.5f);
        const size_t channel_bytes = first.norm.channels * sizeof(float);
        for (unsigned variant = SH_VARIANT_COUNT; variant-- > 0;) {
            if (!sh_variant_runs((sh_variant)variant))
                continue;
            subject s = start(sizes[i], 0.5f);
            subject *const target = variant == SH_VARIANT_plain ? &first : &s;
            target->norm.activation = SH_ACTIVATION_RELU6;
            target->norm.training = true;
            const sh_norm_channels of = channels_of(target);
            sh_norm_moments((sh_variant)variant, &target->norm, target->x, target->mean,
                            target->variance, target->scratch);
            sh_norm_forward((sh_variant)variant, &target->norm, target->x, &of, target->residual,
                            target->y, target->scratch);
            backward((sh_variant)variant, target, target->dy, target->x, target->residual);
            if (target == &s) {
                assert_memory_equal(s.mean, first.mean, channel_bytes);
                assert_memory_equal(s.variance, first.variance, channel_bytes);
                assert_memory_equal(s.dw, first.dw, channel_bytes);
                assert_memory_equal(s.db, first.db, channel_bytes);
                assert_memory_equal(s.y, first.y, s.elements * sizeof *s.y);
                assert_memory_equal(s.residual, first.residual, s.elements * sizeof *s.y);
            }
            stop(&s);
        }
        stop(&first);
    }
}

static sh_norm some_rows(const sh_norm *norm, size_t first, size_t most)
{
    sh_norm some = *norm;
    some.first = first;
    some.count = norm->rows - first < most ? norm->rows - first : most;
    return some;
}

/* The first moments get a whole block. */
static void run_in_parts(const subject *s, size_t most)
{
    const sh_variant v = sh_variant_chosen();
    const sh_norm_channels of = channels_of(s);
    const size_t C = s->norm.channels, block = sh_norm_block(&s->norm);
    for (size_t r = 0, now; r < s->norm.rows; r += now) {
        const sh_norm part = some_rows(&s->norm, r, r == 0 && most < block ? block : most);
        sh_norm_moments(v, &part, s->x + r * C, s->mean, s->variance, s->scratch);
        now = part.count;
    }
    for (size_t r = 0; r < s->norm.rows; r += most) {
        const sh_norm part = some_rows(&s->norm, r, most);
        sh_norm_forward(v, &part, s->x + r * C, &of, s->residual + r * C, s->y + r * C, s->scratch);
    }
    for (size_t r = 0; r < s->norm.rows; r += most) {
        const sh_norm part = some_rows(&s->norm, r, most);
        sh_norm_sums(v, &part, s->dy + r * C, s->x + r * C, &of, s->dw, s->db, s->parts,
                     s->scratch);
    }
    for (size_t r = 0; r < s->norm.rows; r += most) {
        const sh_norm part = some_rows(&s->norm, r, most);
        sh_norm_backward(v, &part, s->dy + r * C, s->x + r * C, &of, s->parts, s->residual + r * C,
                         s->scratch);
    }
}

static void rows_may_come_in_several_calls(void **state)
{
    (void)state;
    static const size_t parts[] = {1, 7, 100, 1000};
    for (size_t i = 0; i < SIZES; i++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            subject once = start(sizes[i], 0.5f), often = start(sizes[i], 0.5f);
            once.norm.activation = often.norm.activation = SH_ACTIVATION_RELU6;
            once.norm.training = often.norm.training = true;
            run_in_parts(&once, sizes[i].rows);
            run_in_parts(&often, parts[p]);
            const float *const pairs[][2] = {
                {once.y, often.y},       {once.residual, often.residual},
                {once.mean, often.mean}, {once.variance, often.variance},
                {once.dw, often.dw},     {once.db, often.db},
            };
            for (size_t k = 0; k < 6; k++)
                assert_memory_equal(pairs[k][0], pairs[k][1],
                                    (k < 2 ? once.elements : once.norm.channels) * sizeof(float));
            stop(&once);
            stop(&often);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_two_passes_in_double),
        cmocka_unit_test(variance_survives_a_distant_mean),
        cmocka_unit_test(a_constant_has_no_variance),
        cmocka_unit_test(forward_has_the_bits_of_its_expression),
        cmocka_unit_test(backward_follows_the_formulas),
        cmocka_unit_test(what_is_masked_adds_nothing),
        cmocka_unit_test(rows_may_come_in_several_calls),
        cmocka_unit_test(every_variant_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
