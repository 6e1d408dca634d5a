/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights in the layouts that kernels want: one block of memory for all programs of a model, in
 * which a parameter has one place for each layout, whichever programs ask for it.
 *
 *     SH_TRY(sh_prepared_new(&prepared, false));
 *     SH_TRY(sh_program_compile_with(&train, train_graph, prepared));
 *     SH_TRY(sh_program_compile_with(&evaluate, evaluate_graph, prepared));
 *     SH_TRY(sh_block_new(&shared, sh_prepared_bytes(prepared), "prepared weights"));
 *     sh_prepared_free(prepared);                        // once everything is compiled
 *
 * The graphs declare the same parameters in the same order. Each program prepares all that it reads
 * by itself, so only those need preparing that will run.
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
 * Nothing placed yet. `on_demand`: nothing ever will be; each grain converts a parameter in its own
 * memory right before a kernel reads it. The same bits, less memory, more time.
 */
sh_status sh_prepared_new(sh_prepared **prepared, bool on_demand) SHOAL_CHECKED;
void sh_prepared_free(sh_prepared *prepared); /* NULL is fine */

/* Bytes of the block, as far as programs have been compiled. */
size_t sh_prepared_bytes(const sh_prepared *prepared);

/* For the compiler. */

bool sh_prepared_on_demand(const sh_prepared *prepared);

/* Where packings are kept, so that a later program's can be compared with them. */
sh_arena *sh_prepared_descriptions(sh_prepared *prepared);

/* The place of a parameter in a layout, and its number among these places. */
sh_status sh_prepared_place(sh_prepared *prepared, size_t *offset, uint32_t *number,
                            uint32_t parameter, const sh_layout *layout) SHOAL_CHECKED;

/* A place for something that no other program has. */
size_t sh_prepared_append(sh_prepared *prepared, size_t bytes);

#endif
