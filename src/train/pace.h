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
 * The module reads no clock, and the estimates do not affect the weights.
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
    float rate;   /* grains/s of all lanes together, if each has a grain */
    float error;  /* relative standard error of the rate */
    float step_s; /* seconds of a whole step, including the network's time */
} sh_speed;

/* Zero initially. Arrays are rings: number n is at n % length. */
typedef struct sh_pace {
    uint64_t noted;  /* steps with noted grains, without the first one */
    uint32_t steady; /* number of latest steps with the same speed, as far as detected */
    bool begun;
    uint32_t idle;                  /* consecutive steps without grains, up to now */
    double grain_s[SH_PACE_WINDOW]; /* logarithm of a lane's seconds per grain */
    double jump[SH_PACE_WINDOW];    /* |difference| between consecutive logarithms */
    uint64_t steps;
    double step_s[SH_PACE_STEPS];
} sh_pace;

/*
 * Notes the time that the lanes took together to compute `grains` grains. Ignores the first step,
 * which meets cold memory and untouched pages, and steps with a time of 0. Without grains the speed
 * may change unnoticed: the reported rate grows by a factor of exp(SH_PACE_HOPE) with each such
 * step, until the device computes grains again and is measured.
 */
void sh_pace_note_grains(sh_pace *pace, double grains, double lane_seconds);

/* Notes the duration of a whole step. */
void sh_pace_note_step(sh_pace *pace, double seconds);

/* The rate and its error, from the sixth noted step on: medians, see pace.c. */
sh_speed sh_pace_speed(const sh_pace *pace, uint32_t lanes);

/* True if two speeds differ enough to report the new one. */
bool sh_speed_differs(const sh_speed *before, const sh_speed *after);

#endif
