/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the next block to request from a source: blocks that a reader waits for, then those to be
 * read soon, then the rest in order. Pure: no clock, no sockets.
 *
 *     for each missing block: sh_fetch_need(fetch, block, SH_FETCH_LATER);
 *     while (sh_fetch_next(&block, fetch, source)) ask(source, block);
 *     ...answer:     sh_fetch_done(fetch, block), or sh_fetch_refuse(fetch, block, source);
 *
 * A needed block is waiting, asked of one source, or done: never forgotten, nor asked for twice
 * unless a source is slow (sh_fetch_retry).
 *
 * Threads: the caller locks. Sources are numbers below SH_FETCH_SOURCES.
 */
#ifndef SHOAL_DATA_FETCH_H
#define SHOAL_DATA_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_FETCH_SOURCES 64

typedef enum sh_fetch_level {
    SH_FETCH_NOW,
    SH_FETCH_SOON,
    SH_FETCH_LATER,
    SH_FETCH_LEVELS,
} sh_fetch_level;

typedef struct sh_fetch sh_fetch;

/* For blocks 0 .. blocks - 1, none of which is needed yet. */
sh_status sh_fetch_new(sh_fetch **fetch, uint32_t blocks) SHOAL_CHECKED;

/* Marks a block as needed, or more urgent. Ignores lower urgency and done blocks. Within a level,
 * the order of calls counts. */
void sh_fetch_need(sh_fetch *fetch, uint32_t block, sh_fetch_level level);

/* Marks the next block as asked of `source`. False if `source` has refused all waiting blocks. */
bool sh_fetch_next(uint32_t *block, sh_fetch *fetch, uint32_t source);

/* Whether a block waits in NOW or SOON. */
bool sh_fetch_is_urgent(const sh_fetch *fetch);

/* Unanswered requests to `source`. */
uint32_t sh_fetch_asked(const sh_fetch *fetch, uint32_t source);

/* A correct block arrived from any source: it is never asked for again. */
void sh_fetch_done(sh_fetch *fetch, uint32_t block);

/* `source` lacks the block or sent wrong bytes: the block moves to the front of its level, for
 * others. */
void sh_fetch_refuse(sh_fetch *fetch, uint32_t block, uint32_t source);

/* The answer is late: the block may be asked again of any source. */
void sh_fetch_retry(sh_fetch *fetch, uint32_t block);

/* The source's requests wait again, its refusals are dropped, its number may be reused. */
void sh_fetch_remove_source(sh_fetch *fetch, uint32_t source);

/* Finds the most urgent waiting block refused by all `sources` (bit i: source i); with none, any
 * waiting block. */
bool sh_fetch_stuck(uint32_t *block, const sh_fetch *fetch, uint64_t sources);

void sh_fetch_clear_refusals(sh_fetch *fetch);

/* Counts needed blocks, asked for or not. */
uint32_t sh_fetch_left(const sh_fetch *fetch);

void sh_fetch_free(sh_fetch *fetch);

#endif
