/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placed blocks are sorted by offset, so one pass over them finds the lowest gap for the next
 * block. n blocks take about n * n / 2 comparisons per order: 2 million for 2,000 buffers.
 */
#include "graph/memory_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { BY_SIZE, BY_LIFETIME, BY_AREA, BY_FIRST_USE, BY_LAST_USE, ORDERS };

typedef struct candidate {
    sh_block_plan block;
    size_t index;
    double key; /* sort key of the current order */
} candidate;

static double key_of(const sh_block_plan *block, int order)
{
    const double life = (double)(block->last - block->first) + 1;
    switch (order) {
    case BY_LIFETIME: /* longest-lived ones at the bottom, short-lived ones above */
        return life;
    case BY_AREA:
        return (double)block->bytes * life;
    case BY_FIRST_USE:
        return -(double)block->first;
    case BY_LAST_USE:
        return (double)block->last;
    default:
        return 0;
    }
}

/* Descending by key, then by size, then ascending by index. */
static int compare(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->block.bytes != b->block.bytes)
        return a->block.bytes > b->block.bytes ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* `placed` is sorted by offset. */
static size_t lowest_free(sh_block_plan *const *placed, size_t count, const sh_block_plan *block)
{
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        const sh_block_plan *other = placed[i];
        if (other->offset >= offset + block->bytes)
            break;
        const size_t end = sh_align_up(other->offset + other->bytes);
        const bool together = block->first <= other->last && other->first <= block->last;
        if (end > offset && together)
            offset = end;
    }
    return offset;
}

/* Returns the arena's bytes. `placed` is scratch space for `count` pointers. */
static size_t place_all(candidate *blocks, size_t count, sh_block_plan **placed)
{
    size_t arena = 0;
    for (size_t i = 0, used = 0; i < count; i++) {
        sh_block_plan *block = &blocks[i].block;
        block->offset = 0;
        if (block->bytes == 0)
            continue;
        block->offset = lowest_free(placed, used, block);
        if (block->offset + block->bytes > arena)
            arena = block->offset + block->bytes;
        size_t at = used++;
        for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = block;
    }
    return sh_align_up(arena);
}

sh_status sh_memory_plan(size_t *arena_bytes, sh_block_plan *blocks, size_t count)
{
    candidate *list = calloc(count + 1, sizeof *list);
    sh_block_plan **placed = calloc(count + 1, sizeof *placed);
    size_t best = SIZE_MAX;
    if (list == NULL || placed == NULL) {
        free(list);
        free(placed);
        return sh_fail_memory(count * sizeof *list, "the memory plan");
    }
    for (int order = 0; order < ORDERS; order++) {
        for (size_t i = 0; i < count; i++)
            list[i] = (candidate){blocks[i], i, key_of(&blocks[i], order)};
        qsort(list, count, sizeof *list, compare);
        const size_t arena = place_all(list, count, placed);
        if (arena >= best)
            continue;
        best = arena;
        for (size_t i = 0; i < count; i++)
            blocks[list[i].index].offset = list[i].block.offset;
    }
    free(list);
    free(placed);
    *arena_bytes = best;
    return SH_OK;
}
