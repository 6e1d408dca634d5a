/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How training steps spend their time.
 *
 *     options.profile = SH_PROFILE_OPERATORS; // of sh_train
 *     if (sh_train(&options, &summary) != SH_OK)
 *         return;
 *     for (size_t i = 0; i < summary.profile.row_count; i++)
 *         printf("%s %.1f %%\n", summary.profile.rows[i].name,
 *                100 * summary.profile.rows[i].share);
 *
 * The rows of operators and of work outside programs add up to the whole: the steps' wall time
 * times the lanes. The rows of nodes divide the operators' time further.
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
    SH_PROFILE_NODES, /* also each node */
} sh_profile_level;

typedef enum sh_profile_kind {
    SH_PROFILE_OPERATOR, /* all nodes of one operator; "reorder": layout changes */
    SH_PROFILE_OUTSIDE,  /* not a program: reading samples, the exact sum, ... */
    SH_PROFILE_NODE,     /* one node; separate for each grain size */
} sh_profile_kind;

typedef struct sh_profile_row {
    sh_profile_kind kind;
    char name[SH_PROFILE_NAME_BYTES];
    char detail[SH_PROFILE_DETAIL_BYTES]; /* of a node: number, shapes, layout; else empty */
    uint64_t count;                       /* runs; 0 if meaningless */
    double seconds;                       /* on all lanes */
    double share;                         /* of the whole, 0 .. 1 */
    double flops, bytes;                  /* of all runs; 0: unknown */
} sh_profile_row;

typedef struct sh_profile {
    uint32_t lanes;
    uint64_t steps;
    double step_seconds;  /* wall time of all steps */
    sh_profile_row *rows; /* owned; by kind, then the longest first, "rest" last */
    size_t row_count, row_capacity;
} sh_profile;

/* Frees the rows. NULL is allowed. */
SHOAL_API void sh_profile_release(sh_profile *profile);

/* The row to optimise first: the longest operator or outside row, except "rest". NULL: none;
 * borrowed from the profile. */
SHOAL_API const sh_profile_row *sh_profile_bottleneck(const sh_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
