/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The learning rate of a step: a pure function of the job, its steps per epoch and its total steps.
 * It has the same bits on every device.
 *
 *     SH_TRY(sh_rate_parse(&rate, "one-cycle:0.3", 2));   // --schedule, and --warmup 2
 *     const double lr = sh_rate_at(&rate, job.lr, &schedule, step);
 *
 * A schedule defines the rate relative to --lr. `step`, `multistep` and `exponential` change the
 * rate at the end of an epoch; `cosine`, `one-cycle` and `range-test` depend on the step relative
 * to the job's total steps.
 *
 *     constant                               --lr
 *     step:EPOCHS[,GAMMA]                    times GAMMA (0.1) after every EPOCHS epochs
 *     multistep:E1/E2/...[,GAMMA]            times GAMMA (0.1) after E1, after E2 ... epochs
 *     exponential:GAMMA[,FROM_EPOCH]         times GAMMA per epoch, from FROM_EPOCH (1)
 *     cosine[:FLOOR]                         down to FLOOR (0) times --lr, along a cosine
 *     one-cycle[:PEAK[,DIV[,FINAL_DIV]]]     up from --lr / DIV (25) to --lr within the fraction
 *                                            PEAK (0.3) of all steps, then down to --lr / DIV /
 *                                            FINAL_DIV (1e4), both along cosines
 *     range-test:SPAN                        up from --lr / SPAN to --lr, by the same factor in
 *                                            each step; without validation (--lr-find)
 *
 * All but the last are PyTorch's StepLR, MultiStepLR, ExponentialLR, CosineAnnealingLR and
 * OneCycleLR (two phases; the momentum is not cycled). GAMMA is above 0 and at most 1.
 *
 * Warm-up lasts W = epochs * steps per epoch and multiplies the scheduled rate by (s + 1) / W in
 * step s = 0, 1, ...
 *
 * Numbers are decimal with at most 15 digits and an exponent within +-22, so one IEEE operation
 * converts them with correct rounding, independently of C library and locale.
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
    const struct sh_rate_form *form;                        /* static storage */
    double warmup;                                          /* epochs */
    double number[3];                                       /* parameters, defaults filled in */
    uint32_t milestones, milestone[SH_RATE_MAX_MILESTONES]; /* ascending; only for multistep */
} sh_rate;

/* The message of SH_INVALID, SH_LIMIT or SH_NOT_FOUND names the option, its fault and valid
 * forms. */
sh_status sh_rate_parse(sh_rate *rate, const char *schedule, double warmup) SHOAL_CHECKED;

/* The rate of the job's step `step`, from 0: between 0 and `lr`. */
double sh_rate_at(const sh_rate *rate, double lr, const sh_schedule *schedule, uint64_t step);

/* A range test needs no validation. */
bool sh_rate_is_test(const sh_rate *rate);

/* Whether the rates depend on the job's total steps. */
bool sh_rate_follows_end(const sh_rate *rate);

#endif
