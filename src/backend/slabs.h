/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbouring instructions that process their samples in order form a *group*. A group runs slab
 * by slab: all its instructions for a few samples, then for the next ones. The results of an
 * instruction are still in the cache when the next one reads them. A value that only the group
 * reads needs memory for one slab only.
 *
 *     SH_TRY(sh_slabs_form(program, SH_SLAB_BYTES));     // after all instructions are added
 *     ...                                                // buffers share blocks
 *     sh_slabs_stretch(program);                         // before blocks get their places
 *     SH_TRY(sh_slabs_arrange(program));                 // before it runs
 *
 * Results have the same bits, because the order of operations in each instruction does not change.
 * For compiler.c.
 */
#ifndef SHOAL_BACKEND_SLABS_H
#define SHOAL_BACKEND_SLABS_H

#include "backend/program_impl.h"

/* Finds groups. A slab has at most about `bytes`, of all by-sample operands together. Does not move
 * instructions. */
sh_status sh_slabs_form(sh_program *program, size_t bytes) SHOAL_CHECKED;

/* Removes all groups. Does not restore the buffers. */
void sh_slabs_dissolve(sh_program *program);

/* Extends the lifetimes of blocks: one that begins in a group begins at its first instruction, and
 * one that ends in a group ends at its last. */
void sh_slabs_stretch(sh_program *program);

/* Makes the members of each group adjacent: moves conversions before the group and sinks after it.
 * Lifetimes keep the old instruction numbers. */
sh_status sh_slabs_arrange(sh_program *program) SHOAL_CHECKED;

#endif
