/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates a device's speed from the times of its steps. Single slow steps do not affect the
 * estimate, and a lasting change of speed is detected quickly.
 *
 *     sh_pace pace = {0};
 *     sh_pace_note_grains(&pace, grains, lane_seconds);   // each step
 *     sh_pace_note_step(&pace, step_seconds);
 *     const sh_speed speed = sh_pace_speed(&pace, lanes);
 *
 * The estimates do not affect the weights.
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_TRAIN_PACE_H
#define SHOAL_TRAIN_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_PACE_WINDOW 64 /* steps in the window */
#define SH_PACE_SHIFT 4   /* consecutive steps that show a new speed */
#define SH_PACE_STEPS 8   /* whole steps in their window */
#define SH_PACE_HOPE 0.005

/* Zero means unknown, in each member. */
typedef struct sh_speed {
    float rate;   /* grains/s of all lanes, if each has a grain */
    float error;  /* relative standard error of the rate */
    float step_s; /* of a whole step, the network included */
} sh_speed;

/* Zero initially. Arrays are rings: number n is at n % length. */
typedef struct sh_pace {
    uint64_t noted;  /* steps with grains, without the first one */
    uint32_t steady; /* latest steps with the same speed, as far as detected */
    bool begun;
    uint32_t idle;                  /* latest steps without grains */
    double grain_s[SH_PACE_WINDOW]; /* log of a lane's seconds per grain */
    double jump[SH_PACE_WINDOW];    /* |difference| of consecutive logs */
    uint64_t steps;
    double step_s[SH_PACE_STEPS];
} sh_pace;

/*
 * Notes the time that the lanes took together for `grains` grains. Ignores the first step, which
 * meets cold memory, and steps with a time of 0. Without grains the speed may change unnoticed:
 * with each such step, the reported rate grows by a factor of exp(SH_PACE_HOPE).
 */
void sh_pace_note_grains(sh_pace *pace, double grains, double lane_seconds);

void sh_pace_note_step(sh_pace *pace, double seconds);

/* The rate and its error, from the sixth noted step on: medians, see pace.c. */
sh_speed sh_pace_speed(const sh_pace *pace, uint32_t lanes);

/* Whether two speeds differ enough to report the new one. */
bool sh_speed_differs(const sh_speed *before, const sh_speed *after);

#endif
