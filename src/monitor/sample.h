/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of figures.def for one device at one moment. A figure that is not available is NaN,
 * never zero.
 *
 *     sh_sample sample;
 *     sh_sample_clear(&sample);
 *     sample.figures[SH_FIGURE_load_1m] = 0.4;
 *     if (isnan(sample.figures[SH_FIGURE_power_watts]))
 *         ...                                             // not available
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_MONITOR_SAMPLE_H
#define SHOAL_MONITOR_SAMPLE_H

#include <stdint.h>

typedef enum sh_figure {
#define SH_FIGURE(name, kind, what) SH_FIGURE_##name,
#include "monitor/figures.def"
#undef SH_FIGURE
    SH_FIGURE_COUNT
} sh_figure;

typedef enum sh_figure_kind { SH_FIGURE_GAUGE, SH_FIGURE_COUNTER } sh_figure_kind;

typedef struct sh_sample {
    uint64_t at_ns; /* of the device's monotonic clock */
    double figures[SH_FIGURE_COUNT];
} sh_sample;

/* Makes all figures not available. */
void sh_sample_clear(sh_sample *sample);

/* Static storage. */
const char *sh_figure_name(sh_figure figure);
sh_figure_kind sh_figure_kind_of(sh_figure figure);

#endif
