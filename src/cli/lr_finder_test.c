/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lr_finder.h"

#include <math.h>
#include <stdlib.h>

#include "base/test.h"

enum { STEPS = 100 };

static double rate_of(int step)
{
    return pow(10, -7 + 8.0 * step / (STEPS - 1));
}

/* Falls from 3 to 1 around the rate `middle`, and diverges above `end`. */
static double loss_of(double lr, double middle, double end)
{
    return 2 - tanh(2 * log10(lr / middle)) + (lr > end ? pow(lr / end, 3) : 0);
}

static int run(sh_lr_finder *finder, double middle, double end)
{
    *finder = (sh_lr_finder){.count = 0};
    for (int step = 0; step < STEPS; step++)
        if (sh_lr_finder_add(finder, rate_of(step), loss_of(rate_of(step), middle, end)))
            return step + 1;
    return STEPS;
}

/* The average lags the loss, so the suggestion may be slightly above. */
static void the_steepest_descent_is_suggested(void **state)
{
    (void)state;
    static const double middles[] = {1e-4, 1e-3, 1e-2};
    for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
        sh_lr_finder finder;
        double lr;
        const int steps = run(&finder, middles[i], 100 * middles[i]);
        assert_true(finder.diverged && steps < STEPS);
        assert_int_equal(finder.count, steps);
        assert_true(finder.points[steps - 1].lr > 100 * middles[i]);
        assert_true(sh_lr_finder_suggest(&lr, &finder));
        assert_true(lr > middles[i] / 3 && lr < 10 * middles[i]);
    }
}

static void the_average_is_corrected_for_its_beginning(void **state)
{
    (void)state;
    sh_lr_finder finder = {.count = 0};
    for (int step = 0; step < STEPS; step++)
        assert_false(sh_lr_finder_add(&finder, rate_of(step), 2.5));
    for (int step = 0; step < STEPS; step++)
        assert_true(fabs(finder.points[step].smoothed - 2.5) < 1e-9);
}

static void what_does_not_fall_suggests_nothing(void **state)
{
    (void)state;
    sh_lr_finder finder = {.count = 0};
    double lr;
    assert_false(sh_lr_finder_suggest(&lr, &finder));
    for (int step = 0; step < STEPS; step++)
        (void)sh_lr_finder_add(&finder, rate_of(step), 1 + 0.01 * step);
    assert_false(finder.diverged);
    assert_false(sh_lr_finder_suggest(&lr, &finder));
}

static void what_is_not_finite_has_diverged(void **state)
{
    (void)state;
    sh_lr_finder finder;
    double lr;
    run(&finder, 1e-3, 1e9);
    assert_false(finder.diverged);
    finder.count = 80;
    assert_true(sh_lr_finder_add(&finder, 1, (double)NAN));
    assert_true(sh_lr_finder_add(&finder, 2, 1));
    assert_int_equal(finder.count, 81);
    assert_true(sh_lr_finder_suggest(&lr, &finder));
    json_t *json = sh_lr_finder_json(&finder);
    assert_true(json_real_value(json_object_get(json, "suggested_lr")) == lr);
    assert_true(json_number_value(json_object_get(json, "diverged_lr")) == 1);
    const json_t *points = json_object_get(json, "points");
    assert_int_equal(json_array_size(points), 81);
    assert_true(json_is_null(json_object_get(json_array_get(points, 80), "loss")));
    json_decref(json);
}

static void curves_are_drawn(void **state)
{
    (void)state;
    sh_lr_finder finder;
    char *text = NULL;
    size_t bytes = 0;
    run(&finder, 1e-3, 0.1);
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    sh_lr_finder_print(&finder, 40, out);
    fclose(out);
    assert_non_null(strstr(text, "*"));
    assert_non_null(strstr(text, ":"));
    assert_non_null(strstr(text, "diverged    at 0."));
    assert_non_null(strstr(text, "suggested   --lr 0.00"));
    free(text);
    finder = (sh_lr_finder){.count = 0};
    out = open_memstream(&text, &bytes);
    assert_non_null(out);
    sh_lr_finder_print(&finder, 40, out);
    fclose(out);
    assert_non_null(strstr(text, "suggested   nothing: the loss does not fall"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_steepest_descent_is_suggested),
        cmocka_unit_test(the_average_is_corrected_for_its_beginning),
        cmocka_unit_test(what_does_not_fall_suggests_nothing),
        cmocka_unit_test(what_is_not_finite_has_diverged),
        cmocka_unit_test(curves_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
