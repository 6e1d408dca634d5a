/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators at work, for tests: for each operator a few settings and shapes, enough to reach its
 * corners. ops_test.c checks that none is forgotten. Only tests include this.
 */
#ifndef SHOAL_BACKEND_OP_CASES_H
#define SHOAL_BACKEND_OP_CASES_H

#include "base/test.h"
#include "graph/op.h"

#define F32(...) TYPE(SH_F32, __VA_ARGS__)
#define I32(...) TYPE(SH_I32, __VA_ARGS__)
#define TYPE(dtype, ...)                                                                           \
    {                                                                                              \
        dtype,                                                                                     \
        {                                                                                          \
            sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t),                                      \
            {                                                                                      \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }
#define BESIDE(top, left, bottom, right) .padding = {top, left}, .end_padding = {bottom, right}
#define CONV(stride_, padding_, dilation_, groups_)                                                \
    BESIDE(padding_, padding_, padding_, padding_), STEPS(stride_, dilation_, groups_)
#define STEPS(stride_, dilation_, groups_)                                                         \
    .stride = {stride_, stride_}, .dilation = {dilation_, dilation_}, .groups = groups_
#define WINDOW(kernel_, stride_) .kernel = {kernel_, kernel_}, .stride = {stride_, stride_}
#define POOL(kernel_, stride_, padding_)                                                           \
    WINDOW(kernel_, stride_), BESIDE(padding_, padding_, padding_, padding_)
#define NORM(activation_, training_)                                                               \
    .number = 1e-5f, .activation = SH_ACTIVATION_##activation_, .training = training_
#define NORMED(channels) F32(channels), F32(channels), F32(channels), F32(channels)
#define NORM_MASKS .positive = 1u << 2, .held = 3u << 1
#define KINKED .kinked = true
#define SHAPE(...) .shape = {sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), {__VA_ARGS__}}

/* I32 inputs are labels 0 .. 9; everything else is random in [-1, 1). */
typedef struct op_case {
    sh_op op;
    sh_attributes attributes;
    sh_type in[SH_MAX_INPUTS]; /* optional ones that are left out: of rank 0 */
    unsigned positive;         /* bit i: input i is random in [0.5, 1.5) */
    bool kinked;   /* finite differences must not step over where two pieces meet (fill) */
    unsigned held; /* bit i: input i has no gradient by design */
} op_case;

static const op_case op_cases[] = {
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(2, 3, 9, 7), F32(4, 3, 5, 5), F32(4)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(4, 1, 28, 28), F32(20, 1, 5, 5), F32(20)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(2, 1, 9, 13), F32(16, 1, 3, 5)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(3, 1, 7, 5), F32(32, 1, 5, 5), F32(32)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(3, 20, 12, 12), F32(50, 20, 5, 5), F32(50)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(2, 16, 8, 8), F32(32, 16, 3, 3), F32(32)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(2, 16, 8, 8), F32(16, 16, 3, 3)}},
    {SH_OP_conv2d, {CONV(2, 1, 1, 3)}, .in = {F32(2, 3, 9, 9), F32(3, 1, 3, 3)}},
    {SH_OP_linear, {0}, .in = {F32(4, 20), F32(30, 20)}},
    {SH_OP_conv2d, {CONV(2, 1, 1, 1)}, .in = {F32(1, 3, 8, 9), F32(5, 3, 3, 3), F32(5)}},
    {SH_OP_conv2d, {CONV(1, 2, 2, 2)}, .in = {F32(2, 4, 7, 7), F32(6, 2, 3, 3), F32(6)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 8)}, .in = {F32(2, 8, 6, 6), F32(8, 1, 3, 3), F32(8)}},
    {SH_OP_conv2d, {CONV(2, 1, 1, 16)}, .in = {F32(2, 16, 9, 9), F32(16, 1, 3, 3), F32(16)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 2)}, .in = {F32(2, 24, 6, 6), F32(40, 12, 3, 3), F32(40)}},
    {SH_OP_conv2d, {CONV(2, 0, 1, 1)}, .in = {F32(2, 16, 9, 9), F32(32, 16, 1, 1), F32(32)}},
    {SH_OP_conv2d, {CONV(1, 2, 2, 1)}, .in = {F32(2, 16, 9, 9), F32(16, 16, 3, 3), F32(16)}},
    {SH_OP_conv2d, {CONV(1, 4, 1, 1)}, .in = {F32(1, 2, 5, 5), F32(3, 2, 3, 3), F32(3)}},
    {SH_OP_conv2d,
     {.stride = {2, 1}, BESIDE(0, 3, 0, 3), .dilation = {1, 2}, .groups = 1},
     .in = {F32(2, 17, 7, 11), F32(33, 17, 3, 5), F32(33)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(1, 16, 40, 40), F32(4, 16, 3, 3), F32(4)}},
    {SH_OP_conv2d, {CONV(2, 1, 1, 1)}, .in = {F32(1, 20, 63, 64), F32(3, 20, 3, 3)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(5, 6, 5, 5), F32(7, 6, 3, 3), F32(7)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 2)}, .in = {F32(3, 16, 9, 7), F32(18, 8, 3, 3), F32(18)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(1, 9, 39, 46), F32(8, 9, 3, 3), F32(8)}},
    {SH_OP_conv2d, {CONV(1, 2, 1, 1)}, .in = {F32(7, 8, 4, 5), F32(11, 8, 3, 3), F32(11)}},
    {SH_OP_conv2d, {CONV(1, 2, 1, 1)}, .in = {F32(33, 8, 1, 1), F32(8, 8, 3, 3)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(1, 8, 3, 140), F32(8, 8, 3, 3)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(4, 64, 8, 8), F32(64, 64, 3, 3)}},
    {SH_OP_conv2d,
     {.stride = {1, 1}, BESIDE(2, 0, 2, 0), .dilation = {1, 1}, .groups = 1},
     .in = {F32(5, 8, 6, 12), F32(16, 8, 3, 3), F32(16)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(5, 6, 4, 5), F32(7, 6, 1, 1), F32(7)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 2)}, .in = {F32(2, 6, 9, 8), F32(4, 3, 1, 1)}},
    {SH_OP_conv2d,
     {.stride = {2, 1}, BESIDE(2, 1, 2, 1), .dilation = {1, 2}, .groups = 3},
     .in = {F32(3, 3, 9, 10), F32(6, 1, 5, 3), F32(6)}},
    {SH_OP_conv2d, {CONV(1, 1, 1, 96)}, .in = {F32(3, 96, 2, 2), F32(96, 1, 3, 3), F32(96)}},
    {SH_OP_conv2d, {CONV(2, 2, 2, 19)}, .in = {F32(3, 19, 4, 3), F32(19, 1, 3, 3)}},
    {SH_OP_conv2d_grad_weight,
     {CONV(1, 1, 1, 85), SHAPE(85, 1, 3, 3)},
     .in = {F32(2, 85, 1, 2), F32(2, 85, 1, 2)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(3, 48, 5, 3), F32(20, 48, 1, 1), F32(20)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(2, 24, 4, 4), F32(144, 24, 1, 1)}},
    {SH_OP_conv2d, {CONV(1, 0, 1, 1)}, .in = {F32(2, 100, 2, 2), F32(200, 100, 1, 1), F32(200)}},
    {SH_OP_conv2d, {CONV(2, 1, 1, 20)}, .in = {F32(2, 20, 7, 10), F32(20, 1, 3, 3)}},
    {SH_OP_conv2d,
     {STEPS(2, 1, 1), BESIDE(0, 0, 1, 1)},
     .in = {F32(2, 16, 8, 8), F32(32, 16, 3, 3), F32(32)}},
    {SH_OP_conv2d,
     {STEPS(1, 2, 2), BESIDE(2, 2, 1, 0)},
     .in = {F32(2, 6, 7, 9), F32(4, 3, 3, 2), F32(4)}},
    {SH_OP_conv2d,
     {STEPS(2, 1, 19), BESIDE(0, 0, 1, 2)},
     .in = {F32(2, 19, 6, 7), F32(19, 1, 3, 3), F32(19)}},
    {SH_OP_conv2d, {STEPS(1, 1, 1), BESIDE(0, 0, 2, 1)}, .in = {F32(2, 3, 4, 5), F32(4, 3, 1, 1)}},
    {SH_OP_conv2d_grad_input,
     {CONV(1, 0, 1, 1), SHAPE(3, 20, 12, 12)},
     .in = {F32(3, 50, 8, 8), F32(50, 20, 5, 5)}},
    {SH_OP_conv2d_grad_input,
     {CONV(2, 1, 1, 2), SHAPE(2, 4, 9, 8)},
     .in = {F32(2, 6, 5, 4), F32(6, 2, 3, 3)}},
    {SH_OP_conv2d_grad_input,
     {STEPS(2, 1, 1), BESIDE(1, 1, 0, 1), SHAPE(2, 5, 10, 8)},
     .in = {F32(2, 3, 5, 4), F32(3, 5, 3, 3), F32(5)}},
    {SH_OP_conv2d_grad_input,
     {STEPS(3, 1, 2), SHAPE(2, 18, 11, 12)},
     .in = {F32(2, 4, 4, 4), F32(4, 9, 2, 1), F32(18)}},
    {SH_OP_conv2d_grad_input,
     {CONV(2, 1, 2, 20), SHAPE(2, 20, 9, 8)},
     .in = {F32(2, 20, 4, 3), F32(20, 1, 3, 3), F32(20)}},
    {SH_OP_conv2d_grad_input,
     {CONV(1, 0, 1, 2), SHAPE(3, 8, 5, 4)},
     .in = {F32(3, 6, 5, 4), F32(6, 4, 1, 1), F32(8)}},
    {SH_OP_bias_grad, {0}, .in = {F32(3, 5, 4, 2)}},
    {SH_OP_bias_grad, {0}, .in = {F32(9, 300)}},
    {SH_OP_conv2d_grad_weight,
     {CONV(1, 0, 1, 1), SHAPE(20, 1, 5, 5)},
     .in = {F32(4, 1, 28, 28), F32(4, 20, 24, 24)}},
    {SH_OP_conv2d_grad_weight,
     {CONV(2, 1, 1, 2), SHAPE(6, 2, 3, 3)},
     .in = {F32(2, 4, 9, 8), F32(2, 6, 5, 4)}},
    {SH_OP_linear, {0}, .in = {F32(3, 7), F32(5, 7), F32(5)}},
    {SH_OP_linear, {0}, .in = {F32(1, 5), F32(1, 5), F32(1)}},
    {SH_OP_linear, {0}, .in = {F32(8, 800), F32(500, 800), F32(500)}},
    {SH_OP_linear_grad_input, {0}, .in = {F32(8, 500), F32(500, 800)}},
    {SH_OP_linear_grad_input, {0}, .in = {F32(1, 3), F32(3, 2)}},
    {SH_OP_linear_grad_weight, {0}, .in = {F32(8, 800), F32(8, 500)}},
    {SH_OP_linear_grad_weight, {0}, .in = {F32(2, 3), F32(2, 4)}},
    {SH_OP_max_pool, {POOL(2, 2, 0)}, .in = {F32(2, 20, 8, 8)}, KINKED},
    {SH_OP_max_pool, {POOL(3, 2, 1)}, .in = {F32(1, 3, 7, 9)}, KINKED},
    {SH_OP_max_pool, {POOL(3, 1, 0)}, .in = {F32(2, 2, 5, 5)}, KINKED},
    {SH_OP_max_pool, {POOL(3, 2, 1)}, .in = {F32(2, 16, 8, 9)}, KINKED},
    {SH_OP_max_pool,
     {.kernel = {5, 2}, .stride = {3, 4}, BESIDE(2, 0, 2, 0)},
     .in = {F32(1, 33, 7, 11)},
     KINKED},
    {SH_OP_max_pool, {POOL(3, 2, 0), .after = {0, 0, 1, 1}}, .in = {F32(2, 16, 8, 8)}, KINKED},
    {SH_OP_max_pool, {POOL(3, 2, 1), .after = {0, 0, 1, 0}}, .in = {F32(1, 3, 6, 7)}, KINKED},
    {SH_OP_avg_pool, {POOL(2, 2, 0)}, .in = {F32(2, 20, 8, 8)}},
    {SH_OP_avg_pool, {POOL(3, 2, 1)}, .in = {F32(2, 16, 7, 8)}},
    {SH_OP_avg_pool, {POOL(1, 2, 0)}, .in = {F32(2, 3, 8, 8)}},
    {SH_OP_avg_pool,
     {.kernel = {5, 2}, .stride = {3, 4}, BESIDE(2, 1, 2, 1)},
     .in = {F32(1, 33, 7, 11)}},
    {SH_OP_max_pool, {WINDOW(3, 2), BESIDE(0, 0, 1, 2)}, .in = {F32(2, 16, 8, 7)}, KINKED},
    {SH_OP_max_pool, {WINDOW(2, 1), BESIDE(1, 1, 0, 0)}, .in = {F32(2, 3, 5, 4)}, KINKED},
    {SH_OP_avg_pool, {WINDOW(3, 2), BESIDE(0, 0, 1, 2)}, .in = {F32(2, 16, 8, 7)}},
    {SH_OP_avg_pool, {POOL(3, 2, 1), .inside = true}, .in = {F32(2, 16, 7, 8)}},
    {SH_OP_avg_pool,
     {POOL(3, 2, 1), .after = {0, 0, 1, 0}, .inside = true},
     .in = {F32(2, 3, 6, 7)}},
    {SH_OP_avg_pool, {POOL(3, 2, 1), .after = {0, 0, 1, 0}}, .in = {F32(2, 3, 6, 7)}},
    {SH_OP_avg_pool, {POOL(20, 1, 0)}, .in = {F32(1, 2, 20, 20)}},
    {SH_OP_mean, {.axis = 2, .axes = 2}, .in = {F32(3, 16, 8, 8)}},
    {SH_OP_mean, {.axis = 1, .axes = 2}, .in = {F32(2, 3, 5, 4)}},
    {SH_OP_mean, {.axis = 0, .axes = 1}, .in = {F32(7, 3)}},
    {SH_OP_mean, {.axis = 0, .axes = 2}, .in = {F32(5, 37)}},
    {SH_OP_concat, {.axis = 1}, .in = {F32(2, 3, 4, 5), F32(2, 16, 4, 5), F32(2, 1, 4, 5)}},
    {SH_OP_concat, {.axis = 0}, .in = {F32(2, 3), F32(1, 3)}},
    {SH_OP_concat, {.axis = 2}, .in = {F32(2, 3, 4)}},
    {SH_OP_concat,
     {.axis = 1},
     .in = {F32(2, 1), F32(2, 2), F32(2, 3), F32(2, 4), F32(2, 5), F32(2, 6)}},
    {SH_OP_slice, {.before = {0, 1, 0, 2}, .after = {1, 0, 0, 1}}, .in = {F32(2, 3, 4, 5)}},
    {SH_OP_slice, {.after = {6}}, .in = {F32(7)}},
    {SH_OP_pad, {.before = {0, 1, 0, 2}, .after = {1, 0, 0, 1}}, .in = {F32(2, 3, 4, 5)}},
    {SH_OP_pad, {.after = {0, 2}}, .in = {F32(3, 5)}},
    {SH_OP_dropout, {.number = 0.25f, .layer = 3}, .in = {F32(3, 7, 5, 5), I32(3, 2)}},
    {SH_OP_dropout, {.number = 0.5f}, .in = {F32(4, 128), I32(4, 2)}},
    {SH_OP_dropout, {0}, .in = {F32(5), I32(5, 2)}},
    {SH_OP_moments, {0}, .in = {F32(3, 5, 4, 6)}},
    {SH_OP_moments, {0}, .in = {F32(2, 24, 7, 9)}},
    {SH_OP_moments, {0}, .in = {F32(7, 3)}},
    {SH_OP_batch_norm, {NORM(NONE, false)}, .in = {F32(3, 5, 4, 6), NORMED(5)}, NORM_MASKS},
    {SH_OP_batch_norm, {NORM(RELU, false)}, .in = {F32(2, 24, 3, 5), NORMED(24)}, NORM_MASKS},
    {SH_OP_batch_norm,
     {NORM(RELU6, false)},
     .in = {F32(2, 16, 3, 5), NORMED(16), F32(2, 16, 3, 5)},
     NORM_MASKS},
    {SH_OP_batch_norm, {NORM(NONE, true)}, .in = {F32(3, 5, 4, 6), NORMED(5)}, NORM_MASKS},
    {SH_OP_batch_norm, {NORM(NONE, true)}, .in = {F32(9, 4), NORMED(4)}, NORM_MASKS},
    {SH_OP_batch_norm, {NORM(RELU, true)}, .in = {F32(2, 16, 5, 5), NORMED(16)}, NORM_MASKS},
    {SH_OP_batch_norm, {NORM(RELU6, true)}, .in = {F32(2, 40, 5, 3), NORMED(40)}, NORM_MASKS},
    {SH_OP_batch_norm,
     {NORM(RELU, true)},
     .in = {F32(2, 32, 3, 5), NORMED(32), F32(2, 32, 3, 5)},
     NORM_MASKS},
    {SH_OP_batch_norm,
     {NORM(NONE, true)},
     .in = {F32(2, 32, 3, 5), NORMED(32), F32(2, 32, 3, 5)},
     NORM_MASKS},
    {SH_OP_statistic, {.number = 1.25f}, .in = {F32(7), F32(3)}},
    {SH_OP_relu, {0}, .in = {F32(3, 5, 7)}, KINKED},
    {SH_OP_relu6, {0}, .in = {F32(3, 5, 7)}, KINKED},
    {SH_OP_relu6_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_relu_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_relu_sum_grad,
     {.activation = SH_ACTIVATION_RELU},
     .in = {F32(3, 47), F32(3, 47), F32(3, 47)}},
    {SH_OP_relu_sum_grad,
     {.activation = SH_ACTIVATION_RELU6},
     .in = {F32(3, 47), F32(3, 47), F32(3, 47)}},
    {SH_OP_leaky_relu, {.number = 0.1f}, .in = {F32(3, 5, 7)}, KINKED},
    {SH_OP_leaky_relu, {0}, .in = {F32(3, 5, 7)}, KINKED},
    {SH_OP_leaky_relu_grad, {.number = 0.1f}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_sigmoid, {0}, .in = {F32(3, 5, 7)}},
    {SH_OP_sigmoid_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_tanh, {0}, .in = {F32(3, 5, 7)}},
    {SH_OP_tanh_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_silu, {0}, .in = {F32(3, 5, 7)}},
    {SH_OP_silu_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_gelu, {0}, .in = {F32(3, 5, 7)}},
    {SH_OP_gelu_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_hard_sigmoid, {0}, .in = {F32(3, 5, 7)}, KINKED},
    {SH_OP_hard_sigmoid_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_hard_swish, {0}, .in = {F32(3, 5, 7)}, KINKED},
    {SH_OP_hard_swish_grad, {0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_softmax, {.axis = 1}, .in = {F32(6, 10)}},
    {SH_OP_softmax, {.axis = 1}, .in = {F32(2, 5, 3, 4)}},
    {SH_OP_softmax, {.axis = 0}, .in = {F32(7)}},
    {SH_OP_softmax_grad, {.axis = 0}, .in = {F32(4, 9), F32(4, 9)}},
    {SH_OP_subtract, {0}, .in = {F32(2, 3, 4), F32(2, 3, 4)}},
    {SH_OP_negate, {0}, .in = {F32(3, 5, 7)}},
    {SH_OP_multiply, {0}, .in = {F32(2, 3, 4), F32(2, 3, 4)}},
    {SH_OP_scale, {0}, .in = {F32(2, 5, 3, 4), F32(2, 5)}},
    {SH_OP_scale, {0}, .in = {F32(3, 7), F32(3)}},
    {SH_OP_scale, {0}, .in = {F32(3, 7), F32(3, 7)}},
    {SH_OP_scale_grad, {SHAPE(2, 5)}, .in = {F32(2, 5, 3, 4), F32(2, 5, 3, 4)}},
    {SH_OP_matmul, {0}, .in = {F32(4, 7), F32(7, 5)}},
    {SH_OP_matmul, {.transposed = {true}}, .in = {F32(7, 4), F32(7, 5)}},
    {SH_OP_matmul, {.transposed = {false, true}}, .in = {F32(4, 7), F32(5, 7)}},
    {SH_OP_matmul, {.transposed = {true, true}}, .in = {F32(3, 7, 4), F32(3, 5, 7)}},
    {SH_OP_matmul, {0}, .in = {F32(3, 1, 6), F32(3, 6, 1)}},
    {SH_OP_transpose, {.order = {1, 0}}, .in = {F32(5, 8)}},
    {SH_OP_transpose, {.order = {2, 0, 3, 1}}, .in = {F32(2, 3, 4, 5)}},
    {SH_OP_transpose, {.order = {0, 2, 1}}, .in = {F32(2, 3, 4)}},
    {SH_OP_layer_norm, {.number = 1e-5f}, .in = {F32(4, 3, 17), F32(17), F32(17)}},
    {SH_OP_layer_norm, {.number = 1e-3f}, .in = {F32(6), F32(6), F32(6)}},
    {SH_OP_group_norm, {.number = 1e-5f, .groups = 2}, .in = {F32(3, 6, 4, 5), F32(6), F32(6)}},
    {SH_OP_group_norm, {.number = 1e-5f, .groups = 1}, .in = {F32(2, 8), F32(8), F32(8)}},
    {SH_OP_group_norm, {.number = 1e-5f, .groups = 5}, .in = {F32(2, 5, 9), F32(5), F32(5)}},
    {SH_OP_mse, {0}, .in = {F32(4, 3, 2), F32(4, 3, 2)}},
    {SH_OP_mse, {0}, .in = {F32(5), F32(5)}},
    {SH_OP_binary_cross_entropy, {0}, .in = {F32(4, 3), F32(4, 3)}, .held = 2},
    {SH_OP_binary_cross_entropy, {0}, .in = {F32(2, 300), F32(2, 300)}, .held = 2},
    {SH_OP_binary_cross_entropy_grad, {0}, .in = {F32(4, 3), F32(4, 3), F32(4)}},
    {SH_OP_add, {0}, .in = {F32(2, 3, 4), F32(2, 3, 4)}},
    {SH_OP_reshape, {SHAPE(6, 4)}, .in = {F32(2, 3, 4)}},
    {SH_OP_cross_entropy, {0}, .in = {F32(6, 10), I32(6)}},
    {SH_OP_cross_entropy, {.number = 0.1f}, .in = {F32(6, 10), I32(6)}},
    {SH_OP_cross_entropy_grad, {0}, .in = {F32(6, 10), I32(6), F32(6)}},
    {SH_OP_argmax, {0}, .in = {F32(6, 10)}},
};

#define OP_CASE_COUNT (sizeof op_cases / sizeof *op_cases)

#endif
