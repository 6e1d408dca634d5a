/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes on a table for the user: the "notes" of a source, one line each.
 *
 *     sh_names_add(&dropped, "Ticket");
 *     SH_TRY(sh_notes_add(notes, "left out: %s", sh_names_end(&dropped)));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_TABLE_NOTES_H
#define SHOAL_DATA_TABLE_NOTES_H

#include <jansson.h>
#include <stdint.h>

#include "base/fail.h"

/* A comma-separated list. Names that do not fit are only counted. Empty if zeroed. */
typedef struct sh_names {
    char text[512];
    size_t used;
    uint32_t count, left_out;
} sh_names;

void sh_names_add(sh_names *names, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends " and 17 more" if names did not fit. Borrowed from `names`. */
const char *sh_names_end(sh_names *names);

sh_status sh_notes_add(json_t *notes, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

#endif
