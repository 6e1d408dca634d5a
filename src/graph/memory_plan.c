/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/memory_plan.h"

#include <stdbool.h>

#include "base/memory.h"

#define UNPLACED SIZE_MAX

static bool live_together(const sh_block_plan *a, const sh_block_plan *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The largest block without a place; ties go to the first in the list. */
static size_t largest_unplaced(const sh_block_plan *blocks, size_t count)
{
    size_t found = count;
    for (size_t i = 0; i < count; i++)
        if (blocks[i].offset == UNPLACED &&
            (found == count || blocks[i].bytes > blocks[found].bytes))
            found = i;
    return found;
}

/* The lowest offset where `block` meets no placed block of its time: move up until nothing is in
 * the way. */
static size_t lowest_free(const sh_block_plan *blocks, size_t count, const sh_block_plan *block)
{
    size_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const sh_block_plan *other = &blocks[i];
            if (other->offset == UNPLACED || other->bytes == 0 || !live_together(block, other))
                continue;
            if (offset < other->offset + other->bytes && other->offset < offset + block->bytes) {
                offset = sh_align_up(other->offset + other->bytes);
                moved = true;
            }
        }
    }
    return offset;
}

size_t sh_memory_plan(sh_block_plan *blocks, size_t count)
{
    size_t arena = 0;
    for (size_t i = 0; i < count; i++)
        blocks[i].offset = UNPLACED;
    for (size_t placed = 0; placed < count; placed++) {
        sh_block_plan *block = &blocks[largest_unplaced(blocks, count)];
        const size_t offset = block->bytes == 0 ? 0 : lowest_free(blocks, count, block);
        block->offset = offset;
        if (offset + block->bytes > arena)
            arena = offset + block->bytes;
    }
    return sh_align_up(arena);
}
