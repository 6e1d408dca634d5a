/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of words that engines sum; parts of a span, for engines that treat each part separately;
 * and the destination of received words.
 *
 *     const sh_stretch part = sh_words_part(span, 2, 5);         // the third of five
 *     *sink = sh_words_add(&part, span->word, part.own);         // total = own + received
 *
 * Threads: any; values.
 */
#ifndef SHOAL_REDUCE_WORDS_H
#define SHOAL_REDUCE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/sink.h"

typedef enum sh_word {
    SH_WORD_I32, /* added modulo 2^32 */
    SH_WORD_U64, /* added modulo 2^64 */
    SH_WORD_I16, /* added modulo 2^16 */
    SH_WORD_I8,  /* added modulo 2^8 */
} sh_word;

/*
 * Words that are reduced together; borrowed from begin until wait succeeded or the engine is
 * closed. The blocks do not overlap; for an engine of one device they are the same.
 */
typedef struct sh_span {
    const void *own; /* this device's part; the engine only reads it */
    void *total;     /* the sum over all devices */
    size_t count;
    sh_word word;
    bool gathered; /* at most one per round: `total` receives the own words of all others instead */
    size_t room;   /* if gathered: the number of these in all */
} sh_span;

/* Consecutive words of a span, in both blocks; borrowed like the span. */
typedef struct sh_stretch {
    const void *own;
    void *total;
    size_t bytes;
} sh_stretch;

/* Bytes of a word. */
size_t sh_words_bytes(sh_word word);

/*
 * Part `index` of `parts` consecutive parts, whose lengths differ by a word at most. With fewer
 * words than parts some are empty; part 0 has word 0 if there is one.
 */
sh_stretch sh_words_part(const sh_span *span, uint32_t index, uint32_t parts);

/* A sink that stores received words in the total. */
sh_sink sh_words_store(const sh_stretch *part);

/* A sink that stores received words plus `base` (the part's own block or total) in the total. */
sh_sink sh_words_add(const sh_stretch *part, sh_word word, const void *base);

#endif
