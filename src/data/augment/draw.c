/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/draw.h"

#include <math.h>

#include "base/real.h"

double sh_draw_uniform(sh_random *random, double least, double most)
{
    return least + (most - least) * (double)sh_random_unit(random);
}

bool sh_draw_bernoulli(sh_random *random, double probability)
{
    return (double)sh_random_unit(random) < probability;
}

double sh_draw_normal(sh_random *random)
{
    for (;;) {
        const double u = sh_draw_uniform(random, -1, 1), v = sh_draw_uniform(random, -1, 1);
        const double s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * sqrt(-2 * sh_real_log(s) / s);
    }
}

/* Uniform, excluding 0 and 1. */
static double inner_uniform(sh_random *random)
{
    return ((double)sh_random_next(random) + 0.5) * 0x1p-32;
}

static double draw_gamma(sh_random *random, double shape)
{
    if (shape < 1) {
        const double larger = draw_gamma(random, shape + 1);
        return larger * sh_real_exp(sh_real_log(inner_uniform(random)) / shape);
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = sh_draw_normal(random), root = 1 + c * x, v = root * root * root;
        const double u = inner_uniform(random);
        if (root > 0 && sh_real_log(u) < x * x / 2 + d * (1 - v + sh_real_log(v)))
            return d * v;
    }
}

double sh_draw_beta(sh_random *random, double a)
{
    const double x = draw_gamma(random, a), y = draw_gamma(random, a);
    return x / (x + y);
}
