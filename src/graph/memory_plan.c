/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placed blocks are held in the order of their offsets, so one walk over them finds the lowest gap
 * for the next block: n blocks take n * n / 2 looks an order, 2 million for a network of 2,000
 * buffers.
 */
#include "graph/memory_plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A block on its way, and where it stood in the caller's list. */
typedef struct candidate {
    sh_block_plan block;
    size_t index;
} candidate;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The largest first; of equals, here and below, the first in the list. */
static int by_size(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const int order = compare(b->block.bytes, a->block.bytes);
    return order != 0 ? order : compare(a->index, b->index);
}

/* Those that live longest at the bottom, so that the short-lived stack up and down above them. */
static int by_lifetime(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const int order = compare(b->block.last - b->block.first, a->block.last - a->block.first);
    return order != 0 ? order : by_size(left, right);
}

static int by_area(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const double a_area = (double)a->block.bytes * ((double)(a->block.last - a->block.first) + 1);
    const double b_area = (double)b->block.bytes * ((double)(b->block.last - b->block.first) + 1);
    const int order = (b_area > a_area) - (b_area < a_area);
    return order != 0 ? order : by_size(left, right);
}

static int by_first_use(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const int order = compare(a->block.first, b->block.first);
    return order != 0 ? order : by_size(left, right);
}

static int by_last_use(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    const int order = compare(b->block.last, a->block.last);
    return order != 0 ? order : by_size(left, right);
}

typedef int compare_fn(const void *left, const void *right);

static compare_fn *const orders[] = {by_size, by_lifetime, by_area, by_first_use, by_last_use};

/* The lowest offset where `block` meets none of the `count` placed blocks of its time, which are in
 * the order of their offsets. */
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

/* Places the blocks in the order in which they come; `placed` is room for as many. */
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
    for (size_t i = 0; i < count; i++)
        list[i] = (candidate){blocks[i], i};
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        qsort(list, count, sizeof *list, orders[o]);
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
