/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011). A number depends on its purpose, never on the state of a
 * stream, so it is the same whichever device draws it.
 *
 *     sh_random random = sh_random_for(seed, SH_RANDOM_SHUFFLE, epoch, 0);
 *     uint32_t card = sh_random_below(&random, 52);
 *
 * Threads: any; an sh_random belongs to its caller.
 */
#ifndef SHOAL_BASE_RANDOM_H
#define SHOAL_BASE_RANDOM_H

#include <stdint.h>

/* What a number is for. Results of training depend on the values: never renumber, only append. */
typedef enum sh_random_purpose {
    SH_RANDOM_SHUFFLE = 1, /* order of an epoch: (epoch, -) */
    SH_RANDOM_INITIAL = 2, /* initial weights: (tensor index, -) */
    SH_RANDOM_DIGITS = 3,  /* the built-in data: (split, sample index) */
    SH_RANDOM_TEST = 4,
    SH_RANDOM_AUGMENT = 5,  /* views of training samples: (epoch, sample index) */
    SH_RANDOM_DROPOUT = 6,  /* keys of a sample: (epoch, sample index) */
    SH_RANDOM_ROUNDING = 7, /* of a gradient: (step, grain), one block per tensor */
    SH_RANDOM_BALANCE = 8,  /* key of a class's order: (epoch, completed passes over the class) */
    SH_RANDOM_AUDIT = 9,    /* the circle of a recount */
} sh_random_purpose;

typedef struct sh_random {
    uint32_t key[2];
    uint32_t counter[4]; /* [0] counts blocks, [1..3] identify the sequence */
    uint32_t block[4];
    uint32_t used; /* words of `block` */
} sh_random;

void sh_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Different arguments give independent sequences. */
sh_random sh_random_for(uint64_t seed, sh_random_purpose purpose, uint32_t a, uint32_t b);

uint32_t sh_random_next(sh_random *random);

/* Uniform in [0, limit), without bias; limit > 0. */
uint32_t sh_random_below(sh_random *random, uint32_t limit);

/* Uniform in [0, 1), 24 bits, exact in float. */
float sh_random_unit(sh_random *random);

#endif
