/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#define PHILOX_ROUNDS 10
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u /* golden ratio */
#define PHILOX_W1 0xBB67AE85u /* sqrt(3) - 1 */

void sh_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
        const uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        const uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

sh_random sh_random_for(uint64_t seed, sh_random_purpose purpose, uint32_t a, uint32_t b)
{
    return (sh_random){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, (uint32_t)purpose, a, b},
        .used = 4,
    };
}

uint32_t sh_random_next(sh_random *random)
{
    if (random->used == 4) {
        sh_philox(random->counter, random->key, random->block);
        random->counter[0]++;
        random->used = 0;
    }
    return random->block[random->used++];
}

uint32_t sh_random_below(sh_random *random, uint32_t limit)
{
    /* Lemire's multiply-shift with rejection: "Fast random integer generation in an interval"
     * (2019). */
    uint64_t product = (uint64_t)sh_random_next(random) * limit;
    if ((uint32_t)product < limit) {
        const uint32_t threshold = -limit % limit;
        while ((uint32_t)product < threshold)
            product = (uint64_t)sh_random_next(random) * limit;
    }
    return (uint32_t)(product >> 32);
}

float sh_random_unit(sh_random *random)
{
    return (float)(sh_random_next(random) >> 8) * 0x1p-24f;
}
