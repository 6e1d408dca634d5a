/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places blocks of known lifetime in one arena. Blocks that are alive at the same time never
 * overlap; others may share memory.
 *
 *     sh_block_plan blocks[] = {{.bytes = 100, .first = 0, .last = 2}, ...};
 *     SH_TRY(sh_memory_plan(&arena_bytes, blocks, count));
 *
 * Threads: any.
 */
#ifndef SHOAL_GRAPH_MEMORY_PLAN_H
#define SHOAL_GRAPH_MEMORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_block_plan {
    size_t bytes;   /* in: 0 needs no memory */
    uint32_t first; /* in: time of the first use */
    uint32_t last;  /* in: time of the last use, inclusive */
    size_t offset;  /* out: a multiple of SH_ALIGNMENT */
} sh_block_plan;

/*
 * Sets the blocks' offsets and the size of the arena. Each block gets the lowest offset that is
 * free during its lifetime (Pisarchyk, Lee: "Efficient memory management for deep neural net
 * inference", 2020). The best of several orders of placement is used. SH_NO_MEMORY is the only
 * failure.
 */
sh_status sh_memory_plan(size_t *arena_bytes, sh_block_plan *blocks, size_t count) SHOAL_CHECKED;

#endif
