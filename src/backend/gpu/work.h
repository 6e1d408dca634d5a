/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel is to do: its first argument, by value. The C compiler and the compilers of the
 * kernels read this file.
 *
 *     KERNEL(relu)(WORK, GLOBAL const float *x, GLOBAL float *y)      // WORK: sh_gpu_work work
 *
 * All members have 4 bytes, so that every compiler places them alike. Pairs are height, width.
 * Values of a grain are row-major, as a graph declares them; those of G grains lie one behind the
 * other.
 *
 * Threads: any; these are values.
 */
#ifndef SHOAL_BACKEND_GPU_WORK_H
#define SHOAL_BACKEND_GPU_WORK_H

#ifndef __OPENCL_C_VERSION__
#include <stdint.h>
#endif

#define SH_GPU_INPUTS 8
#define SH_GPU_RANK 8

/* The settings of resize, in the order of graph/attributes.h. */
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
    uint32_t total;  /* work items that have something to do, over all grains */
    uint32_t count;  /* of them for a grain */
    uint32_t grains; /* that are computed apart: 1 where all are as one */
    uint32_t
        step[SH_GPU_INPUTS]; /* of each input: elements from a grain to the next; 0: all share it */
    uint32_t samples;        /* of a grain */
    uint32_t has_bias;       /* there is a bias or a residual */

    /* Images. x [samples, channels, image], y [samples, outputs, windows]; channels and outputs of
     * all groups. */
    uint32_t channels, outputs, groups;
    uint32_t image[2], windows[2];
    uint32_t taps[2], stride[2], padding[2], end_padding[2], dilation[2];
    uint32_t padded; /* some windows reach rows beside the image */
    uint32_t inside; /* avg_pool: the mean of what lies in the image alone */

    /* Products c [M, N] = a [M, K] b [K, N], `batch` of them in a grain: elements from one to the
     * next. */
    uint32_t M, N, K, batch;
    uint32_t a_row, a_column, b_row, b_column;

    /* Convolutions: elements of the weights from one window place, input channel and output channel
     * to the next. */
    uint32_t w_place, w_in, w_out;

    /* Dimensions around the one, or the range, at work. */
    uint32_t outer, middle, inner;
    uint32_t dim[SH_GPU_RANK]; /* of the result, last first; then elements of each input from one to
                                  the next */
    uint32_t a_step[SH_GPU_RANK], b_step[SH_GPU_RANK];
    uint32_t before[SH_GPU_RANK],
        extent[SH_GPU_RANK]; /* pad: zeros before, and elements of the input */
    uint32_t offset;         /* of the first element in input 0 */
    uint32_t rank;

    uint32_t together; /* channels of a group of work items */
    uint32_t each;     /* elements of an item, side by side */
    uint32_t chains;   /* of the sums of a channel */
    uint32_t function, activation, training;
    uint32_t layer,
        threshold; /* dropout: its number; words below are those of elements that are dropped */
    uint32_t position, method; /* resize: as below */
    float number, numbers[2], scale[2];
} sh_gpu_work;

#endif
