/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels as they are written: what a text is, and the different texts in order.
 *
 *     sh_label_kind_of("indoor|night")             // SH_LABEL_LIST
 *     for (size_t length; sh_label_next(&at, &length); at += length)
 *         SH_TRY(sh_label_names_add(names, at, length));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_PHOTOS_LABEL_TEXT_H
#define SHOAL_DATA_PHOTOS_LABEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

/* Each takes in those before it. */
typedef enum sh_label_kind {
    SH_LABEL_EMPTY,
    SH_LABEL_BIT,    /* 0 or 1 */
    SH_LABEL_WHOLE,  /* a whole number, without a sign or up to 18 digits */
    SH_LABEL_NUMBER, /* -3.5, 1e-3: a point, whatever the locale */
    SH_LABEL_WORD,
    SH_LABEL_LIST, /* words parted by | */
} sh_label_kind;

sh_label_kind sh_label_kind_of(const char *text);

/* The nearest double, but for a last bit; false where the text is no finite number. */
bool sh_label_number(double *number, const char *text);

/* The next word of a list: `*at` goes to its first byte, without blanks; false where there is none.
 */
bool sh_label_next(const char **at, size_t *length);

/* Different texts, sorted by their bytes, or by number once sh_label_names_sort has been called and
 * all are whole numbers. */
typedef struct sh_label_names {
    const char **texts;
    size_t count, capacity;
    bool by_number;
    sh_arena arena;
} sh_label_names;

void sh_label_names_init(sh_label_names *names);
void sh_label_names_release(sh_label_names *names);

/* Copied where it is new. SH_LIMIT where there are more than SH_LABEL_NAMES_MOST. */
#define SH_LABEL_NAMES_MOST 65536
sh_status sh_label_names_add(sh_label_names *names, const char *text, size_t length) SHOAL_CHECKED;

/* When all are added. */
void sh_label_names_sort(sh_label_names *names);

/* The index of a text that was added. */
uint32_t sh_label_names_find(const sh_label_names *names, const char *text, size_t length);

#endif
