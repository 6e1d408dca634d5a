/* SPDX-License-Identifier: Apache-2.0 */
#include "train/metrics.h"

#include <math.h>

#include "base/test.h"

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

typedef struct sample {
    float given[6];
    int32_t target;
    float loss;
} sample;

static sh_metrics *of_classes(const sample *samples, uint32_t count, uint32_t outputs,
                              uint32_t worst)
{
    sh_metrics *metrics;
    const sh_metrics_options options = {SH_TARGET_CLASS, outputs, count, worst};
    assert_ok(sh_metrics_new(&metrics, &options));
    for (uint32_t i = 0; i < count; i++)
        sh_metrics_add(metrics, i, samples[i].loss, samples[i].given, &samples[i].target);
    return metrics;
}

/*
 * The example of scikit-learn's user guide, targets 0 1 2 0 1 2 and answers 0 2 1 0 0 1, with one
 * more sample of class 1, answered correctly, and a class 3 that does not occur:
 *
 *     confusion  2 0 0    precision 2/3, 1/3, 0/1    recall 1, 1/3, 0    F1 4/5, 2/6, 0
 *                1 1 1
 *                0 2 0
 */
static const sample three[] = {
    {{3, 1, 1, 0}, 0, 0.1f}, {{0, 1, 2, 0}, 1, 1.5f}, {{1, 2, 0, 0}, 2, 2.5f},
    {{5, 0, 4, 0}, 0, 0.2f}, {{1, 0, 0, 0}, 1, 1.5f}, {{0, 1, 0, 0}, 2, 1.5f},
    {{0, 9, 0, 0}, 1, 0.0f},
};

static void classes_are_told_apart(void **state)
{
    (void)state;
    static const uint32_t confusion[4][4] = {{2, 0, 0, 0}, {1, 1, 1, 0}, {0, 2, 0, 0}};
    static const double precision[] = {2.0 / 3, 1.0 / 3, 0}, recall[] = {1, 1.0 / 3, 0};
    static const double f1[] = {0.8, 1.0 / 3, 0};
    sh_metrics *metrics = of_classes(three, 7, 4, 0);
    for (uint32_t k = 0; k < 16; k++)
        assert_int_equal(sh_metrics_confusion(metrics, k / 4, k % 4), confusion[k / 4][k % 4]);
    for (uint32_t k = 0; k < 3; k++) {
        const sh_class_figures figures = sh_metrics_class(metrics, k);
        assert_true(near(figures.precision, precision[k]) && near(figures.recall, recall[k]));
        assert_true(near(figures.f1, f1[k]) && isnan(figures.auc));
    }
    const sh_class_figures absent = sh_metrics_class(metrics, 3);
    assert_true(isnan(absent.precision) && isnan(absent.recall) && isnan(absent.f1));
    const sh_metrics_summary all = sh_metrics_summarise(metrics);
    assert_int_equal(all.samples, 7);
    assert_true(near(all.accuracy, 3.0 / 7) && near(all.balanced, (1 + 1.0 / 3) / 3));
    assert_true(near(all.f1, (0.8 + 1.0 / 3) / 3));
    assert_true(isnan(all.top5) && isnan(all.auc) && isnan(all.mae) && isnan(all.error95));
    sh_metrics_free(metrics);
}

static void the_right_class_is_among_five(void **state)
{
    (void)state;
    static const sample samples[] = {
        {{6, 5, 4, 3, 2, 1}, 4, 0}, /* fifth */
        {{6, 5, 4, 3, 2, 1}, 5, 0}, /* sixth */
        {{1, 1, 1, 1, 1, 1}, 4, 0}, /* among equal ones, lower classes come first */
        {{1, 1, 1, 1, 1, 1}, 5, 0}, {{0, NAN, 0, 0, 0, 0}, 1, 0}, {{0, 1, 0, 0, 0, 0}, 1, 0},
    };
    sh_metrics *metrics = of_classes(samples, 6, 6, 0);
    assert_true(near(sh_metrics_summarise(metrics).top5, 3.0 / 6));
    sh_metrics_free(metrics);
}

static void two_classes_have_an_area(void **state)
{
    (void)state;
    /* The logits' differences are those of train/ranking_test.c. */
    static const sample samples[] = {{{0, 0.1f}, 0, 0}, {{-0.2f, 0.2f}, 0, 0}, {{0.65f, 1}, 1, 0},
                                     {{0, 0.8f}, 1, 0}, {{0, 9}, 2, 0}, /* not a class */
                                     {{0, 9}, -1, 0}};
    sh_metrics *metrics = of_classes(samples, 6, 2, 6);
    const sh_metrics_summary all = sh_metrics_summarise(metrics);
    assert_true(near(all.auc, 0.75));
    assert_int_equal(all.samples, 4);
    sh_metrics_free(metrics);
}

static void the_worst_samples_are_kept(void **state)
{
    (void)state;
    static const uint32_t order[] = {2, 1, 4, 5};
    sh_metrics *metrics = of_classes(three, 7, 3, 4);
    sh_worst_sample worst;
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(sh_metrics_worst(metrics, i, &worst));
        assert_int_equal(worst.index, order[i]);
        assert_true(worst.loss == three[order[i]].loss);
        assert_int_equal(worst.target, three[order[i]].target);
    }
    assert_int_equal(worst.answer, 1);
    assert_true(near(worst.probability, exp(1) / (exp(1) + 2)));
    assert_false(sh_metrics_worst(metrics, 4, &worst));
    sh_metrics_free(metrics);
}

/* Label 0 has the scores 0.1 0.4 0.35 0.8, shifted by -0.36, so that the answers are 0 1 0 1; it is
 * true for the last two. Label 1 is never true. */
static const float label_logits[][2] = {{-0.26f, 1}, {0.04f, -1}, {-0.01f, -1}, {0.44f, -1}};
static const float labels[][2] = {{0, 0}, {0, 0}, {1, 0}, {1, 0}};

static void labels_are_told(void **state)
{
    (void)state;
    sh_metrics *metrics;
    const sh_metrics_options options = {SH_TARGET_LABELS, 2, 4, 1};
    assert_ok(sh_metrics_new(&metrics, &options));
    for (uint32_t i = 0; i < 4; i++)
        sh_metrics_add(metrics, i, (float)i, label_logits[i], labels[i]);
    const sh_class_figures first = sh_metrics_class(metrics, 0);
    assert_true(near(first.precision, 0.5) && near(first.recall, 0.5) && near(first.f1, 0.5));
    assert_true(near(first.auc, 0.75) && near(first.average_precision, (1 + 2.0 / 3) / 2));
    const sh_class_figures second = sh_metrics_class(metrics, 1);
    assert_true(second.precision == 0 && second.f1 == 0 && isnan(second.recall));
    const sh_metrics_summary all = sh_metrics_summarise(metrics);
    assert_true(near(all.accuracy, 5.0 / 8) && near(all.auc, 0.75) && near(all.f1, 0.25));
    assert_true(near(all.average_precision, (1 + 2.0 / 3) / 2) && isnan(all.balanced));
    sh_worst_sample worst;
    assert_true(sh_metrics_worst(metrics, 0, &worst));
    assert_int_equal(worst.index, 3);
    assert_true(worst.given[0] == label_logits[3][0] && worst.wanted[0] == 1);
    sh_metrics_free(metrics);
}

/* scikit-learn's example: MAE 0.5, MSE 0.375, R2 0.9486081370449679. The second output has constant
 * targets. */
static void numbers_are_compared(void **state)
{
    (void)state;
    static const float given[][2] = {{2.5f, 1}, {0, 2}, {2, 3}, {8, 2}};
    static const float wanted[][2] = {{3, 2}, {-0.5f, 2}, {2, 2}, {7, 2}};
    sh_metrics *metrics;
    const sh_metrics_options options = {SH_TARGET_NUMBERS, 2, 4, 0};
    assert_ok(sh_metrics_new(&metrics, &options));
    assert_true(isnan(sh_metrics_number(metrics, 0).mae));
    for (uint32_t i = 0; i < 4; i++)
        sh_metrics_add(metrics, i, 0, given[i], wanted[i]);
    const sh_number_figures one = sh_metrics_number(metrics, 0);
    assert_true(near(one.mae, 0.5) && near(one.rmse, sqrt(0.375)));
    assert_true(near(one.r2, 0.9486081370449679));
    const sh_number_figures two = sh_metrics_number(metrics, 1);
    assert_true(near(two.mae, 0.5) && near(two.rmse, sqrt(0.5)) && isnan(two.r2));
    const sh_metrics_summary all = sh_metrics_summarise(metrics);
    assert_true(near(all.mae, 0.5) && near(all.r2, one.r2) && isnan(all.accuracy));
    sh_metrics_free(metrics);
}

/* Their squares exceed 64 bits, and the sums carry. */
static void large_numbers_are_exact(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    sh_metrics *metrics;
    const sh_metrics_options options = {SH_TARGET_NUMBERS, 1, COUNT, 0};
    assert_ok(sh_metrics_new(&metrics, &options));
    const float wanted[COUNT] = {300000000, 100000000, -100000000, -300000000, 0};
    for (uint32_t i = 0; i < COUNT; i++) {
        const float given = wanted[i] + (i % 2 == 0 ? 12582944.0f : -12582944.0f);
        sh_metrics_add(metrics, i, 0, &given, &wanted[i]);
    }
    const sh_number_figures figures = sh_metrics_number(metrics, 0);
    assert_true(figures.mae == 12582944 && figures.rmse == 12582944);
    const double spread = 2 * (9e16 + 1e16), squares = COUNT * 12582944.0 * 12582944.0;
    assert_true(near(figures.r2, 1 - squares / spread));
    sh_metrics_free(metrics);
}

static void errors_have_quantiles(void **state)
{
    (void)state;
    enum { COUNT = 201 };
    sh_metrics *metrics;
    const sh_metrics_options options = {SH_TARGET_SAMPLE, 784, COUNT, 2};
    assert_ok(sh_metrics_new(&metrics, &options));
    assert_true(isnan(sh_metrics_quantile(metrics, 95)));
    for (uint32_t i = 0; i < COUNT; i++) /* 1 .. 201, shuffled */
        sh_metrics_add(metrics, i, (float)(i * 80 % COUNT + 1), NULL, NULL);
    const sh_metrics_summary all = sh_metrics_summarise(metrics);
    assert_true(all.error95 == 191 && all.error99 == 199); /* 190.95, 198.99 samples */
    assert_true(sh_metrics_quantile(metrics, 0) == 1 && sh_metrics_quantile(metrics, 100) == 201);
    sh_worst_sample worst;
    assert_true(sh_metrics_worst(metrics, 1, &worst) && worst.loss == 200);
    sh_metrics_free(metrics);
}

static void order_does_not_show(void **state)
{
    (void)state;
    enum { COUNT = 101, OUTPUTS = 3 };
    static const sh_target targets[] = {SH_TARGET_CLASS, SH_TARGET_LABELS, SH_TARGET_NUMBERS,
                                        SH_TARGET_SAMPLE};
    for (int t = 0; t < 4; t++) {
        sh_metrics_summary found[2];
        sh_worst_sample worst[2][10];
        memset(worst, 0, sizeof worst);
        for (uint32_t way = 0; way < 2; way++) {
            sh_metrics *metrics;
            const sh_metrics_options options = {targets[t], OUTPUTS, COUNT, 10};
            assert_ok(sh_metrics_new(&metrics, &options));
            for (uint32_t i = 0; i < COUNT; i++) {
                const uint32_t n = way == 0 ? i : i * 40 % COUNT;
                float given[OUTPUTS], wanted[OUTPUTS];
                const int32_t class = (int32_t)(n % OUTPUTS);
                for (uint32_t k = 0; k < OUTPUTS; k++) {
                    given[k] = (float)(n * (k + 3) % 17) / 7.0f - 1;
                    wanted[k] = (float)(n / (k + 1) % 2);
                }
                const void *target = targets[t] == SH_TARGET_CLASS ? (const void *)&class : wanted;
                sh_metrics_add(metrics, n, n == 7 ? NAN : (float)(n % 19), given, target);
            }
            found[way] = sh_metrics_summarise(metrics);
            for (uint32_t i = 0; i < 10; i++) {
                assert_true(sh_metrics_worst(metrics, i, &worst[way][i]));
                if (t == 1 || t == 2)
                    assert_true(worst[way][i].wanted[0] == (float)(worst[way][i].index % 2));
                worst[way][i].given = worst[way][i].wanted = NULL;
            }
            assert_int_equal(worst[way][0].index, 7);
            sh_metrics_free(metrics);
        }
        assert_memory_equal(&found[0], &found[1], sizeof found[0]);
        for (uint32_t i = 0; i < 10; i++)
            assert_int_equal(worst[0][i].index, worst[1][i].index);
    }
}

static void sizes_are_checked(void **state)
{
    (void)state;
    sh_metrics *metrics;
    const sh_metrics_options large = {SH_TARGET_LABELS, UINT32_MAX, UINT32_MAX, 0};
    assert_fails(sh_metrics_new(&metrics, &large), SH_NO_MEMORY, "");
    sh_metrics_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_told_apart),   cmocka_unit_test(the_right_class_is_among_five),
        cmocka_unit_test(two_classes_have_an_area), cmocka_unit_test(the_worst_samples_are_kept),
        cmocka_unit_test(labels_are_told),          cmocka_unit_test(numbers_are_compared),
        cmocka_unit_test(large_numbers_are_exact),  cmocka_unit_test(errors_have_quantiles),
        cmocka_unit_test(order_does_not_show),      cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
