/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimates use x, the logarithm of the seconds per grain, so that twice and half the speed are
 * equally far apart.
 *
 * Level: the median of the last `steady` steps, at most SH_PACE_WINDOW. If the last SH_PACE_SHIFT
 * steps are all on the same side of the level, farther away than noise explains, the speed has
 * changed: the window then restarts with these steps.
 *
 * Noise: 1.05 times the median of |x(n) - x(n-1)|, which is the standard deviation of normal noise
 * (0.954 = 0.6745 sqrt 2). A change of speed affects only one difference. A few assumed differences
 * are included; they matter while there are few others.
 *
 * Error of the level: 1.25 noise / sqrt(n), the standard error of a median. If the steady steps
 * scatter farther than consecutive steps differ (slowly varying noise), their median deviation
 * replaces the noise. The error is at least the standard error of the mean of the medians of blocks
 * of BLOCK steps, which holds for any correlation within a block.
 *
 * Medians and their errors: Rousseeuw and Croux, "Alternatives to the median absolute deviation",
 * 1993. Blocks: "batch means" in Law and Kelton, "Simulation Modeling and Analysis".
 */
#include "train/pace.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_STEPS 6   /* noted before a rate is reported */
#define LEAST_SHIFT 0.1 /* smallest change of x that counts as a shift */
#define SHIFT_NOISES 2.0
#define PRIOR_JUMPS 4 /* assumed differences */
#define PRIOR_JUMP 0.1
#define OF_JUMP 1.05
#define OF_DEVIATION 1.4826
#define OF_MEDIAN 1.25
#define BLOCK 8 /* steps */
#define LEAST_ERROR 0.005
#define TOLD_SHIFT 0.125

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The lower one of two middle values; count > 0. Sorts the values. */
static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[(count - 1) / 2];
}

/* x of `back` steps ago. */
static double recent(const sh_pace *pace, uint32_t back)
{
    return pace->grain_s[(pace->noted - 1 - back) % SH_PACE_WINDOW];
}

/* The level without the last `left_out` steady steps, fewer than `steady`. */
static double level(const sh_pace *pace, uint32_t left_out)
{
    double values[SH_PACE_WINDOW];
    const uint32_t count = pace->steady - left_out;
    for (uint32_t i = 0; i < count; i++)
        values[i] = recent(pace, left_out + i);
    return median(values, count);
}

static double noise_of_jumps(const sh_pace *pace)
{
    double values[SH_PACE_WINDOW + PRIOR_JUMPS];
    uint32_t count = 0;
    for (; count + 1 < pace->noted && count < SH_PACE_WINDOW - 1; count++)
        values[count] = pace->jump[(pace->noted - 1 - count) % SH_PACE_WINDOW];
    for (uint32_t i = 0; i < PRIOR_JUMPS; i++)
        values[count++] = PRIOR_JUMP;
    return OF_JUMP * median(values, count);
}

static double noise_of_level(const sh_pace *pace, double at)
{
    double values[SH_PACE_WINDOW];
    for (uint32_t i = 0; i < pace->steady; i++)
        values[i] = fabs(recent(pace, i) - at);
    return OF_DEVIATION * median(values, pace->steady);
}

/* 0 with fewer than two blocks. */
static double error_of_blocks(const sh_pace *pace)
{
    double medians[SH_PACE_WINDOW / BLOCK], mean = 0, squares = 0;
    const uint32_t blocks = pace->steady / BLOCK;
    for (uint32_t b = 0; b < blocks; b++) {
        double values[BLOCK];
        for (uint32_t i = 0; i < BLOCK; i++)
            values[i] = recent(pace, b * BLOCK + i);
        medians[b] = median(values, BLOCK);
        mean += medians[b] / blocks;
    }
    for (uint32_t b = 0; b < blocks; b++)
        squares += (medians[b] - mean) * (medians[b] - mean);
    return blocks < 2 ? 0 : sqrt(squares / (blocks * (blocks - 1)));
}

/* Whether the last SH_PACE_SHIFT steps are all on one side, farther away than `far`. */
static bool is_beyond(const sh_pace *pace, double at, double far)
{
    uint32_t slower = 0, faster = 0;
    for (uint32_t i = 0; i < SH_PACE_SHIFT; i++) {
        slower += recent(pace, i) - at > far;
        faster += at - recent(pace, i) > far;
    }
    return slower == SH_PACE_SHIFT || faster == SH_PACE_SHIFT;
}

void sh_pace_note_grains(sh_pace *pace, double grains, double lane_seconds)
{
    pace->idle = grains > 0 ? 0 : pace->idle + 1;
    if (!(grains > 0) || !(lane_seconds > 0))
        return;
    if (!pace->begun) {
        pace->begun = true;
        return;
    }
    const double x = log(lane_seconds / grains);
    const uint64_t place = pace->noted % SH_PACE_WINDOW;
    pace->jump[place] = pace->noted > 0 ? fabs(x - recent(pace, 0)) : 0;
    pace->grain_s[place] = x;
    pace->noted++;
    if (pace->steady < SH_PACE_WINDOW)
        pace->steady++;
    if (pace->steady < 2 * SH_PACE_SHIFT)
        return;
    const double at = level(pace, SH_PACE_SHIFT);
    if (is_beyond(pace, at, LEAST_SHIFT) &&
        is_beyond(pace, at, SHIFT_NOISES * noise_of_jumps(pace)))
        pace->steady = SH_PACE_SHIFT;
}

void sh_pace_note_step(sh_pace *pace, double seconds)
{
    pace->step_s[pace->steps++ % SH_PACE_STEPS] = seconds;
}

sh_speed sh_pace_speed(const sh_pace *pace, uint32_t lanes)
{
    sh_speed speed = {0};
    if (pace->steps > 0) {
        double values[SH_PACE_STEPS];
        const uint32_t count = pace->steps < SH_PACE_STEPS ? (uint32_t)pace->steps : SH_PACE_STEPS;
        for (uint32_t i = 0; i < count; i++)
            values[i] = pace->step_s[i];
        speed.step_s = (float)median(values, count);
    }
    if (pace->noted < LEAST_STEPS)
        return speed;
    const double at = level(pace, 0);
    const double noise = fmax(noise_of_jumps(pace), noise_of_level(pace, at));
    speed.rate = (float)(lanes * exp(SH_PACE_HOPE * pace->idle - at));
    const double error = fmax(OF_MEDIAN * noise / sqrt(pace->steady), error_of_blocks(pace));
    speed.error = (float)fmax(LEAST_ERROR, error);
    return speed;
}

static bool is_far(float a, float b)
{
    return fabsf(a - b) > (float)TOLD_SHIFT * fmaxf(a, b);
}

bool sh_speed_differs(const sh_speed *before, const sh_speed *after)
{
    return is_far(before->rate, after->rate) || is_far(before->step_s, after->step_s);
}
