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

/* Fits the widest vector load and one cache line. */
#define SH_ALIGNMENT 64

static inline size_t sh_align_up(size_t bytes)
{
    return (bytes + SH_ALIGNMENT - 1) & ~(size_t)(SH_ALIGNMENT - 1);
}

/* *product = a * b; false on overflow. */
static inline bool sh_size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* A zeroed block aligned to SH_ALIGNMENT: owned, free() it. The failure message names `purpose`.
 * Large blocks use huge pages if possible. */
sh_status sh_block_new(void **block, size_t bytes, const char *purpose) SHOAL_CHECKED;

/* A large zeroed block from the system; only touched pages become resident, huge ones if possible.
 * Owned: sh_pages_free returns it at once. */
sh_status sh_pages_new(void **pages, size_t bytes, const char *purpose) SHOAL_CHECKED;
void sh_pages_free(void *pages, size_t bytes); /* NULL is fine; `bytes` as in sh_pages_new */

/* Returns unused heap memory and the resident pages of code and constants to the system. */
void sh_memory_trim(void);

/* Makes room for at least `need` items in a heap array (owned, free() it) by doubling. On failure
 * nothing changes. */
sh_status sh_array_grow(void **items, size_t *capacity, size_t need,
                        size_t item_bytes) SHOAL_CHECKED;

typedef struct sh_arena {
    struct sh_arena_chunk *chunks;
} sh_arena;

void sh_arena_init(sh_arena *arena);
void sh_arena_release(sh_arena *arena);

/* `count` zeroed items, borrowed until the arena is released. NULL if out of memory. */
void *sh_arena_take(sh_arena *arena, size_t count, size_t item_bytes);

/* A copy of `text`; same lifetime. NULL if out of memory. */
char *sh_arena_text(sh_arena *arena, const char *text);

#endif
