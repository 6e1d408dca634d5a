/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static quantisation of a model to 8-bit integers, as pairs of QuantizeLinear and
 * DequantizeLinear, for runtimes with integer arithmetic.
 *
 * Layers (Conv, Gemm, and MatMul with weights from the file) get int8 weights with a scale for each
 * output, int32 biases and a uint8 input. Add, Concat and average pools between layers also work on
 * integers. Operators that move elements or take the largest pass integers on. A Relu or Clip after
 * a layer or an Add becomes part of it. Everything else stays float32.
 *
 * Except in depthwise convolutions, any two weights of an output are at most 128 steps together: an
 * AVX2 instruction adds two products in 16 bits, with saturation.
 *
 *     const sh_onnx_grids grids = {.of = by_node, .input = input};
 *     SH_TRY(sh_onnx_quantise(&made, model, &grids, SH_ONNX_QUANTISED, &arena));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_QUANTISE_H
#define SHOAL_ONNX_QUANTISE_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

#define SH_ONNX_QUANTISE_OPSET 13 /* the first with a scale for each output */

/* An integer q of 0 to 255 represents (q - zero) * scale. */
typedef struct sh_onnx_grid {
    float scale; /* 0: not known, the value stays float */
    uint8_t zero;
} sh_onnx_grid;

typedef struct sh_onnx_grids {
    const sh_onnx_grid *of; /* by node of the model, for its first output */
    sh_onnx_grid input;     /* for the model's input */
} sh_onnx_grids;

typedef enum sh_onnx_quantised {
    SH_ONNX_QUANTISED, /* integers, as above */
    /* The same arithmetic in float32, by Div, Add, Sub, Clip and Mul. Every value is on its
     * grid. Weights and biases keep their names. The integer model differs from it only by
     * rounding. */
    SH_ONNX_SIMULATED,
} sh_onnx_quantised;

/* The result borrows from the model, which is not changed, and from the arena. Tensors must have
 * raw_data. SH_UNSUPPORTED if the operator set is older than 13 or no layer can be quantised. */
sh_status sh_onnx_quantise(Sh__Onnx__ModelProto **made, const Sh__Onnx__ModelProto *model,
                           const sh_onnx_grids *grids, sh_onnx_quantised form,
                           sh_arena *arena) SHOAL_CHECKED;

#endif
