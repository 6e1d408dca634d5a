/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the trials will take that are left, told from those that are done.
 *
 *     const double left_seconds = sh_forecast(trials, count, filter);
 *
 * A trial's work is its samples: steps times batch, or where epochs are counted the epochs. Trials
 * of the same model and data take as long for the same work as those that are done did on average;
 * without such a trial, the mean of all that are done is taken.
 *
 * Threads: any.
 */
#ifndef SHOAL_SWEEP_FORECAST_H
#define SHOAL_SWEEP_FORECAST_H

#include "shoal/sweep.h"

/*
 * Of the trials that wait and match `filter` (NULL: all), and the running one, from its start. NaN
 * where none is done.
 */
double sh_forecast(const sh_trial *trials, size_t count, const char *filter);

#endif
