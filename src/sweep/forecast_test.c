/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/forecast.h"

#include <math.h>

#include "base/test.h"

static sh_trial trial_of(sh_trial_state state, const char *model, const char *steps, double seconds)
{
    sh_trial trial = {.state = state};
    trial.settings[SH_SETTING_model] = model;
    trial.settings[SH_SETTING_steps] = steps;
    trial.figures[SH_TRIAL_FIGURE_wall_seconds] = seconds;
    return trial;
}

static void tells_from_trials_of_the_same_model(void **state)
{
    (void)state;
    sh_trial trials[] = {
        trial_of(SH_TRIAL_DONE, "a", "10", 5),      trial_of(SH_TRIAL_DONE, "a", "30", 15),
        trial_of(SH_TRIAL_DONE, "b", "10", 100),    trial_of(SH_TRIAL_WAITING, "a", "20", NAN),
        trial_of(SH_TRIAL_RUNNING, "b", "20", NAN), trial_of(SH_TRIAL_FAILED, "a", "10", 1),
    };
    const size_t count = sizeof trials / sizeof *trials;
    assert_true(sh_forecast(trials, count, NULL) == 10 + 200);
    assert_true(sh_forecast(trials, count, "model=b") == 200);
    trials[3].settings[SH_SETTING_batch_per_device] = "64"; /* the default, on two devices */
    trials[3].settings[SH_SETTING_devices] = "2";
    assert_true(sh_forecast(trials, count, NULL) == 20 + 200);
    trials[3].settings[SH_SETTING_model] = "c"; /* unlike all others */
    assert_true(sh_forecast(trials, count, NULL) == 40 + 200);
    assert_true(isnan(sh_forecast(trials + 3, 3, NULL)));
    assert_true(sh_forecast(trials, 3, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_from_trials_of_the_same_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
