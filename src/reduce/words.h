/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of words that engines sum; parts of a span, for engines that treat each part separately;
 * and the destination of received words.
 *
 *     const sh_stretch part = sh_words_part(span, 2, 5);         // the third of five
 *     *sink = sh_words_add(&part, span->word, part.own);         // total = own + received
 *
 * Threads: any.
 */
#ifndef SHOAL_REDUCE_WORDS_H
#define SHOAL_REDUCE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/sink.h"

typedef enum sh_word {
    SH_WORD_I32,
    SH_WORD_U64,
    SH_WORD_I16,
    SH_WORD_I8,
} sh_word;

/*
 * Borrowed from begin until wait succeeded or the engine is closed. Additions are modulo 2 to the
 * number of a word's bits. The blocks do not overlap; for an engine of one device they are the
 * same.
 */
typedef struct sh_span {
    const void *own; /* the engine only reads it */
    void *total;
    size_t count;
    sh_word word;
    bool gathered; /* at most one per round: `total` receives all others' own words */
    size_t room;   /* words of `total` if gathered */
} sh_span;

/* Consecutive words of a span, in both blocks; borrowed like the span. */
typedef struct sh_stretch {
    const void *own;
    void *total;
    size_t bytes;
} sh_stretch;

size_t sh_words_bytes(sh_word word);

/*
 * The lengths of parts differ by a word at most. With fewer words than parts some are empty; part 0
 * has word 0 if there is one.
 */
sh_stretch sh_words_part(const sh_span *span, uint32_t index, uint32_t parts);

/* Returns a sink that stores received words in the total. */
sh_sink sh_words_store(const sh_stretch *part);

/* The same, with `base` (the part's own block or total) added. */
sh_sink sh_words_add(const sh_stretch *part, sh_word word, const void *base);

#endif
