/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of the distributions that augmentation needs, made of IEEE operations alone.
 *
 *     const double factor = sh_chance_uniform(&random, 0.8, 1.2);
 *     const double noise = 0.1 * sh_chance_normal(&random);
 *
 * Threads: any; a sequence belongs to its caller.
 */
#ifndef SHOAL_DATA_AUGMENT_CHANCE_H
#define SHOAL_DATA_AUGMENT_CHANCE_H

#include <stdbool.h>

#include "base/random.h"

/* Uniform from `least` to `most`, 24 bits. */
double sh_chance_uniform(sh_random *random, double least, double most);

/* True as often as this. */
bool sh_chance_happens(sh_random *random, double probability);

/* Standard normal: the polar method (G. Marsaglia, T. Bray, SIAM Review 6, 1964). */
double sh_chance_normal(sh_random *random);

/* Beta(a, a), a from 0.05 to 10, by two gamma numbers (G. Marsaglia, W. W. Tsang: "A simple method
 * for generating gamma variables", 2000). */
double sh_chance_beta(sh_random *random, double a);

#endif
