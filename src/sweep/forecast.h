/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the time of the remaining trials from the finished ones. A trial's work is its number
 * of samples, steps times batch size, or its epochs if it counts epochs. The estimate is the mean
 * time per work of finished trials of this model and data, otherwise the mean time of all finished
 * trials.
 *
 *     const double left_seconds = sh_forecast(trials, count, filter);
 *
 * Threads: any.
 */
#ifndef SHOAL_SWEEP_FORECAST_H
#define SHOAL_SWEEP_FORECAST_H

#include "shoal/sweep.h"

/* The seconds of the running trial, from its start, and of the waiting ones that match `filter`
 * (NULL: all). NaN if no trial is finished. */
double sh_forecast(const sh_trial *trials, size_t count, const char *filter);

#endif
