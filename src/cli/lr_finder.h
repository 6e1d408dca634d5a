/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A learning-rate range test (L. Smith: "Cyclical learning rates for training neural networks",
 * WACV 2017). The rate grows exponentially; a good rate is where the loss falls most steeply. As in
 * fastai and Lightning, the loss is smoothed (exponential moving average, 0.98, bias-corrected),
 * and the test ends when it exceeds 4 times its minimum.
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

#define SH_LR_POINTS 1000 /* later points are ignored */

typedef struct sh_lr_point {
    double lr, loss, smoothed;
} sh_lr_point;

/* Initially zero. */
typedef struct sh_lr_finder {
    sh_lr_point points[SH_LR_POINTS];
    uint32_t count;
    double average, least; /* uncorrected average; minimum smoothed loss */
    bool diverged;         /* the last point exceeds 4 times `least`, or is not finite */
} sh_lr_finder;

/* True: the loss diverged and the test is over. */
bool sh_lr_finder_add(sh_lr_finder *finder, double lr, double loss);

/* The rate where the smoothed loss falls most steeply over the logarithm of the rate, before its
 * minimum. False: it never falls, or there are too few points. */
bool sh_lr_finder_suggest(double *lr, const sh_lr_finder *finder);

/* Prints a curve of `width` columns, limited to 20 .. 72, and the conclusions. */
void sh_lr_finder_print(const sh_lr_finder *finder, unsigned width, FILE *out);

/* {"suggested_lr", "diverged_lr", "points": [{"lr", "loss", "smoothed"}]}; NULL: out of memory. */
json_t *sh_lr_finder_json(const sh_lr_finder *finder);

#endif
