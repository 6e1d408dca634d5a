/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first argument of a kernel, by value.
 *
 *     KERNEL(relu)(WORK, GLOBAL const float *x, GLOBAL float *y)      // WORK: sh_gpu_work work
 *
 * All members have 4 bytes, so the layout is the same for C and for kernels. Pairs are height,
 * width. Values of a grain are row-major; those of G grains are consecutive.
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_GPU_WORK_H
#define SHOAL_BACKEND_GPU_WORK_H

#ifndef __OPENCL_C_VERSION__
#include <stdint.h>
#endif

#define SH_GPU_INPUTS 8
#define SH_GPU_RANK 8

/* In the order of graph/attributes.h. */
enum {
    RESIZE_HALF_PIXEL,
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ASYMMETRIC,
    RESIZE_ALIGN_CORNERS,
    RESIZE_HALF_PIXEL_SYMMETRIC,
};
enum {
    RESIZE_ROUND_DOWN,
    RESIZE_ROUND_UP,
    RESIZE_FLOOR,
    RESIZE_CEIL,
    RESIZE_LINEAR,
    RESIZE_CUBIC,
};

typedef struct sh_gpu_work {
    uint32_t total;               /* items, of all grains */
    uint32_t count;               /* items, of a grain */
    uint32_t grains;              /* computed separately; 1: grains are merged or shared */
    uint32_t step[SH_GPU_INPUTS]; /* elements from grain to grain; 0: shared */
    uint32_t samples;             /* of a grain */
    uint32_t has_bias;            /* or a residual */

    /* x [samples, channels, image], y [samples, outputs, windows]; channels and outputs of all
     * groups. */
    uint32_t channels, outputs, groups;
    uint32_t image[2], windows[2];
    uint32_t taps[2], stride[2], padding[2], end_padding[2], dilation[2];
    uint32_t padded; /* some windows reach rows outside of the image */
    uint32_t inside; /* avg_pool: divides by elements inside only */

    /* Products c [M, N] = a [M, K] b [K, N], `batch` in a grain. Distances are in elements. */
    uint32_t M, N, K, batch;
    uint32_t a_row, a_column, b_row, b_column;

    /* Distances in weights between window places, input and output channels. */
    uint32_t w_place, w_in, w_out;

    /* Dimensions around the current one, or range of them. */
    uint32_t outer, middle, inner;
    uint32_t dim[SH_GPU_RANK]; /* sizes of the result, last first; then steps in inputs */
    uint32_t a_step[SH_GPU_RANK], b_step[SH_GPU_RANK];
    uint32_t before[SH_GPU_RANK],
        extent[SH_GPU_RANK]; /* pad: zeros before; elements of the input */
    uint32_t offset;         /* of the first element, in input 0 */
    uint32_t rank;

    uint32_t together; /* channels in a group of items */
    uint32_t each;     /* consecutive elements of an item */
    uint32_t chains;   /* for the sum of a channel */
    uint32_t function, activation, training;
    uint32_t layer, threshold; /* dropout: its number; smaller words are dropped */
    uint32_t position, method; /* resize: as above */
    float number, numbers[2], scale[2];
} sh_gpu_work;

#endif
