/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns places to prepared weights: parameters converted to the layouts that kernels need. All
 * programs of a model share one block of memory, with one place for each parameter and layout.
 *
 *     SH_TRY(sh_prepared_new(&prepared, false));
 *     SH_TRY(sh_program_compile_with(&train, train_graph, kernels, prepared));
 *     SH_TRY(sh_block_new(&shared, sh_prepared_bytes(prepared), "prepared weights"));
 *     sh_prepared_free(prepared);
 *
 * The graphs must declare the same parameters in the same order. Each program prepares all places
 * that it reads.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BACKEND_PREPARED_H
#define SHOAL_BACKEND_PREPARED_H

#include <stdint.h>

#include "backend/layout.h"
#include "base/memory.h"

typedef struct sh_prepared sh_prepared;

/*
 * If `on_demand`, programs add no places: each grain converts a parameter in lane memory right
 * before a kernel reads it. That takes less memory and more time; results have the same bits.
 */
sh_status sh_prepared_new(sh_prepared **prepared, bool on_demand) SHOAL_CHECKED;
void sh_prepared_free(sh_prepared *prepared);

/* Size of the block for the programs compiled so far. */
size_t sh_prepared_bytes(const sh_prepared *prepared);

/* The rest is for the compiler. */

bool sh_prepared_on_demand(const sh_prepared *prepared);

/* The arena of packings, with which later packings are compared. Borrowed. */
sh_arena *sh_prepared_descriptions(sh_prepared *prepared);

/* Returns the offset and number of a parameter's place in a layout; adds one if needed. */
sh_status sh_prepared_place(sh_prepared *prepared, size_t *offset, uint32_t *number,
                            uint32_t parameter, const sh_layout *layout) SHOAL_CHECKED;

/* Adds a place that no other program uses; returns its offset. */
size_t sh_prepared_append(sh_prepared *prepared, size_t bytes);

#endif
