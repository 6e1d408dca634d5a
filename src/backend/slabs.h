/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depth first: neighbouring instructions that go through their samples in order form a *group*. A
 * group runs slab by slab: all its instructions for a few samples, then for the next ones. What one
 * instruction writes, the next one still finds in the cache, and a value that only the group reads
 * needs memory for one slab.
 *
 *     SH_TRY(sh_slabs_form(program, SH_SLAB_BYTES));     // once all instructions are there
 *     ...                                                // buffers share blocks
 *     sh_slabs_stretch(program);                         // before blocks get their places
 *     SH_TRY(sh_slabs_arrange(program));                 // before it runs
 *
 * The order of operations within each instruction stays, so the bits do. For compiler.c.
 */
#ifndef SHOAL_BACKEND_SLABS_H
#define SHOAL_BACKEND_SLABS_H

#include "backend/program_impl.h"

/* Finds groups, whose slabs have about `bytes` of all values that go by sample. Nothing moves yet.
 */
sh_status sh_slabs_form(sh_program *program, size_t bytes) SHOAL_CHECKED;

/* No groups, with buffers as they were before. */
void sh_slabs_dissolve(sh_program *program);

/* What a group's instructions work on lives as long as the whole group runs. */
void sh_slabs_stretch(sh_program *program);

/* Puts what belongs to a group together: conversions go before it, sinks behind it. Lifetimes count
 * instructions as they were before. */
sh_status sh_slabs_arrange(sh_program *program) SHOAL_CHECKED;

#endif
