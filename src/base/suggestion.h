/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the known name that a mistyped one meant.
 *
 *     sh_suggestion meant = {.typed = "trian"};
 *     sh_suggestion_offer(&meant, "train");
 *     sh_suggestion_offer(&meant, "join");
 *     meant.name;                              // "train"; NULL if none is near
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_BASE_SUGGESTION_H
#define SHOAL_BASE_SUGGESTION_H

#include <stddef.h>

typedef struct sh_suggestion {
    const char *typed;
    const char *name; /* the nearest so far, borrowed from the caller, or NULL */
    size_t distance;
} sh_suggestion;

/* The first of equally near names wins. */
void sh_suggestion_offer(sh_suggestion *suggestion, const char *name);

#endif
