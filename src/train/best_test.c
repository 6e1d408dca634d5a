/* SPDX-License-Identifier: Apache-2.0 */
#include "train/best.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/test.h"

static sh_job job_of(const char *monitor, float min_delta)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.monitor, sizeof job.monitor, "%s", monitor);
    job.min_delta = min_delta;
    return job;
}

/* Validations after 10, 20, ... steps, and the expected state after the last one. */
static const struct course {
    const char *name;
    float min_delta;
    double figures[6]; /* 0 ends the list */
    double value;
    uint64_t steps, stale;
} courses[] = {
    {"none", 0, {0}, 0, 0, 0},
    {"one", 0, {2}, 2, 10, 0},
    {"falling", 0, {3, 2, 1}, 1, 30, 0},
    {"rising", 0, {1, 2, 3}, 1, 10, 2},
    {"an equal one is no better", 0, {2, 1, 1, 1}, 1, 20, 2},
    {"an improvement begins the count anew", 0, {3, 4, 2, 5}, 2, 30, 1},
    {"small improvements do not count, but are kept", 0.5f, {3, 2.75, 2.5}, 2.5, 30, 2},
    {"small improvements add up", 0.5f, {3, 2.75, 2.25, 2.25}, 2.25, 30, 1},
    {"negative figures", 0, {-0.5, -0.75, -0.25}, -0.75, 20, 1},
    {"not finite", 0, {INFINITY, 2, INFINITY}, 2, 20, 1},
    {"never finite", 0, {INFINITY, INFINITY}, 0, 0, 2},
};

static void follows_validations(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof courses / sizeof *courses; i++) {
        const struct course *course = &courses[i];
        const sh_job job = job_of("val_loss", course->min_delta);
        sh_best best = {0}, once = {0};
        for (size_t v = 0; v < 6 && course->figures[v] != 0; v++) {
            sh_best_settle(&best, &job);
            sh_best_note(&best, course->figures[v], 10 * (v + 1));
            once = best;

            /* A validation may be repeated after the state was read. */
            (void)sh_best_now(&best, &job);
            sh_best_note(&best, course->figures[v], 10 * (v + 1));
            sh_best_forget(&best);
            sh_best_note(&best, course->figures[v], 10 * (v + 1));
            assert_true(sh_best_same(&best, &once));
            assert_true(sh_best_is_possible(&best, 10 * (v + 1)));
        }
        const sh_best now = sh_best_now(&best, &job);
        sh_best_settle(&best, &job);
        sh_best_settle(&best, &job); /* no validation between two steps */
        if (!sh_best_same(&now, &best) || now.value != course->value ||
            now.steps != course->steps || now.stale != course->stale)
            fail_msg("%s: %g after %llu steps, stale %llu", course->name, now.value,
                     (unsigned long long)now.steps, (unsigned long long)now.stale);
    }
}

/* The job ends only directly after a validation. Another step continues it to the end of its
 * epoch. */
static void patience_ends_it(void **state)
{
    (void)state;
    static const double values[] = {3, 2, 4, 2, 5, 1};
    static const bool ends[] = {false, false, false, true, true, false};
    sh_job job = job_of("val_loss", 0), endless = job;
    sh_best best = {0};
    job.patience = 2;
    assert_false(sh_best_ends(&best, &job));
    for (uint64_t i = 0; i < 6; i++) {
        sh_best_note(&best, values[i], i + 1);
        assert_int_equal(sh_best_ends(&best, &job), ends[i]);
        assert_false(sh_best_ends(&best, &endless));
        sh_best_settle(&best, &job);
        assert_false(sh_best_ends(&best, &job));
    }
}

static const struct figure {
    const char *monitor;
    sh_target target;
    sh_sum_totals totals;
    double figure, shown;
} figures[] = {
    {"val_loss", SH_TARGET_CLASS, {.loss = 6, .samples = 4, .score = 3}, 1.5, 1.5},
    {"val_accuracy", SH_TARGET_CLASS, {.loss = 6, .samples = 4, .score = 3}, -0.75, 0.75},
    {"val_accuracy", SH_TARGET_LABELS, {.loss = 6, .samples = 4, .score = 6}, -0.75, 0.75},
    {"val_mae", SH_TARGET_NUMBERS, {.loss = 6, .samples = 4, .score = 1 << 26}, 1, 1},
    {"val_loss", SH_TARGET_CLASS, {.loss = NAN, .samples = 4}, INFINITY, INFINITY},
    {"val_loss", SH_TARGET_CLASS, {.loss = 0}, INFINITY, INFINITY},
};

static void monitors_a_figure(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const struct figure *each = &figures[i];
        const sh_job job = job_of(each->monitor, 0);
        const sh_dataset_info info = {.target = each->target, .outputs = 2};
        const double figure = sh_best_figure(&job, &info, &each->totals);
        assert_ok(sh_best_check(&job, &info));
        assert_true(figure == each->figure && sh_best_shown(&job, figure) == each->shown);
    }
}

static void refuses_figures_that_the_data_lack(void **state)
{
    (void)state;
    const sh_dataset_info classes = {.target = SH_TARGET_CLASS};
    const sh_dataset_info numbers = {.target = SH_TARGET_NUMBERS};
    const sh_job mae = job_of("val_mae", 0), accuracy = job_of("val_accuracy", 0);
    assert_fails(sh_best_check(&mae, &classes), SH_INVALID,
                 "--monitor val_mae: a training on these data has val_loss and val_accuracy");
    assert_fails(sh_best_check(&accuracy, &numbers), SH_INVALID,
                 "--monitor val_accuracy: a training on these data has val_loss and val_mae");
}

static void knows_what_cannot_be(void **state)
{
    (void)state;
    const sh_best wrong[] = {
        {.value = NAN}, {.reference = INFINITY}, {.last = NAN, .at = 20}, {.last = -INFINITY},
        {.steps = 21},  {.stale = 21},           {.value = 1, .at = 10},  {.at = 30},
    };
    const sh_best good = {1, 10, 1, 0, INFINITY, 20};
    assert_true(sh_best_is_possible(&good, 20));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(sh_best_is_possible(&wrong[i], 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_validations),
        cmocka_unit_test(patience_ends_it),
        cmocka_unit_test(monitors_a_figure),
        cmocka_unit_test(refuses_figures_that_the_data_lack),
        cmocka_unit_test(knows_what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
