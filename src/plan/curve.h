/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a step with 1, 2, ... devices. Each point adds the device that helps most or harms
 * least, so from some point on, more devices make steps longer. A fast device behind a slow link
 * may be best alone but slow down others, so a curve is made for each link speed, beginning with
 * the devices of at least that speed, and the one with the shortest step is kept.
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
    uint32_t added;
    uint32_t idle; /* without a grain */
    sh_lineup_time time;
} sh_curve_point;

typedef struct sh_curve {
    uint32_t count, best; /* the first point with the shortest step */
    sh_curve_point points[SH_DEVICES_MAX];
} sh_curve;

/* Equal devices must be adjacent. `fixed` is ignored. 0 < count <= SH_DEVICES_MAX. */
void sh_curve_make(sh_curve *curve, const sh_lineup_job *job, const sh_lineup_device *devices,
                   uint32_t count);

/* Describes the curve in a sentence: the times with 1, 2, 3, the best number and all devices, and
 * the bottleneck with all. names[devices]. */
void sh_curve_describe(const sh_curve *curve, const char *const *names, char *text,
                       size_t text_bytes);

#endif
