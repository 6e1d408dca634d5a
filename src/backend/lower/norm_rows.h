/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of rows of channels, x [rows, channels]: activations that lie channels-last.
 *
 *     const sh_norm norm = sh_norm_of(rows, channels);
 *     void *scratch = ... sh_norm_scratch(&norm) bytes, aligned to SH_ALIGNMENT
 *     sh_norm_moments(sh_variant_chosen(), &norm, x, mean, variance, scratch);
 *
 * The formulas are those of graph/op_norm.c, the expressions those of lower/batch_norm.c. Every
 * pointer is borrowed for the call.
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_LOWER_NORM_ROWS_H
#define SHOAL_BACKEND_LOWER_NORM_ROWS_H

#include "base/variant.h"
#include "graph/op.h"

/* What is normalised, and how. A call may have some of the rows: then calls go through all of them
 * in order, with the same scratch. */
typedef struct sh_norm {
    size_t rows, channels;
    size_t first, count; /* the rows of this call; pointers are to the first of them */
    size_t width;        /* floats processed as one long row: a multiple of a row */
    float epsilon;
    sh_activation activation;
    bool training;
} sh_norm;

/* All rows in one call. */
sh_norm sh_norm_of(size_t rows, size_t channels);

/* Rows of a block. The first call for moments needs at least one block, or all rows. */
size_t sh_norm_block(const sh_norm *norm);

/* Bytes of scratch that any of the functions below needs. */
size_t sh_norm_scratch(const sh_norm *norm);

/* Mean and biased variance of each channel, [channels] each; written with the last rows. */
void sh_norm_moments(sh_variant variant, const sh_norm *norm, const float *x, float *mean,
                     float *variance, void *scratch);

/* What stands beside x and y or dx; [channels] each. */
typedef struct sh_norm_channels {
    const float *mean, *variance, *w, *b;
} sh_norm_channels;

/* y from x, and residual where it is not NULL. y may be x or residual. */
void sh_norm_forward(sh_variant variant, const sh_norm *norm, const float *x,
                     const sh_norm_channels *channels, const float *residual, float *y,
                     void *scratch);

/* dw and db [channels], and what they contribute to dx, parts [2, channels]: all written with the
 * last rows. */
void sh_norm_sums(sh_variant variant, const sh_norm *norm, const float *dy, const float *x,
                  const sh_norm_channels *channels, float *dw, float *db, float *parts,
                  void *scratch);

/* dx, which may be dy or x. */
void sh_norm_backward(sh_variant variant, const sh_norm *norm, const float *dy, const float *x,
                      const sh_norm_channels *channels, const float *parts, float *dx,
                      void *scratch);

#endif
