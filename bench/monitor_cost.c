/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the monitor's processor time: samples in a loop, and its thread at the normal period,
 * with cold caches as during a training.
 *
 *     bench_monitor_cost [SAMPLES [SECONDS]]           1000 10
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "monitor/monitor.h"

static void count(void *context, const sh_sample *sample)
{
    int *counts = context; /* samples, figures of the last */
    counts[0]++;
    counts[1] = 0;
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        counts[1] += !isnan(sample->figures[i]);
}

static double wall_seconds(void)
{
    return 1e-9 * (double)sh_clock_now_ns(sh_clock_system());
}

static sh_status in_a_row(long samples, double *seconds)
{
    sh_sampler *sampler;
    sh_sample sample;
    SH_TRY(sh_sampler_open(&sampler, NULL));
    const double before = sh_process_cpu_seconds();
    for (long i = 0; i < samples; i++)
        sh_sampler_take(sampler, &sample);
    *seconds = sh_process_cpu_seconds() - before;
    sh_sampler_close(sampler);
    return SH_OK;
}

/* Processor time and elapsed time in seconds. */
static sh_status at_its_period(long seconds, double used[2], int counts[2])
{
    const struct timespec rest = {.tv_sec = seconds};
    const double cpu = sh_process_cpu_seconds(), wall = wall_seconds();
    sh_monitor *monitor;
    SH_TRY(sh_monitor_start(&monitor, &(sh_monitor_options){.sink = count, .context = counts}));
    nanosleep(&rest, NULL);
    sh_monitor_stop(monitor);
    used[0] = sh_process_cpu_seconds() - cpu;
    used[1] = wall_seconds() - wall;
    return SH_OK;
}

int main(int argc, char **argv)
{
    const long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    const long seconds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
    double row, used[2];
    int counts[2] = {0};
    if (in_a_row(samples, &row) != SH_OK || at_its_period(seconds, used, counts) != SH_OK) {
        fprintf(stderr, "%s\n", sh_message());
        return 1;
    }
    printf("{\"samples\": %d, \"figures\": %d, \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
           "\"cpu_seconds_in_a_row\": %.9f}\n",
           counts[0], counts[1], used[1], used[0], row / (double)samples);
    return 0;
}
