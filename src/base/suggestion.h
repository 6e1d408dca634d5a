/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which known name was meant by a mistyped one.
 *
 *     sh_suggestion meant = {.typed = "trian"};
 *     sh_suggestion_offer(&meant, "train");
 *     sh_suggestion_offer(&meant, "join");
 *     meant.name;                              // "train"; NULL where nothing is near
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_BASE_SUGGESTION_H
#define SHOAL_BASE_SUGGESTION_H

#include <stddef.h>

typedef struct sh_suggestion {
    const char *typed;
    const char *name; /* the nearest so far, borrowed from what was offered; NULL: none is near */
    size_t distance;  /* of `name` */
} sh_suggestion;

/* Offers a name that would have been right. Among equally near ones the first stays. */
void sh_suggestion_offer(sh_suggestion *suggestion, const char *name);

#endif
