/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of labels: classifies a text and collects distinct texts in order.
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

/* Each kind includes all before it. */
typedef enum sh_label_kind {
    SH_LABEL_EMPTY,
    SH_LABEL_BIT,    /* 0 or 1 */
    SH_LABEL_WHOLE,  /* no sign, at most 18 digits */
    SH_LABEL_NUMBER, /* -3.5, 1e-3; in every locale */
    SH_LABEL_WORD,
    SH_LABEL_LIST, /* words separated by | */
} sh_label_kind;

sh_label_kind sh_label_kind_of(const char *text);

/* May differ from the nearest double in the last bit. False if the text is not a finite number. */
bool sh_label_number(double *number, const char *text);

/* Sets `*at` to the first byte of a list's next word and `*length` to its bytes without surrounding
 * blanks. False at the end. The caller adds `*length` to `*at` before the next call. */
bool sh_label_next(const char **at, size_t *length);

/* A set of texts, sorted by bytes, or by value after sh_label_names_sort if all are whole
 * numbers. */
typedef struct sh_label_names {
    const char **texts;
    size_t count, capacity;
    bool by_number;
    sh_arena arena;
} sh_label_names;

void sh_label_names_init(sh_label_names *names);
void sh_label_names_release(sh_label_names *names);

/* Copies a text into the set unless present. SH_LIMIT: more than SH_LABEL_NAMES_MOST. */
#define SH_LABEL_NAMES_MOST 65536
sh_status sh_label_names_add(sh_label_names *names, const char *text, size_t length) SHOAL_CHECKED;

/* Call it after the last addition. */
void sh_label_names_sort(sh_label_names *names);

/* The text must be in the set. */
uint32_t sh_label_names_find(const sh_label_names *names, const char *text, size_t length);

#endif
