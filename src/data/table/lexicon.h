/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of texts with numbers: the different values of a column, categories, classes.
 *
 *     sh_lexicon words = {0};
 *     SH_TRY(sh_lexicon_add(&words, &index, "red"));
 *     SH_TRY(sh_lexicon_sort(&words));
 *     if (sh_lexicon_find(&words, &index, "red"))
 *         one_hot[index] = 1;
 *     sh_lexicon_release(&words);
 *
 * Threads: finding any; the rest caller locks.
 */
#ifndef SHOAL_DATA_TABLE_LEXICON_H
#define SHOAL_DATA_TABLE_LEXICON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Zeroed is empty. Owned: sh_lexicon_release it. */
typedef struct sh_lexicon {
    char **texts; /* in the order of their numbers */
    uint32_t count;
    size_t capacity;
    uint32_t *slots; /* hash table: numbers + 1; 0: empty */
    size_t slot_count;
} sh_lexicon;

/* Adds a text (copied) unless it is there; `*number` is its own. */
sh_status sh_lexicon_add(sh_lexicon *words, uint32_t *number, const char *text) SHOAL_CHECKED;

/* False, and `*number` is untouched, where it is not there. */
bool sh_lexicon_find(const sh_lexicon *words, uint32_t *number, const char *text);

/* Numbers the texts in the order of their bytes, or of their values where all are numbers. */
sh_status sh_lexicon_sort(sh_lexicon *words) SHOAL_CHECKED;

/* Leaves an empty set. */
void sh_lexicon_release(sh_lexicon *words);

#endif
