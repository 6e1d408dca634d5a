/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked sizes, aligned blocks and arenas.
 *
 *     sh_arena arena;
 *     sh_arena_init(&arena);
 *     entry *entries = sh_arena_take(&arena, count, sizeof *entries);   // zeroed, or NULL
 *     sh_arena_release(&arena);                                         // everything at once
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BASE_MEMORY_H
#define SHOAL_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/* Enough for the widest vector load and for one cache line. */
#define SH_ALIGNMENT 64

/* Rounds up to a multiple of SH_ALIGNMENT. */
static inline size_t sh_align_up(size_t bytes)
{
    return (bytes + SH_ALIGNMENT - 1) & ~(size_t)(SH_ALIGNMENT - 1);
}

/* *product = a * b; false where it does not fit. */
static inline bool sh_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/*
 * A zeroed block aligned to SH_ALIGNMENT: owned, free() it. `purpose` is named in the failure.
 * Large ones lie in huge pages where the system has them.
 */
sh_status sh_block_new(void **block, size_t bytes, const char *purpose) SHOAL_CHECKED;

/*
 * A zeroed block straight from the system, of which only what is touched becomes resident: for
 * large ones, in huge pages where there are any. Owned: sh_pages_free it, which gives it back at
 * once.
 */
sh_status sh_pages_new(void **pages, size_t bytes, const char *purpose) SHOAL_CHECKED;
void sh_pages_free(void *pages, size_t bytes); /* NULL is fine; `bytes` as it was made with */

/*
 * Gives back to the system, where it can, what the heap holds without use and the resident pages of
 * code and constants. A page that is used again comes back from the system's cache of files; a page
 * that only the start has used does not.
 */
void sh_memory_trim(void);

/*
 * Makes room for at least `need` items in an array on the heap (owned, free() it). Doubles, so
 * appending is linear. On failure nothing changed.
 */
sh_status sh_array_grow(void **items, size_t *capacity, size_t need,
                        size_t item_bytes) SHOAL_CHECKED;

typedef struct sh_arena {
    struct sh_arena_chunk *chunks;
} sh_arena;

void sh_arena_init(sh_arena *arena);
void sh_arena_release(sh_arena *arena);

/* `count` zeroed items: borrowed until the arena is released. NULL where memory is out. */
void *sh_arena_take(sh_arena *arena, size_t count, size_t item_bytes);

/* A copy of `text`; same lifetime. NULL where memory is out. */
char *sh_arena_text(sh_arena *arena, const char *text);

#endif
