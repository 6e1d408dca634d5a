/* SPDX-License-Identifier: Apache-2.0 */
#include "train/sum_check.h"

#include <string.h>

#define TILE 256 /* integers whose keys are made at a time */

/* The keys of a place, one byte each: the finalizer of SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t keys_at(uint32_t key, uint64_t place)
{
    uint64_t x = (((uint64_t)key << 32) | (key ^ 0x9e3779b9U)) + place * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/* An integer of `bytes` bytes, without its sign: the bits above are shifted out later. */
static uint64_t integer_at(const unsigned char *at, uint32_t bytes)
{
    uint64_t wide;
    uint32_t word;
    uint16_t half;
    switch (bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    case 4:
        memcpy(&word, at, sizeof word);
        return word;
    default:
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
}

void sh_sum_check_add(sh_sum_check *check, uint32_t key, uint64_t first, const void *integers,
                      uint64_t count, uint32_t bytes)
{
    const unsigned char *at = integers;
    uint64_t keys[TILE], values[TILE];
    for (uint64_t done = 0; done < count; done += TILE) {
        const uint64_t here = count - done < TILE ? count - done : TILE;
        for (uint64_t i = 0; i < here; i++, at += bytes) {
            keys[i] = keys_at(key, first + done + i);
            values[i] = integer_at(at, bytes) << (64 - 8 * bytes);
        }
        for (uint32_t w = 0; w < SH_SUM_CHECK_WORDS; w++) {
            uint64_t sum = 0;
            for (uint64_t i = 0; i < here; i++)
                sum += (keys[i] >> (8 * w) & 0xff) * values[i];
            check->words[w] += sum;
        }
    }
}

void sh_sum_check_merge(sh_sum_check *check, const sh_sum_check *other)
{
    for (uint32_t w = 0; w < SH_SUM_CHECK_WORDS; w++)
        check->words[w] += other->words[w];
}

bool sh_sum_check_equal(const sh_sum_check *one, const sh_sum_check *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}
