/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a replica has progressed, as two numbers that all devices of a job can compare.
 *
 *     if (sh_position_before(mine, theirs))
 *         ... they are ahead of me ...
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_BASE_POSITION_H
#define SHOAL_BASE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * `steps` have been applied. Phase 0: a validation is due. Phase 1 + a: attempt a of the next step
 * is due; a redo, which changes exponents, begins the next attempt. Devices at the same position
 * have equal replicas, exponents included.
 */
typedef struct sh_position {
    uint64_t steps;
    uint32_t phase;
} sh_position;

#define SH_PHASE_VALIDATION 0u
#define SH_PHASE_FIRST 1u /* of a step */

/* Compares steps, then phases. */
static inline bool sh_position_before(sh_position a, sh_position b)
{
    return a.steps < b.steps || (a.steps == b.steps && a.phase < b.phase);
}

static inline bool sh_position_same(sh_position a, sh_position b)
{
    return a.steps == b.steps && a.phase == b.phase;
}

#endif
