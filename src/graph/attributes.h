/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of nodes: one struct for all operators, copied by value.
 *
 *     y = sh_graph_add(graph, SH_OP_max_pool, &(sh_attributes){.kernel = {3, 3}}, &x, out);
 */
#ifndef SHOAL_GRAPH_ATTRIBUTES_H
#define SHOAL_GRAPH_ATTRIBUTES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tensor/shape.h"

/* An element-wise function that an operator applies to its result. */
typedef enum sh_activation {
    SH_ACTIVATION_NONE,
    SH_ACTIVATION_RELU,
    SH_ACTIVATION_RELU6,
} sh_activation;

/* The upper limit of a rectifier. NaN if there is none: no comparison with NaN is true. */
static inline float sh_activation_limit(sh_activation activation)
{
    return activation == SH_ACTIVATION_RELU6 ? 6.0f : NAN;
}

/* Maps position i of the resized axis to one on the original axis. The names are ONNX's. */
typedef enum sh_resize_position {
    SH_RESIZE_HALF_PIXEL,           /* (i + 1/2) / scale - 1/2 */
    SH_RESIZE_PYTORCH_HALF_PIXEL,   /* the same, but 0 if the output has size 1 */
    SH_RESIZE_ASYMMETRIC,           /* i / scale */
    SH_RESIZE_ALIGN_CORNERS,        /* i (in - 1) / (out - 1), 0 if the output has size 1 */
    SH_RESIZE_HALF_PIXEL_SYMMETRIC, /* half_pixel about the centre: see docs/arithmetic.md */
} sh_resize_position;

/* A value between positions comes from the nearest 1, 2 or 4 elements. */
typedef enum sh_resize_method {
    SH_RESIZE_ROUND_DOWN, /* nearest; a tie takes the lower one */
    SH_RESIZE_ROUND_UP,   /* nearest; a tie takes the upper one */
    SH_RESIZE_FLOOR,
    SH_RESIZE_CEIL,
    SH_RESIZE_LINEAR,
    SH_RESIZE_CUBIC, /* the coefficient is `number`; 0: SH_RESIZE_COEFFICIENT */
} sh_resize_method;

#define SH_RESIZE_MAX 1024             /* largest factor by which an axis grows or shrinks */
#define SH_RESIZE_COEFFICIENT (-0.75f) /* PyTorch's */

/* Each operator reads the fields that its definition names; all others are 0. Pairs are height,
 * width. */
typedef struct sh_attributes {
    size_t kernel[2];
    size_t stride[2];
    size_t padding[2];     /* positions before the first of the image */
    size_t end_padding[2]; /* positions after the last */
    size_t dilation[2];
    size_t groups;
    sh_shape shape;             /* reshape: the new shape; gradients: the shape of the input */
    size_t axis;                /* dimension that the operator works on */
    size_t axes;                /* mean: number of dimensions, starting at `axis` */
    uint8_t order[SH_MAX_RANK]; /* transpose: output dimension i is input dimension order[i] */
    size_t before[SH_MAX_RANK], after[SH_MAX_RANK]; /* by dimension: elements that pad adds or slice
                                                       removes; pooling: `after` is how far the last
                                                       window extends beyond the padding */
    float number;      /* epsilon, slope, probability, smoothing or factor */
    uint32_t function; /* a value of an enum of graph/formulas.h */
    float numbers[2];  /* unary: settings of the function, as formulas.h orders them */
    float scale[2];    /* resize: factor by which the axes grow */
    sh_resize_position position;
    sh_resize_method method;
    sh_activation activation;
    bool training;      /* batch_norm: mean and variance are computed from x */
    bool inside;        /* avg_pool, cubic resize: only elements inside the image count */
    bool transposed[2]; /* matmul: this input's matrices are stored column by column */
    bool no_bias;       /* gradients of weights: the layer has no bias */
    uint32_t layer;     /* dropout: index of the layer in the model, part of its random key */
} sh_attributes;

#endif
