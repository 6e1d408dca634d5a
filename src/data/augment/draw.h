/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of the distributions used by augmentation, computed with IEEE operations only.
 *
 *     const double factor = sh_draw_uniform(&random, 0.8, 1.2);
 *     const double noise = 0.1 * sh_draw_normal(&random);
 *
 * Threads: any, each with its own `random`.
 */
#ifndef SHOAL_DATA_AUGMENT_DRAW_H
#define SHOAL_DATA_AUGMENT_DRAW_H

#include <stdbool.h>

#include "base/random.h"

/* Uniform from `least` to `most`, with a resolution of 24 bits. */
double sh_draw_uniform(sh_random *random, double least, double most);

bool sh_draw_bernoulli(sh_random *random, double probability);

/* Standard normal, by the polar method (G. Marsaglia, T. Bray, SIAM Review 6, 1964). */
double sh_draw_normal(sh_random *random);

/* Beta(a, a) for a from 0.05 to 10, from two gamma variates (G. Marsaglia, W. W. Tsang: "A simple
 * method for generating gamma variables", 2000). */
double sh_draw_beta(sh_random *random, double a);

#endif
