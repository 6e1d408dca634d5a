/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A learning-rate range test (L. Smith: "Cyclical learning rates for training neural networks",
 * WACV 2017): the rate rises exponentially from step to step; a good one lies where the loss falls
 * most steeply. As in fastai and Lightning the loss is smoothed (exponential moving average, 0.98,
 * corrected for its beginning), and the test ends when it exceeds 4 times the least.
 *
 *     sh_lr_finder finder = {.count = 0};
 *     if (sh_lr_finder_add(&finder, event->lr, event->step_loss))
 *         sh_stop_request(stop);
 *     sh_lr_finder_print(&finder, 72, stdout);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLI_LR_FINDER_H
#define SHOAL_CLI_LR_FINDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SH_LR_POINTS 1000 /* at most; later ones are left out */

typedef struct sh_lr_point {
    double lr, loss, smoothed;
} sh_lr_point;

/* Zeros are an empty one. */
typedef struct sh_lr_finder {
    sh_lr_point points[SH_LR_POINTS];
    uint32_t count;
    double average, least; /* before the correction; of the smoothed losses */
    bool diverged;         /* the last point is above 4 times the least, or not finite */
} sh_lr_finder;

/* Takes the loss of a step with this rate. True: it has diverged, the test is over. */
bool sh_lr_finder_add(sh_lr_finder *finder, double lr, double loss);

/* The rate where the smoothed loss falls most steeply over the logarithm of the rate, before its
 * minimum. False if it falls nowhere, or there are too few points. */
bool sh_lr_finder_suggest(double *lr, const sh_lr_finder *finder);

/* A curve of `width` columns and what follows from it. */
void sh_lr_finder_print(const sh_lr_finder *finder, unsigned width, FILE *out);

/* {"suggested_lr", "diverged_lr", "points": [{"lr", "loss", "smoothed"}]}; NULL where memory is
 * out. */
json_t *sh_lr_finder_json(const sh_lr_finder *finder);

#endif
