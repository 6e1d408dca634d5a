/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/chance.h"

#include <math.h>

#include "base/real.h"

double sh_chance_uniform(sh_random *random, double least, double most)
{
    return least + (most - least) * (double)sh_random_unit(random);
}

bool sh_chance_happens(sh_random *random, double probability)
{
    return (double)sh_random_unit(random) < probability;
}

double sh_chance_normal(sh_random *random)
{
    for (;;) {
        const double u = sh_chance_uniform(random, -1, 1), v = sh_chance_uniform(random, -1, 1);
        const double s = u * u + v * v;
        if (s > 0 && s < 1)
            return u * sqrt(-2 * sh_real_log(s) / s);
    }
}
