/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of channels-last activations, x [rows, channels].
 *
 * The formulas are those of graph/op_norm.c. Pointers are borrowed for the call.
 *
 *     const sh_norm norm = sh_norm_of(rows, channels);
 *     void *scratch = ... sh_norm_scratch(&norm) bytes, aligned to SH_ALIGNMENT
 *     sh_norm_moments(sh_variant_chosen(), &norm, x, mean, variance, scratch);
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_LOWER_NORM_ROWS_H
#define SHOAL_BACKEND_LOWER_NORM_ROWS_H

#include "base/variant.h"
#include "graph/op.h"

/* A call may process some of the rows; calls then cover all rows in order, with the same
 * scratch. */
typedef struct sh_norm {
    size_t rows, channels;
    size_t first, count; /* rows of this call; pointers are to the first one */
    size_t width;        /* floats of a long row; a multiple of channels */
    float epsilon;
    sh_activation activation;
    bool training;
} sh_norm;

/* All rows in one call. */
sh_norm sh_norm_of(size_t rows, size_t channels);

/* Rows of a block. The first call of sh_norm_moments needs a block, or all rows. */
size_t sh_norm_block(const sh_norm *norm);

/* Bytes of scratch for any function below, aligned to SH_ALIGNMENT. */
size_t sh_norm_scratch(const sh_norm *norm);

/* Mean and biased variance, [channels] each; written by the call with the last rows. */
void sh_norm_moments(sh_variant variant, const sh_norm *norm, const float *x, float *mean,
                     float *variance, void *scratch);

/* [channels] each. */
typedef struct sh_norm_channels {
    const float *mean, *variance, *w, *b;
} sh_norm_channels;

/* `residual` may be NULL. y may be x or residual. */
void sh_norm_forward(sh_variant variant, const sh_norm *norm, const float *x,
                     const sh_norm_channels *channels, const float *residual, float *y,
                     void *scratch);

/* dw and db [channels], and their contribution to dx, parts [2, channels]. Written by the call with
 * the last rows. */
void sh_norm_sums(sh_variant variant, const sh_norm *norm, const float *dy, const float *x,
                  const sh_norm_channels *channels, float *dw, float *db, float *parts,
                  void *scratch);

/* dx may be dy or x. */
void sh_norm_backward(sh_variant variant, const sh_norm *norm, const float *dy, const float *x,
                      const sh_norm_channels *channels, const float *parts, float *dx,
                      void *scratch);

#endif
