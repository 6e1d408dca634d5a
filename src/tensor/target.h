/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a network is to say of a sample: the target of a data set's samples, which decides the loss
 * and the figures of a training.
 *
 *     case SH_TARGET_NUMBERS: ... `outputs` floats of each sample ...
 *
 * A target in memory is an int32_t (SH_TARGET_CLASS), or `outputs` floats, or nothing
 * (SH_TARGET_SAMPLE): sh_target_bytes says how much.
 *
 * Threads: any; these are values.
 */
#ifndef SHOAL_TENSOR_TARGET_H
#define SHOAL_TENSOR_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* One list: identifier, the name on the command line (--task). */
#define SH_TARGET_MAP(X)                                                                           \
    X(CLASS, "classification")  /* one of `outputs` classes: 0 .. outputs - 1 */                   \
    X(LABELS, "multi-label")    /* of `outputs` labels, 1 for each that holds and 0 otherwise */   \
    X(NUMBERS, "regression")    /* `outputs` numbers */                                            \
    X(SAMPLE, "reconstruction") /* the sample itself, as the network is given it */

typedef enum sh_target {
#define SH_TARGET_ENUM(name, text) SH_TARGET_##name,
    SH_TARGET_MAP(SH_TARGET_ENUM)
#undef SH_TARGET_ENUM
        SH_TARGETS
} sh_target;

/* "classification". */
const char *sh_target_name(sh_target target);

/* The target of this name; false where there is none, and `*target` is untouched. */
bool sh_target_find(sh_target *target, const char *name);

/* Bytes of one target. */
size_t sh_target_bytes(sh_target target, size_t outputs);

#endif
