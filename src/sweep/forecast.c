/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/forecast.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/study_file.h"

/* Comparing all trials takes quadratic time. */
#define COMPARED_MAX 2000

static double number_of(const sh_trial *trial, sh_setting setting, double usual)
{
    const char *text = trial->settings[setting];
    return text == NULL ? usual : strtod(text, NULL);
}

static double work_of(const sh_trial *trial)
{
    const double steps = number_of(trial, SH_SETTING_steps, 0);
    if (steps == 0)
        return number_of(trial, SH_SETTING_epochs, 10);
    if (trial->settings[SH_SETTING_batch_per_device] == NULL)
        return steps * number_of(trial, SH_SETTING_batch_size, 64);
    return steps * number_of(trial, SH_SETTING_batch_per_device, 64) *
           number_of(trial, SH_SETTING_devices, 1);
}

static bool has_same(const sh_trial *a, const sh_trial *b, sh_setting setting)
{
    const char *one = a->settings[setting], *other = b->settings[setting];
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

double sh_forecast(const sh_trial *trials, size_t count, const char *filter)
{
    double seconds = 0, left = 0;
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        if (trials[i].state != SH_TRIAL_DONE)
            continue;
        seconds += trials[i].figures[SH_TRIAL_FIGURE_wall_seconds];
        done++;
    }
    if (done == 0)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        const sh_trial *trial = &trials[i];
        const bool is_asked_for = filter == NULL || sh_study_matches(filter, trial->settings);
        if (trial->state != SH_TRIAL_RUNNING && (trial->state != SH_TRIAL_WAITING || !is_asked_for))
            continue;
        double alike_seconds = 0, alike_work = 0;
        for (size_t k = 0; count <= COMPARED_MAX && k < count; k++) {
            const sh_trial *other = &trials[k];
            if (other->state != SH_TRIAL_DONE || !has_same(trial, other, SH_SETTING_model) ||
                !has_same(trial, other, SH_SETTING_data) ||
                (trial->settings[SH_SETTING_steps] == NULL) !=
                    (other->settings[SH_SETTING_steps] == NULL))
                continue;
            alike_seconds += other->figures[SH_TRIAL_FIGURE_wall_seconds];
            alike_work += work_of(other);
        }
        left +=
            alike_work > 0 ? alike_seconds / alike_work * work_of(trial) : seconds / (double)done;
    }
    return left;
}
