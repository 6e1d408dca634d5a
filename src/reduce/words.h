/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A span in parts of its own words, for engines that treat each part apart, and where what comes
 * from others goes.
 *
 *     const sh_stretch part = sh_words_part(span, 2, 5);         // the third of five
 *     *sink = sh_words_add(&part, span->word, part.own);         // total = own + what arrives
 *
 * Threads: any; values.
 */
#ifndef SHOAL_REDUCE_WORDS_H
#define SHOAL_REDUCE_WORDS_H

#include "net/sink.h"
#include "reduce/engine.h"

/* Consecutive words of a span, in both of its blocks; borrowed as the span is. */
typedef struct sh_stretch {
    const void *own;
    void *total;
    size_t bytes;
} sh_stretch;

/* Bytes of a word. */
size_t sh_words_bytes(sh_word word);

/*
 * Part `index` of `parts`, which follow each other and differ by a word at most. Where there are
 * fewer words than parts some are empty; part 0 has word 0 wherever there is one.
 */
sh_stretch sh_words_part(const sh_span *span, uint32_t index, uint32_t parts);

/* What arrives is stored in the total. */
sh_sink sh_words_store(const sh_stretch *part);

/* What arrives and `base` (the part's own block, or its total) are added up in the total. */
sh_sink sh_words_add(const sh_stretch *part, sh_word word, const void *base);

#endif
