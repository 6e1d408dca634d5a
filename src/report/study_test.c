/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/scratch.h"
#include "shoal/sweep.h"
#include "store/file.h"
#include "sweep/trials.h"

/* The accuracy depends on the seed. */
static void finish(sh_trials *trials, const sh_study_trial *planned, double seconds)
{
    sh_trial trial = {.state = SH_TRIAL_DONE, .weights_hash = "0123456789abcdef"};
    const char *seed = planned->settings[SH_SETTING_seed];
    memcpy(trial.id, planned->id, sizeof trial.id);
    memcpy(trial.settings, planned->settings, sizeof trial.settings);
    for (int i = 0; i < SH_TRIAL_FIGURE_COUNT; i++)
        trial.figures[i] = NAN;
    trial.figures[SH_TRIAL_FIGURE_seconds] = seconds;
    trial.figures[SH_TRIAL_FIGURE_wall_seconds] = 2 * seconds;
    trial.figures[SH_TRIAL_FIGURE_cpu_seconds] = seconds / 2;
    trial.figures[SH_TRIAL_FIGURE_samples_per_second] = 1000 / seconds;
    trial.figures[SH_TRIAL_FIGURE_val_accuracy] = seed == NULL ? 0.5 : 0.1 * strtod(seed, NULL);
    trial.figures[SH_TRIAL_FIGURE_memory_mean] = 25e6;
    trial.figures[SH_TRIAL_FIGURE_sent_mean] = 3000;
    assert_ok(sh_trials_save(trials, &trial, 1e9));
}

static void assert_tables(const char *text, bool markdown, const char *expected)
{
    char *got;
    sh_study *study;
    sh_trials *trials;
    assert_ok(sh_study_parse(&study, "s.yaml", text, strlen(text)));
    assert_ok(sh_trials_open(&trials, scratch_folder, SH_DATABASE_WRITE));
    assert_ok(sh_trials_take(trials, study, "s.yaml", 1e9));
    for (size_t i = 0; i + 1 < study->trial_count; i++) /* the last one waits */
        finish(trials, &study->trials[i], (double)i + 1);
    assert_ok(sh_sweep_tables(&got, scratch_folder, markdown));
    assert_string_equal(got, expected);
    free(got);
    sh_trials_close(trials);
    sh_study_free(study);
}

static void shows_what_differs(void **state)
{
    (void)state;
    assert_tables(
        "blocks:\n"
        "- {name: time, model: lenet, data: digits, steps: 9, batch-size: [8, 16], devices: [2, 4],"
        " exclude: [{batch-size: 16, devices: 4}]}\n"
        "- {name: last, model: lenet, data: digits}\n",
        false,
        "time\n\nlenet, digits, steps 9\n\n"
        "batch-size  devices  speed-up  seconds  samples/s  accuracy %  CPU %  memory MB  in kB/s  "
        "out kB/s   weights\n"
        "         8        2      1.00     1.00       1000       50.00   25.0       25.0        -  "
        "     3.0  01234567\n"
        "         8        4      0.50     2.00        500       50.00   25.0       25.0        -  "
        "     1.5  01234567\n"
        "        16        2      1.00     3.00        333       50.00   25.0       25.0        -  "
        "     1.0  01234567\n"
        "\nlast\n\nlenet, digits\n\n"
        "seconds  samples/s  accuracy %  CPU %  memory MB  in kB/s  out kB/s  weights\n"
        "waiting\n\n");
}

static void takes_the_mean_over_seeds(void **state)
{
    (void)state;
    assert_tables("blocks:\n"
                  "- {name: 'a|b', model: [m, n], data: digits, seed: [1, 2]}\n"
                  "- {name: last, model: lenet, data: digits}\n",
                  true,
                  "**a|b**\n\ndigits\n\n"
                  "| model | runs | seconds | samples/s | accuracy % | CPU % | memory MB | in kB/s "
                  "| out kB/s | weights |\n"
                  "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
                  "|     m |    2 |    2.00 |       667 |      15.00 |  25.0 |      25.0 |       - "
                  "|      1.5 |         |\n"
                  "|     n |    2 |    3.00 |       375 |      15.00 |  25.0 |      25.0 |       - "
                  "|      1.0 |         |\n"
                  "\n**last**\n\nlenet, digits\n\n"
                  "| seconds | samples/s | accuracy % | CPU % | memory MB | in kB/s | out kB/s | "
                  "weights |\n"
                  "|---:|---:|---:|---:|---:|---:|---:|---:|\n"
                  "| waiting |           |            |       |           |         |          |   "
                  "      |\n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shows_what_differs, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(takes_the_mean_over_seeds, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
