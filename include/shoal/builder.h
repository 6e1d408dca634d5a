/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a model layer by layer.
 *
 *     sh_builder *own;
 *     if (sh_builder_new(&own, 1, 8, 8) != SH_OK)
 *         exit(1);
 *     const sh_conv_layer wide = {.channels = 16, .kernel = 3, .padding = 1};
 *     sh_layer x = sh_build_conv(own, sh_build_samples(own), "conv1", &wide);
 *     x = sh_build_apply(own, "Relu", sh_build_batch_norm(own, x, "bn1"));
 *     x = sh_build_dense(own, sh_build_flatten(own, x), "fc", 10);
 *     if (sh_builder_finish(own, x, "own", options.job.model) != SH_OK)
 *         fprintf(stderr, "%s\n", sh_message());
 *     sh_builder_free(own);
 *
 * The result is an ONNX network without weights. sh_train accepts it as the job's model, sends it
 * to joining devices and saves it in the run. The job's seed initialises the weights NAME.weight,
 * uniform in +-1/sqrt(fan-in); biases NAME.bias are 0, norms 1 and 0. Shapes are those of ONNX:
 * images [N, C, H, W], lines [N, C, L], rows [N, F], steps [N, T, F].
 *
 * After a failure, each call returns SH_NO_LAYER and accepts it as an input; sh_builder_finish
 * reports the first failure. Texts and arrays are copied.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BUILDER_H
#define SHOAL_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shoal/job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_NO_LAYER UINT32_MAX

typedef struct sh_builder sh_builder;
typedef uint32_t sh_layer; /* the output of a layer */

/* Begins a model for samples [channels, height, width], after --resize. `*builder` is owned:
 * sh_builder_free. */
SHOAL_API sh_status sh_builder_new(sh_builder **builder, size_t channels, size_t height,
                                   size_t width) SHOAL_CHECKED;

/* The samples [N, channels, height, width]. */
SHOAL_API sh_layer sh_build_samples(sh_builder *builder);

/* ---- layers with weights --------------------------------------------------------------------- */

/* 0 means: stride 1, dilation 1, groups 1, no padding, widths equal to the heights. */
typedef struct sh_conv_layer {
    size_t channels; /* of the output */
    size_t kernel, kernel_width;
    size_t stride, stride_width;
    size_t padding, padding_width;
    size_t dilation, groups;
    size_t output_padding; /* transposed: rows and columns added at the end */
    bool transposed;
    bool no_bias;
} sh_conv_layer;

/* x: images or lines. */
SHOAL_API sh_layer sh_build_conv(sh_builder *builder, sh_layer x, const char *name,
                                 const sh_conv_layer *of);

/* x [..., F] -> [..., outputs]. */
SHOAL_API sh_layer sh_build_dense(sh_builder *builder, sh_layer x, const char *name,
                                  size_t outputs);

/* x [N, C, ...]. Also makes NAME.running_mean and NAME.running_var. */
SHOAL_API sh_layer sh_build_batch_norm(sh_builder *builder, sh_layer x, const char *name);

/* Normalises each sample over the last dimension. */
SHOAL_API sh_layer sh_build_layer_norm(sh_builder *builder, sh_layer x, const char *name);

/* x [N, ...], integers below `entries` -> [N, ..., width]. */
SHOAL_API sh_layer sh_build_embedding(sh_builder *builder, sh_layer x, const char *name,
                                      size_t entries, size_t width);

/* Self-attention: x [N, T, F] -> [N, T, F]; F is a multiple of `heads`. Weights: NAME.query, key,
 * value and out. */
SHOAL_API sh_layer sh_build_attention(sh_builder *builder, sh_layer x, const char *name,
                                      size_t heads);

/* `cell` is "LSTM", "GRU" or "RNN". x [N, T, F] -> the outputs of all steps, [N, T, units], or [N,
 * T, 2 units] with `both` directions. Weights: NAME.weight_x, NAME.weight_h and NAME.bias. */
SHOAL_API sh_layer sh_build_recurrent(sh_builder *builder, sh_layer x, const char *name,
                                      const char *cell, size_t units, bool both);

/* A trained tensor for sh_build_node: the weights of a dense layer, convolution or norm, or an
 * operand of an addition or multiplication. */
SHOAL_API sh_layer sh_build_weight(sh_builder *builder, const char *name, const size_t *shape,
                                   size_t rank);

/* ---- layers without weights ------------------------------------------------------------------ */

/* 0 means: stride equal to the kernel, no padding. */
SHOAL_API sh_layer sh_build_max_pool(sh_builder *builder, sh_layer x, size_t kernel, size_t stride,
                                     size_t padding);
SHOAL_API sh_layer sh_build_avg_pool(sh_builder *builder, sh_layer x, size_t kernel, size_t stride,
                                     size_t padding);

/* The mean of each channel: x [N, C, ...] -> [N, C]. */
SHOAL_API sh_layer sh_build_global_pool(sh_builder *builder, sh_layer x);

/* In training, sets elements to 0 with probability p and divides the rest by 1 - p. */
SHOAL_API sh_layer sh_build_dropout(sh_builder *builder, sh_layer x, float p);

/* Softmax along the last dimension. Do not end a classifier with it: the loss includes it. */
SHOAL_API sh_layer sh_build_softmax(sh_builder *builder, sh_layer x);

SHOAL_API sh_layer sh_build_flatten(sh_builder *builder, sh_layer x); /* [N, the rest] */

/* A size of 0 copies the dimension of x (required for the first, the samples). At most one size is
 * -1: the remaining elements. */
SHOAL_API sh_layer sh_build_reshape(sh_builder *builder, sh_layer x, const int64_t *shape,
                                    size_t rank);

/* Dimension i of the output is dimension order[i] of x; `order` has the rank of x. */
SHOAL_API sh_layer sh_build_transpose(sh_builder *builder, sh_layer x, const size_t *order);

/* Concatenates along dimension `axis`. */
SHOAL_API sh_layer sh_build_concat(sh_builder *builder, const sh_layer *x, size_t count,
                                   size_t axis);

/* ---- any operator ---------------------------------------------------------------------------- */

/* An ONNX operator with one input and no attributes: "Relu", "Sigmoid", "HardSwish", "Identity"
 * ... */
SHOAL_API sh_layer sh_build_apply(sh_builder *builder, const char *op, sh_layer x);

/* With two inputs; dimensions of 1 are broadcast: "Add", "Sub", "Mul", "Div", "MatMul" ... */
SHOAL_API sh_layer sh_build_pair(sh_builder *builder, const char *op, sh_layer a, sh_layer b);

/* Constants: numbers; a list of integers, for shapes and axes. */
SHOAL_API sh_layer sh_build_numbers(sh_builder *builder, const float *values, const size_t *shape,
                                    size_t rank);
SHOAL_API sh_layer sh_build_integers(sh_builder *builder, const int64_t *values, size_t count);

/*
 * Any operator of ONNX opset 20 that docs/models.md lists; returns its first output. SH_NO_LAYER
 * marks an absent input. `settings`: the attributes as ONNX prints them, "axis = 1, pads = [1, 1],
 * alpha = 0.5, mode = \"linear\"", or NULL. Integers have no decimal point.
 */
SHOAL_API sh_layer sh_build_node(sh_builder *builder, const char *op, const sh_layer *inputs,
                                 size_t count, const char *settings);

/* ---- the end --------------------------------------------------------------------------------- */

/*
 * Completes the model with output `result`, [N, outputs]: logits of classes or labels, or numbers.
 * Writes the network to the cache folder, where sh_train finds it, and its name NAME.onnx@DIGEST to
 * `model`, for the job. Fails with the first failure of building, or lists all that cannot be
 * trained.
 */
SHOAL_API sh_status sh_builder_finish(sh_builder *builder, sh_layer result, const char *name,
                                      char model[SH_MODEL_BYTES]) SHOAL_CHECKED;

/* Likewise, but writes a file, for `shoal train FILE.onnx` and other programs. */
SHOAL_API sh_status sh_builder_save(sh_builder *builder, sh_layer result,
                                    const char *path) SHOAL_CHECKED;

/* NULL is allowed. */
SHOAL_API void sh_builder_free(sh_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
