/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions in which each channel is a group, on channels-last images: x [N, H, W, C],
 * w [R, S, C], y [N, P, Q, C]. Each output is a chain of fused multiply-adds from +0, over
 * positions inside the image, ascending:
 *
 *     forward    y[n][p][q][c]:  rows, columns of the window; then the bias is added
 *     input     dx[n][h][w][c]:  p, q
 *     weight        dw[r][s][c]:  n, p, q
 *
 * Threads: any; operands are borrowed for the call.
 */
#ifndef SHOAL_BACKEND_KERNEL_DEPTHWISE_H
#define SHOAL_BACKEND_KERNEL_DEPTHWISE_H

#include <stdbool.h>
#include <stddef.h>

/* For rows and for columns of a window. */
#define SH_DEPTHWISE_MAX 64

/* Pairs are height, width. */
typedef struct sh_depthwise {
    size_t images, channels;
    size_t in[2], out[2], kernel[2];
    size_t stride[2], dilation[2], padding[2];
} sh_depthwise;

/* bias [C] or NULL. */
typedef void sh_depthwise_forward(const sh_depthwise *of, const float *x, const float *w,
                                  const float *bias, float *y);
typedef void sh_depthwise_input(const sh_depthwise *of, const float *dy, const float *w, float *dx);
/* If `continues`, dw continues from its values. */
typedef void sh_depthwise_weight(const sh_depthwise *of, const float *x, const float *dy,
                                 bool continues, float *dw);

#endif
