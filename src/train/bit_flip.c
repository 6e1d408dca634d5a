/* SPDX-License-Identifier: Apache-2.0 */
#include "train/bit_flip.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define VARIABLE "SHOAL_TEST_FLIP"
#define FIRST_GRAIN "first-grain"
#define GIFT "gift"
#define LIE "lie/"
#define BIT 22 /* the highest fraction bit of a float: a large change, but finite */

sh_status sh_bit_flip_arm(sh_bit_flip *flip, const char *device)
{
    const char *text = getenv(VARIABLE);
    const char *at = text == NULL ? NULL : strrchr(text, '@');
    *flip = (sh_bit_flip){0};
    if (text == NULL || strcmp(text, FIRST_GRAIN) == 0)
        return SH_OK;
    char *end = NULL;
    const bool lies = at != NULL && strncmp(at + 1, LIE, strlen(LIE)) == 0;
    const char *number = lies ? at + 1 + strlen(LIE) : at == NULL ? "" : at + 1;
    const unsigned long long steps =
        number[0] >= '0' && number[0] <= '9' ? strtoull(number, &end, 10) : 0;
    const bool sticks = end != NULL && strcmp(end, "+") == 0;
    const bool in_transfers = at != NULL && strcmp(at + 1, GIFT) == 0;
    if (!in_transfers && (end == NULL || (*end != '\0' && !sticks)))
        return sh_fail(
            SH_INVALID,
            VARIABLE " '%.64s': must be DEVICE@STEPS, such as laptop@12, or " FIRST_GRAIN, text);
    const size_t length = (size_t)(at - text);
    if (strlen(device) == length && memcmp(device, text, length) == 0)
        *flip = (sh_bit_flip){.armed = !in_transfers && !lies,
                              .steps = steps,
                              .sticks = sticks,
                              .in_transfers = in_transfers,
                              .lies_every = lies ? (uint32_t)steps : 0};
    return SH_OK;
}

void sh_bit_flip_when_due(sh_bit_flip *flip, sh_replica *replica)
{
    if (!flip->armed || (replica->steps != flip->steps && !flip->stuck))
        return;
    const size_t place = replica->weight_count / 2;
    uint32_t bits;
    flip->armed = flip->sticks;
    sh_replica_lock(replica);
    memcpy(&bits, replica->weights + place, sizeof bits);
    if (!flip->stuck)
        flip->value = ~bits & (uint32_t)1 << BIT;
    bits = (bits & ~((uint32_t)1 << BIT)) | flip->value;
    flip->stuck = flip->sticks;
    memcpy(replica->weights + place, &bits, sizeof bits);
    sh_replica_unlock(replica);
    sh_log(SH_LOG_WARN, "test.flipped", "steps=%llu weight=%zu bit=%d",
           (unsigned long long)replica->steps, place, BIT);
}

bool sh_bit_flip_lies(const sh_bit_flip *flip, uint64_t steps)
{
    return flip->lies_every != 0 && (steps + 1) % flip->lies_every == 0;
}

void sh_bit_flip_first_grain(char hex[SH_DIGEST_TEXT])
{
    const char *text = getenv(VARIABLE);
    if (text != NULL && strcmp(text, FIRST_GRAIN) == 0)
        hex[0] = hex[0] == '0' ? '1' : '0';
}
