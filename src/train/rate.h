/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learning rate of a step: a pure function of the job, its steps an epoch and its steps in all,
 * with the same bits on every device.
 *
 *     sh_rate rate;
 *     SH_TRY(sh_rate_parse(&rate, "one-cycle:0.3", 2));   // --schedule, and --warmup 2
 *     const double lr = sh_rate_at(&rate, job.lr, &schedule, step);
 *
 * A schedule is text, and says what becomes of --lr; epochs are counted from 0 and those that are
 * complete count. All but the fraction of a cosine change at the end of an epoch; where a job's end
 * is given in steps, the cosines follow the steps.
 *
 *     constant                               --lr
 *     step:EPOCHS[,GAMMA]                    times GAMMA (0.1) after every EPOCHS epochs
 *     multistep:E1/E2/...[,GAMMA]            times GAMMA (0.1) after E1, after E2 ... epochs
 *     exponential:GAMMA[,FROM_EPOCH]         times GAMMA an epoch from FROM_EPOCH (1) on
 *     cosine[:FLOOR]                         down to FLOOR (0) times --lr over the whole job, a
 *                                            little with each step
 *     one-cycle[:PEAK[,DIV[,FINAL_DIV]]]     up from --lr / DIV (25) to --lr within the fraction
 *                                            PEAK (0.3) of all steps, then down to --lr / DIV /
 *                                            FINAL_DIV (1e4), both along cosines
 *
 *     range-test:SPAN                        up from --lr / SPAN to --lr, by the same factor from
 *                                            step to step; nothing is validated (--lr-find)
 *
 * All but the last are PyTorch's StepLR, MultiStepLR, ExponentialLR, CosineAnnealingLR and
 * OneCycleLR (two phases; the momentum is not cycled). GAMMA is above 0 and at most 1.
 *
 * Warm-up multiplies the scheduled rate by (s + 1) / W in step s = 0, 1, ... of the first W =
 * epochs * steps an epoch: linear, from almost nothing to the rate that is scheduled.
 *
 * Numbers are decimal with at most 15 digits and an exponent within +-22, so that one IEEE division
 * reads each correctly rounded, whatever the C library and the locale are.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_RATE_H
#define SHOAL_TRAIN_RATE_H

#include <stdbool.h>

#include "train/schedule.h"

#define SH_RATE_MAX_MILESTONES 16

struct sh_rate_form;

typedef struct sh_rate {
    const struct sh_rate_form *form; /* static storage */
    double warmup;                   /* epochs */
    double number[3];                /* of the form, those left out filled in */
    uint32_t milestones, milestone[SH_RATE_MAX_MILESTONES]; /* rising; multistep's alone */
} sh_rate;

/* SH_INVALID or SH_NOT_FOUND names the option, what is wrong with it and what may be written. */
sh_status sh_rate_parse(sh_rate *rate, const char *schedule, double warmup) SHOAL_CHECKED;

/* The learning rate of step number `step` of the job, from 0: between 0 and `lr`. */
double sh_rate_at(const sh_rate *rate, double lr, const sh_schedule *schedule, uint64_t step);

/* Whether the steps only measure rates, so that nothing is to be validated. */
bool sh_rate_is_test(const sh_rate *rate);

/* Whether it depends on where the job ends: then moving the end moves all rates. */
bool sh_rate_follows_end(const sh_rate *rate);

#endif
