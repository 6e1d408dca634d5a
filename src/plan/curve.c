/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/curve.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define AS_FAST 1e-3 /* of a step's time: no gain, as in plan/lineup */

static bool alike(const sh_lineup_device *a, const sh_lineup_device *b)
{
    return a->rate == b->rate && a->in == b->in && a->out == b->out && a->delay_s == b->delay_s;
}

/* The unused device with links of at least `speed` that gives the shortest step; `count`: none. */
static uint32_t next_device(const sh_lineup_job *job, const sh_lineup_device *devices, bool *used,
                            uint32_t count, double speed)
{
    uint32_t best = count;
    double least = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        if (used[i] || sh_lineup_speed(&devices[i]) < speed ||
            (i > 0 && !used[i - 1] && alike(&devices[i], &devices[i - 1])))
            continue;
        used[i] = true;
        const double seconds = sh_lineup_time_of(job, devices, used, count, NULL).seconds;
        used[i] = false;
        if (best == count || seconds < least) {
            least = seconds;
            best = i;
        }
    }
    return best;
}

static uint32_t count_idle(const sh_range *shares, uint32_t count)
{
    uint32_t idle = 0;
    for (uint32_t i = 0; i < count; i++)
        idle += shares[i].count == 0;
    return idle;
}

static void grow(sh_curve *curve, const sh_lineup_job *job, const sh_lineup_device *devices,
                 uint32_t count, double speed)
{
    bool used[SH_DEVICES_MAX] = {false};
    sh_range shares[SH_DEVICES_MAX];
    curve->count = count;
    curve->best = 0;
    for (uint32_t n = 0; n < count; n++) {
        sh_curve_point *point = &curve->points[n];
        point->added = next_device(job, devices, used, count, speed);
        if (point->added == count)
            point->added = next_device(job, devices, used, count, 0);
        used[point->added] = true;
        point->time = sh_lineup_time_of(job, devices, used, count, shares);
        point->idle = count_idle(shares, n + 1);
        if (point->time.seconds < (1 - AS_FAST) * curve->points[curve->best].time.seconds)
            curve->best = n;
    }
}

static double best_s(const sh_curve *curve)
{
    return curve->points[curve->best].time.seconds;
}

void sh_curve_make(sh_curve *curve, const sh_lineup_job *job, const sh_lineup_device *devices,
                   uint32_t count)
{
    sh_curve tried;
    grow(curve, job, devices, count, 0);
    for (uint32_t i = 0; i < count; i++) {
        const double speed = sh_lineup_speed(&devices[i]);
        bool known = false;
        for (uint32_t k = 0; k < i && !known; k++)
            known = sh_lineup_speed(&devices[k]) == speed;
        if (known)
            continue;
        grow(&tried, job, devices, count, speed);
        if (best_s(&tried) < (1 - AS_FAST) * best_s(curve))
            *curve = tried;
    }
}

/* ---- description ----------------------------------------------------------------------------- */

typedef struct sentence {
    char *text;
    size_t bytes, used;
} sentence;

static void __attribute__((format(printf, 2, 3))) add(sentence *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to->text + to->used, to->bytes - to->used, format, arguments);
    va_end(arguments);
    const size_t left = to->bytes - to->used - 1;
    to->used += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left;
}

#define FIRST_POINTS 3

void sh_curve_describe(const sh_curve *curve, const char *const *names, char *text,
                       size_t text_bytes)
{
    const uint32_t last = curve->count - 1;
    const sh_curve_point *all = &curve->points[last];
    sentence made = {text, text_bytes, 0};
    add(&made, "expected of a step:");
    for (uint32_t n = 0; n <= last; n++)
        if (n < FIRST_POINTS || n == curve->best || n == last) {
            const double seconds = curve->points[n].time.seconds;
            add(&made, seconds < 1 ? "%s %.3g ms with %u%s" : "%s %.3g s with %u%s",
                n == 0 ? "" : ",", seconds < 1 ? 1e3 * seconds : seconds, n + 1,
                n == curve->best ? " (fastest)" : "");
        }
    if (all->idle > 0)
        add(&made, "; with all, %u %s no grain", all->idle, all->idle == 1 ? "has" : "have");
    else if (all->time.exchange_s > all->time.compute_s)
        add(&made, "; with all, the link of %.40s takes longest", names[all->time.slowest]);
    else
        add(&made, "; with all, computing takes longest");
}
