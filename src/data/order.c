/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyed bijection of [0, count) without memory: the generalised Feistel network of Black and
 * Rogaway, "Ciphers with arbitrary finite domains" (CT-RSA 2002), with cycle walking.
 *
 * A position is two digits of radices a = ceil(sqrt(n)) and b = ceil(n / a). Each round adds to one
 * digit, modulo its radix, a function of the other, and the digits swap roles. That is invertible,
 * so the rounds are a bijection of [0, a * b). Values of n or more are enciphered again; the cycle
 * returns to its start below n, so this ends. a * b < n + 2 * sqrt(n) + 1 makes second passes rare.
 *
 * The round function is Philox in sequence (seed, shuffle, epoch, round), at the block numbered by
 * the other digit. Theory requires four rounds; eight leave a margin for tiny domains.
 *
 * In a balanced order of K classes, shuffled position v is slot v / K of class v mod K. A class's
 * slots cycle through its samples, each cycle in its own order, by the same bijection with a key
 * from (seed, epoch, cycle, class).
 */
#include "data/order.h"

#include <assert.h>

#include "base/random.h"

#define ROUNDS 8 /* even: digits return to their places */

static uint32_t root_up(uint32_t number)
{
    uint32_t root = 0;
    for (uint32_t bit = 1u << 15; bit > 0; bit >>= 1)
        if ((uint64_t)(root + bit) * (root + bit) < number)
            root += bit;
    return root + 1;
}

void sh_order_init(sh_order *order, uint64_t seed, uint32_t epoch, uint32_t count)
{
    const uint32_t low = root_up(count);
    const uint64_t high = ((uint64_t)count + low - 1) / low;
    *order = (sh_order){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .epoch = epoch,
        .count = count,
        .radix = {low, (uint32_t)high},
    };
}

static uint64_t encipher(const sh_order *order, uint64_t value)
{
    uint32_t digit[2] = {(uint32_t)(value % order->radix[0]), (uint32_t)(value / order->radix[0])};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t changed = round & 1, other = changed ^ 1;
        const uint32_t counter[4] = {digit[other], SH_RANDOM_SHUFFLE, order->epoch, round};
        uint32_t block[4];
        sh_philox(counter, order->key, block);
        const uint32_t radix = order->radix[changed];
        const uint64_t sum = digit[changed] + (((uint64_t)block[0] * radix) >> 32);
        digit[changed] = (uint32_t)(sum < radix ? sum : sum - radix);
    }
    return (uint64_t)digit[1] * order->radix[0] + digit[0];
}

void sh_order_balance(sh_order *order, const sh_class_index *classes)
{
    order->classes = classes;
}

static uint32_t shuffle(const sh_order *order, uint32_t position)
{
    assert(position < order->count);
    uint64_t value = position;
    do
        value = encipher(order, value);
    while (value >= order->count);
    return (uint32_t)value;
}

static uint32_t balance(const sh_order *order, uint32_t value)
{
    const sh_class_index *index = order->classes;
    const uint32_t classes = sh_class_index_classes(index);
    /* The classes with an extra slot change with the epoch. */
    const uint32_t class = (uint32_t)(((uint64_t)value + order->epoch) % classes);
    const uint32_t slot = value / classes, count = sh_class_index_count(index, class);
    const uint32_t counter[4] = {class, SH_RANDOM_BALANCE, order->epoch, slot / count};
    uint32_t block[4];
    sh_philox(counter, order->key, block);
    sh_order own;
    sh_order_init(&own, (uint64_t)block[1] << 32 | block[0], order->epoch, count);
    return sh_class_index_sample(index, class, shuffle(&own, slot % count));
}

uint32_t sh_order_at(const sh_order *order, uint32_t position)
{
    const uint32_t value = shuffle(order, position);
    return order->classes == NULL ? value : balance(order, value);
}

uint32_t sh_order_key(const sh_order *order, uint32_t position)
{
    return order->classes == NULL ? sh_order_at(order, position) : position;
}

uint32_t sh_order_of_key(const sh_order *order, uint32_t key)
{
    return order->classes == NULL ? key : sh_order_at(order, key);
}
