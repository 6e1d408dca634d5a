/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind of target of a data set: what the network predicts for a sample. It determines the loss
 * and the metrics of a training.
 *
 * A target in memory is an int32_t (SH_TARGET_CLASS), or `outputs` floats, or nothing
 * (SH_TARGET_SAMPLE).
 *
 *     case SH_TARGET_NUMBERS: ... `outputs` floats of each sample ...
 *
 * Threads: any.
 */
#ifndef SHOAL_TENSOR_TARGET_H
#define SHOAL_TENSOR_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/* Identifier, name on the command line (--task). */
#define SH_TARGET_MAP(X)                                                                           \
    X(CLASS, "classification")  /* one of `outputs` classes: 0 .. outputs - 1 */                   \
    X(LABELS, "multi-label")    /* for each of `outputs` labels: 1 if it applies, else 0 */        \
    X(NUMBERS, "regression")    /* `outputs` numbers */                                            \
    X(SAMPLE, "reconstruction") /* the sample itself, as the network gets it */

typedef enum sh_target {
#define SH_TARGET_ENUM(name, text) SH_TARGET_##name,
    SH_TARGET_MAP(SH_TARGET_ENUM)
#undef SH_TARGET_ENUM
        SH_TARGETS
} sh_target;

const char *sh_target_name(sh_target target);

/* Returns false if the name is unknown. */
bool sh_target_find(sh_target *target, const char *name);

/* Bytes of one target in memory. */
size_t sh_target_bytes(sh_target target, size_t outputs);

#endif
