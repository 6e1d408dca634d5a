/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a device computes, from what its steps took: robust against single steps that something
 * else made long, and quick to see that it became another device.
 *
 *     sh_pace pace = {0};
 *     sh_pace_note_grains(&pace, grains, lane_seconds);   // each step
 *     sh_pace_note_step(&pace, step_seconds);
 *     const sh_speed speed = sh_pace_speed(&pace, lanes);
 *
 * There is no clock in it, and nothing of it reaches the weights. Threads: caller locks; a value.
 */
#ifndef SHOAL_TRAIN_PACE_H
#define SHOAL_TRAIN_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_PACE_WINDOW 64 /* steps that are remembered */
#define SH_PACE_SHIFT 4   /* steps in a row that show another speed */
#define SH_PACE_STEPS 8   /* whole steps that are remembered */
#define SH_PACE_HOPE 0.005

/* Zero says not known, in each. */
typedef struct sh_speed {
    float rate;   /* grains/s, all lanes together, while each has one */
    float error;  /* standard error of the rate, relative to it */
    float step_s; /* seconds of a whole step, the network's included */
} sh_speed;

/* Zeroed to begin with. Rings: number n stands in place n % length. */
typedef struct sh_pace {
    uint64_t noted;  /* steps whose grains were noted, the first one left out */
    uint32_t steady; /* the last so many were of one speed, as far as can be seen */
    bool begun;
    uint32_t idle;                  /* steps without grains since the last one with some */
    double grain_s[SH_PACE_WINDOW]; /* logarithm of a lane's seconds a grain */
    double jump[SH_PACE_WINDOW];    /* |difference| of two that follow each other */
    uint64_t steps;
    double step_s[SH_PACE_STEPS];
} sh_pace;

/*
 * What lanes took together to compute so many grains. The first step is left out: it meets cold
 * memory and pages that are not there yet. Nothing is noted without seconds. Without grains the
 * device may have another speed by now: the rate that is told grows by SH_PACE_HOPE with each such
 * step, until it is given grains again and the truth is seen.
 */
void sh_pace_note_grains(sh_pace *pace, double grains, double lane_seconds);

/* What a step took in all. */
void sh_pace_note_step(sh_pace *pace, double seconds);

/* Rate and error from the sixth noted step on: medians, see pace.c. */
sh_speed sh_pace_speed(const sh_pace *pace, uint32_t lanes);

/* Whether one speed is so far from another that whoever knows the old one should hear of it. */
bool sh_speed_differs(const sh_speed *before, const sh_speed *after);

#endif
