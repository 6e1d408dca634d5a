/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of training steps went.
 *
 *     options.profile = SH_PROFILE_OPERATORS; // of sh_train
 *     if (sh_train(&options, &summary) != SH_OK)
 *         return;
 *     for (size_t i = 0; i < summary.profile.row_count; i++)
 *         printf("%s %.1f %%\n", summary.profile.rows[i].name,
 *                100 * summary.profile.rows[i].share);
 *
 * The rows of operators and of what is outside programs together make the whole: wall time of the
 * steps times lanes. Rows of nodes are the same time once more, in detail.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_PROFILE_H
#define SHOAL_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_PROFILE_NAME_BYTES 48
#define SH_PROFILE_DETAIL_BYTES 200

typedef enum sh_profile_level {
    SH_PROFILE_OFF,
    SH_PROFILE_OPERATORS,
    SH_PROFILE_NODES, /* operators, and each node by itself */
} sh_profile_level;

typedef enum sh_profile_kind {
    SH_PROFILE_OPERATOR, /* all nodes of one operator; "reorder": changes of layout */
    SH_PROFILE_OUTSIDE,  /* what is not a program: reading samples, the exact sum, ... */
    SH_PROFILE_NODE,     /* one node; programs for different sizes of grain count apart */
} sh_profile_kind;

typedef struct sh_profile_row {
    sh_profile_kind kind;
    char name[SH_PROFILE_NAME_BYTES];
    char detail[SH_PROFILE_DETAIL_BYTES]; /* of a node: number, shapes, layout; else empty */
    uint64_t count;                       /* how often it ran; 0 where that means nothing */
    double seconds;                       /* on all lanes */
    double share;                         /* of the whole, 0 .. 1 */
    double flops, bytes;                  /* of all runs; 0 where unknown */
} sh_profile_row;

typedef struct sh_profile {
    uint32_t lanes;
    uint64_t steps;
    double step_seconds;  /* wall time of all steps */
    sh_profile_row *rows; /* owned; by kind, in each the longest first, "rest" last */
    size_t row_count, row_capacity;
} sh_profile;

/* Frees the rows. NULL is fine. */
SHOAL_API void sh_profile_release(sh_profile *profile);

/* The row to optimise first: the longest one of operators and outside rows, except "rest". NULL
 * without such a row; borrowed from the profile. */
SHOAL_API const sh_profile_row *sh_profile_bottleneck(const sh_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
