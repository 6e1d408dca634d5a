/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model in integers of 8 bits, for runtimes that compute with them: static quantisation as pairs
 * of QuantizeLinear and DequantizeLinear.
 *
 *     const sh_onnx_grids grids = {.of = by_node, .input = input};
 *     SH_TRY(sh_onnx_quantise(&made, model, &grids, SH_ONNX_QUANTISED, &arena));
 *
 * Layers (Conv, Gemm, MatMul with weights of the file) get weights of int8, with a scale for each
 * output, biases of int32, and an input of uint8. Two weights of an output are at most 128 steps
 * together (an instruction of AVX2 adds two products in 16 bits, with saturation), but in depthwise
 * convolutions. Add, Concat and average pools between layers work
 * on integers as well, and what moves elements or takes the largest passes them on. A rectifier
 * behind a layer or an Add becomes part of it. All else stays float32.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_QUANTISE_H
#define SHOAL_ONNX_QUANTISE_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

#define SH_ONNX_QUANTISE_OPSET 13 /* the first that has a scale for each output */

/* An integer q of 0 to 255 stands for (q - zero) * scale. */
typedef struct sh_onnx_grid {
    float scale; /* 0: not known, which keeps the value float */
    uint8_t zero;
} sh_onnx_grid;

typedef struct sh_onnx_grids {
    const sh_onnx_grid *of; /* by node of the model: of its first output */
    sh_onnx_grid input;     /* of the model's input */
} sh_onnx_grids;

typedef enum sh_onnx_quantised {
    SH_ONNX_QUANTISED, /* integers, as above */
    /* The same in float32, by Div, Add, Sub, Clip and Mul: every value on its grid, weights and
     * biases under their own names. What integers make differs from it by rounding alone. */
    SH_ONNX_SIMULATED,
} sh_onnx_quantised;

/*
 * Makes `*made` of `model`, which stays as it is; it borrows from model and arena. Tensors have
 * raw_data. SH_UNSUPPORTED: an operator set before 13, or no layer that can be quantised.
 */
sh_status sh_onnx_quantise(Sh__Onnx__ModelProto **made, const Sh__Onnx__ModelProto *model,
                           const sh_onnx_grids *grids, sh_onnx_quantised form,
                           sh_arena *arena) SHOAL_CHECKED;

#endif
