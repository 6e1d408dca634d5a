/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/blame.h"

static bool said_wrong(const sh_blame_word *word, uint64_t check)
{
    return word->there && word->said != 0 && word->said != check;
}

static bool imagined(const sh_blame_word *word, uint64_t check, uint32_t devices)
{
    return word->there && word->differed && word->total == devices * check;
}

/* Counts the words with this total. */
static uint32_t agreeing(const sh_blame_word *words, uint32_t count, uint64_t total)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < count; i++)
        equal += words[i].differed && words[i].total == total;
    return equal;
}

uint32_t sh_blame_find(bool *odd, const sh_blame_word *words, uint32_t count, uint64_t check,
                       uint32_t devices)
{
    uint32_t wrong = 0, imaginary = 0, passed = 0, differed = 0, most = 0, found = 0;
    for (uint32_t i = 0; i < count; i++) {
        wrong += said_wrong(&words[i], check);
        imaginary += imagined(&words[i], check, devices);
        passed += words[i].passed;
        differed += words[i].differed;
        if (words[i].differed && agreeing(words, count, words[i].total) > most)
            most = agreeing(words, count, words[i].total);
    }
    for (uint32_t i = 0; i < count; i++) {
        const sh_blame_word *word = &words[i];
        if (wrong > 0)
            odd[i] = said_wrong(word, check);
        else if (imaginary > 0)
            odd[i] = imagined(word, check, devices);
        else if (passed > 0 && passed != differed)
            odd[i] = passed > differed ? word->differed : word->passed;
        else
            odd[i] = 2 * most > differed && word->differed &&
                     agreeing(words, count, word->total) != most;
        found += odd[i];
    }
    return found;
}
