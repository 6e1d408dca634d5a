/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of numbered texts, such as the distinct values of a column, categories or classes.
 *
 *     sh_lexicon words = {0};
 *     SH_TRY(sh_lexicon_add(&words, &index, "red"));
 *     SH_TRY(sh_lexicon_sort(&words));
 *     if (sh_lexicon_find(&words, &index, "red"))
 *         one_hot[index] = 1;
 *     sh_lexicon_release(&words);
 *
 * Threads: sh_lexicon_find is safe to call concurrently. For the rest, the caller locks.
 */
#ifndef SHOAL_DATA_TABLE_LEXICON_H
#define SHOAL_DATA_TABLE_LEXICON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* An empty set is all zeros. Owned: release it with sh_lexicon_release. */
typedef struct sh_lexicon {
    char **texts; /* by number; owned */
    uint32_t count;
    size_t capacity;
    uint32_t *slots; /* hash table of numbers + 1; 0 is empty */
    size_t slot_count;
} sh_lexicon;

/* Adds a copy of a text unless it is present. Sets `*number` to its number. */
sh_status sh_lexicon_add(sh_lexicon *words, uint32_t *number, const char *text) SHOAL_CHECKED;

/* Finds the number of a text. If it is absent, returns false and does not set `*number`. */
bool sh_lexicon_find(const sh_lexicon *words, uint32_t *number, const char *text);

/* Renumbers the texts by value if all are numbers, otherwise by their bytes. */
sh_status sh_lexicon_sort(sh_lexicon *words) SHOAL_CHECKED;

/* Frees all texts and leaves an empty set. */
void sh_lexicon_release(sh_lexicon *words);

#endif
