/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of numbered texts, such as the distinct values of a column, categories or classes.
 *
 *     sh_vocabulary words = {0};
 *     SH_TRY(sh_vocabulary_add(&words, &index, "red"));
 *     SH_TRY(sh_vocabulary_sort(&words));
 *     if (sh_vocabulary_find(&words, &index, "red"))
 *         one_hot[index] = 1;
 *     sh_vocabulary_release(&words);
 *
 * Threads: any for sh_vocabulary_find; for the rest the caller locks.
 */
#ifndef SHOAL_DATA_TABLE_VOCABULARY_H
#define SHOAL_DATA_TABLE_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Empty if zeroed. Owned. */
typedef struct sh_vocabulary {
    char **texts; /* by number; owned */
    uint32_t count;
    size_t capacity;
    uint32_t *slots; /* hash table of numbers + 1; 0 is empty */
    size_t slot_count;
} sh_vocabulary;

/* Adds a copy unless the text is present. Sets `*number` to its number. */
sh_status sh_vocabulary_add(sh_vocabulary *words, uint32_t *number, const char *text) SHOAL_CHECKED;

/* If the text is absent, returns false and does not set `*number`. */
bool sh_vocabulary_find(const sh_vocabulary *words, uint32_t *number, const char *text);

/* Renumbers the texts by value if all are numbers, otherwise by their bytes. */
sh_status sh_vocabulary_sort(sh_vocabulary *words) SHOAL_CHECKED;

/* Leaves an empty set. */
void sh_vocabulary_release(sh_vocabulary *words);

#endif
