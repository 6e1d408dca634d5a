/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of nodes, those of all operators in one struct: copied by value.
 *
 *     const sh_attributes a = {.kernel = {3, 3}, .stride = {2, 2}};
 *     y = sh_graph_add(graph, SH_OP_max_pool, &a, &x, out);
 */
#ifndef SHOAL_GRAPH_ATTRIBUTES_H
#define SHOAL_GRAPH_ATTRIBUTES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tensor/shape.h"

/* An element-wise function that an operator can apply to its result in passing. */
typedef enum sh_activation {
    SH_ACTIVATION_NONE,
    SH_ACTIVATION_RELU,
    SH_ACTIVATION_RELU6,
} sh_activation;

/* What a rectifier's result does not exceed; NaN, which nothing exceeds, where it has no limit. */
static inline float sh_activation_limit(sh_activation activation)
{
    return activation == SH_ACTIVATION_RELU6 ? 6.0f : NAN;
}

/* Where position i of a longer or shorter axis lies on the axis it is made from: names of ONNX. */
typedef enum sh_resize_position {
    SH_RESIZE_HALF_PIXEL,           /* (i + 1/2) / scale - 1/2 */
    SH_RESIZE_PYTORCH_HALF_PIXEL,   /* the same, but 0 where only one is made */
    SH_RESIZE_ASYMMETRIC,           /* i / scale */
    SH_RESIZE_ALIGN_CORNERS,        /* i (from - 1) / (made - 1), 0 where only one is made */
    SH_RESIZE_HALF_PIXEL_SYMMETRIC, /* half_pixel, but about the middle: see docs/arithmetic.md */
} sh_resize_position;

/* How a value between positions is found: from the nearest, or from two or four around it. */
typedef enum sh_resize_method {
    SH_RESIZE_ROUND_DOWN, /* nearest; the lower one of two equally near */
    SH_RESIZE_ROUND_UP,   /* nearest; the upper one */
    SH_RESIZE_FLOOR,
    SH_RESIZE_CEIL,
    SH_RESIZE_LINEAR,
    SH_RESIZE_CUBIC, /* with the coefficient `number`; 0: SH_RESIZE_COEFFICIENT */
} sh_resize_method;

#define SH_RESIZE_MAX 1024             /* times longer or shorter */
#define SH_RESIZE_COEFFICIENT (-0.75f) /* PyTorch's */

/* Settings of a node; each operator reads its own (named in its definition) and leaves the rest
 * zero. Pairs are height, width. */
typedef struct sh_attributes {
    size_t kernel[2];
    size_t stride[2];
    size_t padding[2];     /* positions beside the image, before its first */
    size_t end_padding[2]; /* and behind its last */
    size_t dilation[2];
    size_t groups;
    sh_shape shape; /* reshape: the new shape; gradients: the shape of what they are of */
    size_t axis;    /* the dimension along which it works */
    size_t axes;    /* mean: over how many dimensions, from axis on */
    uint8_t order[SH_MAX_RANK]; /* transpose: dimension i of the output is order[i] of the input */
    size_t before[SH_MAX_RANK], after[SH_MAX_RANK]; /* by dimension: elements added or left out;
                                                       pooling: `after` is how much further than the
                                                       padding the last window reaches */
    float number; /* epsilon, slope, probability, smoothing, factor: the operator's one number */
    uint32_t function; /* which of those of graph/formulas.h */
    float numbers[2];  /* unary: of the function, in the order of its name there */
    float scale[2];    /* resize: how much longer the axes become */
    sh_resize_position position;
    sh_resize_method method;
    sh_activation activation;
    bool training;      /* batch_norm: mean and variance are those of x itself */
    bool inside;        /* avg_pool: the mean of what lies in the image alone; cubic resize alike */
    bool transposed[2]; /* matmul: the matrices of this input count by columns */
    bool no_bias;       /* gradients of weights: there is no bias to compute one for */
    uint32_t layer; /* dropout: its number in the model, one of the keys of its random numbers */
} sh_attributes;

#endif
