/* SPDX-License-Identifier: Apache-2.0 */
#include "report/learning.h"

#include <math.h>

#include "base/scratch.h"
#include "shoal/job.h"
#include "store/run.h"
#include "train/job_json.h"

enum { POINTS = 4 };

/* Expects rates at steps 1, 10, 11 and 40 of 4 epochs of 10 steps. */
static void expect(const char *job, const char *path, const double rates[POINTS])
{
    sh_digest_point points[POINTS] = {{.step = 1}, {.step = 10}, {.step = 11}, {.step = 40}};
    sh_run_digest digest = {.job = job, .epoch_steps = 10, .points = points, .point_count = POINTS};
    for (int i = 0; i < POINTS; i++)
        points[i].learning_rate = NAN;
    assert_ok(sh_learning_rates(&digest, path));
    for (int i = 0; i < POINTS; i++)
        if (!(fabs(points[i].learning_rate - rates[i]) < 1e-8) &&
            !(isnan(rates[i]) && isnan(points[i].learning_rate)))
            fail_msg("step %g: %.9g, not %.9g", points[i].step, points[i].learning_rate, rates[i]);
}

static char *text_of(const char *schedule, float lr, float warmup, const char *strategy)
{
    sh_job job;
    char *text;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "lenet");
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.schedule, sizeof job.schedule, "%s", schedule);
    if (strategy != NULL)
        snprintf(job.strategy, sizeof job.strategy, "%s", strategy);
    job.lr = lr;
    job.warmup = warmup;
    job.epochs = 4;
    assert_ok(sh_job_to_text(&text, &job));
    return text;
}

static void the_schedule_is_followed(void **state)
{
    (void)state;
    char *text = text_of("constant", 0.5f, 0, NULL);
    expect(text, scratch_folder, (const double[]){0.5, 0.5, 0.5, 0.5});
    free(text);
    text = text_of("step:1,0.5", 0.5f, 0, NULL);
    expect(text, scratch_folder, (const double[]){0.5, 0.5, 0.25, 0.0625});
    free(text);
    text = text_of("constant", 0.5f, 2, NULL);
    expect(text, scratch_folder, (const double[]){0.025, 0.25, 0.275, 0.5});
    free(text);
}

static void changes_are_taken_back(void **state)
{
    (void)state;
    char path[SCRATCH_BYTES + 32];
    static const char changes[] =
        "{\"changes\": [{\"step\": 5, \"lr\": [0.5, 0.25], \"schedule\": [\"constant\", "
        "\"constant\"]}, {\"step\": 10, \"lr\": [0.25, 0.125], \"unknown\": [1, 2]}]}";
    snprintf(path, sizeof path, "%s/" SH_RUN_JOB, scratch_folder);
    char *text = text_of("constant", 0.125f, 0, NULL);
    scratch_write(path, changes, strlen(changes));
    expect(text, scratch_folder, (const double[]){0.5, 0.25, 0.125, 0.125});
    scratch_write(path, "{", 1);
    expect(text, scratch_folder, (const double[]){0.125, 0.125, 0.125, 0.125});
    free(text);
}

static void what_is_not_known_is_left_out(void **state)
{
    (void)state;
    const double none[] = {NAN, NAN, NAN, NAN};
    static const char *const jobs[] = {"", "[]", "{}", "{\"model\": 3}"};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        expect(jobs[i], scratch_folder, none);
    char *text = text_of("constant", 0.5f, 0, "local:4");
    expect(text, scratch_folder, none);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_schedule_is_followed, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(changes_are_taken_back, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_known_is_left_out, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
