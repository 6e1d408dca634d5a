/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a step takes with 1, 2, ... of some devices, each time with the one added that helps the
 * most or harms the least: a curve with a bend, behind which devices make steps longer. Of the
 * curves that begin with the devices behind links of at least some speed, the one with the shortest
 * step: a fast device behind a slow link may be the best one alone, and harm all others.
 *
 *     sh_curve curve;
 *     sh_curve_make(&curve, &job, devices, count);
 *     const sh_curve_point *best = &curve.points[curve.best];
 *
 * Threads: any; pure. Times are seconds.
 */
#ifndef SHOAL_PLAN_CURVE_H
#define SHOAL_PLAN_CURVE_H

#include <stddef.h>

#include "plan/lineup.h"

typedef struct sh_curve_point {
    uint32_t added; /* the device that is the last one */
    uint32_t idle;  /* devices of these that get no grain */
    sh_lineup_time time;
} sh_curve_point;

typedef struct sh_curve {
    uint32_t count, best; /* the point with the shortest step; of some, the first */
    sh_curve_point points[SH_DEVICES_MAX];
} sh_curve;

/* Devices that are alike stand next to each other; `fixed` is not read. 0 < count <=
 * SH_DEVICES_MAX. */
void sh_curve_make(sh_curve *curve, const sh_lineup_job *job, const sh_lineup_device *devices,
                   uint32_t count);

/* The curve in a sentence: times with 1, 2, 3 devices, with the fastest number and with all, and
 * what makes a step longer with all. names [devices]. */
void sh_curve_describe(const sh_curve *curve, const char *const *names, char *text,
                       size_t text_bytes);

#endif
