/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neighbouring instructions that process their samples in order form a *group*. A group runs slab
 * by slab: all its instructions for a few samples, then for the next ones. So the next instruction
 * finds results in the cache, and a value that only the group reads needs memory for one slab only.
 *
 *     SH_TRY(sh_slabs_form(program, SH_SLAB_BYTES));     // after all instructions are added
 *     ...                                                // buffers share blocks
 *     sh_slabs_stretch(program);                         // before blocks get their places
 *     SH_TRY(sh_slabs_arrange(program));                 // before it runs
 *
 * Results have the same bits, because the order of operations in each instruction does not change.
 */
#ifndef SHOAL_BACKEND_SLABS_H
#define SHOAL_BACKEND_SLABS_H

#include "backend/program_impl.h"

/* A slab has at most about `bytes`, of all by-sample operands together. Does not move
 * instructions. */
sh_status sh_slabs_form(sh_program *program, size_t bytes) SHOAL_CHECKED;

/* Does not restore the buffers. */
void sh_slabs_dissolve(sh_program *program);

/* Extends the lifetimes of blocks that begin or end in a group to its first or last instruction. */
void sh_slabs_stretch(sh_program *program);

/* Makes the members of each group adjacent: conversions move before the group, sinks after it.
 * Lifetimes keep the old instruction numbers. */
sh_status sh_slabs_arrange(sh_program *program) SHOAL_CHECKED;

#endif
