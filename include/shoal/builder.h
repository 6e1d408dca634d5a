/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of one's own, layer by layer.
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
 * What is built is an ONNX network without weights: sh_train takes it in the place of a model's
 * name, joining devices get it, and the run keeps it. Weights begin from the job's seed, uniform in
 * +-1/sqrt(fan-in), biases as 0, norms as 1 and 0; their names are NAME.weight and NAME.bias.
 * Shapes are ONNX's: images [N, C, H, W], lines [N, C, L], rows [N, F], steps [N, T, F].
 *
 * Building is a chain: after a failure each call gives SH_NO_LAYER, which each call takes, and
 * sh_builder_finish tells what went wrong. Texts and arrays are copied.
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
typedef uint32_t sh_layer; /* what a layer gives */

/* A model for samples [channels, height, width], as the data have them after --resize. `*builder`
 * is owned: sh_builder_free it. */
SHOAL_API sh_status sh_builder_new(sh_builder **builder, size_t channels, size_t height,
                                   size_t width) SHOAL_CHECKED;

/* The samples [N, channels, height, width]. */
SHOAL_API sh_layer sh_build_samples(sh_builder *builder);

/* ---- layers with weights ----------------------------------------------------------------------
 */

/* 0 means: stride 1, dilation 1, groups 1, no padding, widths as the heights. */
typedef struct sh_conv_layer {
    size_t channels; /* of what it gives */
    size_t kernel, kernel_width;
    size_t stride, stride_width;
    size_t padding, padding_width;
    size_t dilation, groups;
    size_t output_padding; /* transposed: rows and columns added at the end */
    bool transposed;
    bool no_bias;
} sh_conv_layer;

/* x of images or lines. */
SHOAL_API sh_layer sh_build_conv(sh_builder *builder, sh_layer x, const char *name,
                                 const sh_conv_layer *of);

/* x [..., F] -> [..., outputs]. */
SHOAL_API sh_layer sh_build_dense(sh_builder *builder, sh_layer x, const char *name,
                                  size_t outputs);

/* x [N, C, ...]; also NAME.running_mean and NAME.running_var. */
SHOAL_API sh_layer sh_build_batch_norm(sh_builder *builder, sh_layer x, const char *name);

/* Within each sample, over the last dimension. */
SHOAL_API sh_layer sh_build_layer_norm(sh_builder *builder, sh_layer x, const char *name);

/* x [N, ...] of whole numbers below `entries` -> [N, ..., width]. */
SHOAL_API sh_layer sh_build_embedding(sh_builder *builder, sh_layer x, const char *name,
                                      size_t entries, size_t width);

/* Each of T steps looks at all: x [N, T, F] -> the same shape; F is a multiple of `heads`. Weights:
 * NAME.query, key, value and out. */
SHOAL_API sh_layer sh_build_attention(sh_builder *builder, sh_layer x, const char *name,
                                      size_t heads);

/* `cell` is "LSTM", "GRU" or "RNN": x [N, T, F] -> what it gives at each step, [N, T, units], with
 * `both` directions [N, T, 2 units]. Weights: NAME.weight_x, NAME.weight_h and NAME.bias. */
SHOAL_API sh_layer sh_build_recurrent(sh_builder *builder, sh_layer x, const char *name,
                                      const char *cell, size_t units, bool both);

/* A tensor that is trained, for sh_build_node: where a dense layer, convolution or norm takes its
 * weights, or what is added to or multiplied with. */
SHOAL_API sh_layer sh_build_weight(sh_builder *builder, const char *name, const size_t *shape,
                                   size_t rank);

/* ---- layers without -------------------------------------------------------------------------- */

/* 0 means: as far apart as they are wide, no padding. */
SHOAL_API sh_layer sh_build_max_pool(sh_builder *builder, sh_layer x, size_t kernel, size_t stride,
                                     size_t padding);
SHOAL_API sh_layer sh_build_avg_pool(sh_builder *builder, sh_layer x, size_t kernel, size_t stride,
                                     size_t padding);

/* The mean of each channel: x [N, C, ...] -> [N, C]. */
SHOAL_API sh_layer sh_build_global_pool(sh_builder *builder, sh_layer x);

/* In training, zeros with probability p and divides the rest by 1 - p. */
SHOAL_API sh_layer sh_build_dropout(sh_builder *builder, sh_layer x, float p);

/* Numbers from 0 to 1 that add up to 1 along the last dimension. The loss of classes has its own:
 * a model ends with what would go into it. */
SHOAL_API sh_layer sh_build_softmax(sh_builder *builder, sh_layer x);

SHOAL_API sh_layer sh_build_flatten(sh_builder *builder, sh_layer x); /* [N, the rest] */

/* 0: as x has it (the first has to be, for the samples); -1, once: what is left. */
SHOAL_API sh_layer sh_build_reshape(sh_builder *builder, sh_layer x, const int64_t *shape,
                                    size_t rank);

/* Dimension i of what it gives is order[i] of x; as many as x has. */
SHOAL_API sh_layer sh_build_transpose(sh_builder *builder, sh_layer x, const size_t *order);

/* Behind each other along dimension `axis`. */
SHOAL_API sh_layer sh_build_concat(sh_builder *builder, const sh_layer *x, size_t count,
                                   size_t axis);

/* ---- any operator -----------------------------------------------------------------------------
 */

/* An operator of ONNX without settings on one layer: "Relu", "Sigmoid", "HardSwish", "Identity" ...
 */
SHOAL_API sh_layer sh_build_apply(sh_builder *builder, const char *op, sh_layer x);

/* And on two, dimensions of 1 repeated: "Add", "Sub", "Mul", "Div", "MatMul" ... */
SHOAL_API sh_layer sh_build_pair(sh_builder *builder, const char *op, sh_layer a, sh_layer b);

/* Constants: numbers, and a list of integers, for shapes and axes. */
SHOAL_API sh_layer sh_build_numbers(sh_builder *builder, const float *values, const size_t *shape,
                                    size_t rank);
SHOAL_API sh_layer sh_build_integers(sh_builder *builder, const int64_t *values, size_t count);

/*
 * Any operator of ONNX's operator set 20 that docs/models.md lists; gives its first output.
 * SH_NO_LAYER among the inputs is one that is not given. Settings are the operator's attributes as
 * ONNX prints them, "axis = 1, pads = [1, 1], alpha = 0.5, mode = \"linear\"", or NULL; integers
 * have no point.
 */
SHOAL_API sh_layer sh_build_node(sh_builder *builder, const char *op, const sh_layer *inputs,
                                 size_t count, const char *settings);

/* ---- the end ----------------------------------------------------------------------------------
 */

/*
 * Ends the model, which gives `result`, [N, outputs]: logits of classes or labels, or numbers.
 * `model` becomes what a job has as its model: NAME.onnx@DIGEST. The network goes into the cache
 * folder, from which sh_train takes it. Fails with the first failure of the building, and names
 * all that cannot be trained.
 */
SHOAL_API sh_status sh_builder_finish(sh_builder *builder, sh_layer result, const char *name,
                                      char model[SH_MODEL_BYTES]) SHOAL_CHECKED;

/* The same into a file, for `shoal train FILE.onnx` and others. */
SHOAL_API sh_status sh_builder_save(sh_builder *builder, sh_layer result,
                                    const char *path) SHOAL_CHECKED;

/* NULL is fine. */
SHOAL_API void sh_builder_free(sh_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
