/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which block to ask of whom next: what a reader waits for first, then what will be read soon, then
 * the rest in order. Pure: no clock, no sockets.
 *
 *     sh_fetch *fetch;
 *     SH_TRY(sh_fetch_new(&fetch, manifest->blocks));
 *     for each missing block: sh_fetch_need(fetch, block, SH_FETCH_LATER);
 *     while (sh_fetch_asked(fetch, source) < WINDOW && sh_fetch_next(&block, fetch, source))
 *         ask(source, block);
 *     ...answer:     if (sh_mirror_put(...) == SH_OK) sh_fetch_done(fetch, block);
 *                    else sh_fetch_refuse(fetch, block, source);       // ask somebody else
 *     ...connection lost: sh_fetch_lose(fetch, source);
 *
 * Every needed block is either waiting, asked of one source, or has come, so none is forgotten and
 * none is asked for twice, except where somebody was too slow (sh_fetch_retry).
 *
 * Threads: caller locks. Sources are numbers below SH_FETCH_SOURCES.
 */
#ifndef SHOAL_DATA_FETCH_H
#define SHOAL_DATA_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_FETCH_SOURCES 64

typedef enum sh_fetch_level {
    SH_FETCH_NOW,   /* a reader waits */
    SH_FETCH_SOON,  /* will be read soon */
    SH_FETCH_LATER, /* completes the copy */
    SH_FETCH_LEVELS,
} sh_fetch_level;

typedef struct sh_fetch sh_fetch;

/* For blocks 0 .. blocks - 1, of which none is needed yet. Owned: sh_fetch_free it. */
sh_status sh_fetch_new(sh_fetch **fetch, uint32_t blocks) SHOAL_CHECKED;

/* A block is needed, or needed more urgently than before. Less urgency changes nothing, and neither
 * does a block that has come. Blocks of one level are asked for in the order of the calls. */
void sh_fetch_need(sh_fetch *fetch, uint32_t block, sh_fetch_level level);

/* The next block to ask of `source`, which then counts as asked. False: nothing waits that this
 * source has not refused. */
bool sh_fetch_next(uint32_t *block, sh_fetch *fetch, uint32_t source);

/* Whether one that is needed now or soon waits to be asked for. */
bool sh_fetch_presses(const sh_fetch *fetch);

/* How many were asked of `source` and not answered. */
uint32_t sh_fetch_asked(const sh_fetch *fetch, uint32_t source);

/* It came, from whomever, and was right: it is never asked for again. */
void sh_fetch_done(sh_fetch *fetch, uint32_t block);

/* `source` does not have it, or sent something else: it is asked of others, before what came later
 * in its level. */
void sh_fetch_refuse(sh_fetch *fetch, uint32_t block, uint32_t source);

/* The answer does not come: it may be asked again of anybody. */
void sh_fetch_retry(sh_fetch *fetch, uint32_t block);

/* A source is gone: what was asked of it waits again, and what it refused is forgotten. Its number
 * is free for another. */
void sh_fetch_lose(sh_fetch *fetch, uint32_t source);

/*
 * Whether there is a needed block that all `sources` (bit i for source i) have refused; the most
 * urgent one goes to `block`. With no source at all, that is any.
 */
bool sh_fetch_stuck(uint32_t *block, const sh_fetch *fetch, uint64_t sources);

/* Sources that have refused a block may be asked for it again. */
void sh_fetch_forgive(sh_fetch *fetch);

/* How many are needed, asked for or not. */
uint32_t sh_fetch_left(const sh_fetch *fetch);

/* NULL is fine. */
void sh_fetch_free(sh_fetch *fetch);

#endif
