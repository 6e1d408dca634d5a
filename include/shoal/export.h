/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a trained model for other programs.
 *
 *     sh_model_export options = {.weights = "runs/one", .output = "model.onnx"};
 *     sh_model_exported result;
 *     if (sh_export_model(&options, &result) == SH_OK)
 *         printf("%llu bytes\n", (unsigned long long)result.bytes);
 *
 * Threads: any; the call blocks.
 */
#ifndef SHOAL_EXPORT_H
#define SHOAL_EXPORT_H

#include <stdint.h>

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sh_model_format {
    /* An ONNX graph (opset 17) from "input" [N, C, H, W] to "output" [N, outputs]: logits of
     * classes or labels, or numbers. An imported network keeps its nodes, names and versions.
     * metadata_props has names, task, imgsz, channels, mean, std (of pixels from 0 to 1) as in
     * Ultralytics and timm, and, for sh_eval and sh_predictor_open, shoal.trained and shoal.job:
     * all that a checkpoint says of its data and of reading them. */
    SH_MODEL_AS_ONNX,
    /* The weights with their names, without the optimiser's state; the metadata have
     * shoal.trained. */
    SH_MODEL_AS_SAFETENSORS,
    /* The same tensors as uncompressed NumPy arrays: numpy.load("model.npz")["conv1.weight"]. */
    SH_MODEL_AS_NPZ,
} sh_model_format;

typedef struct sh_model_export {
    const char *weights; /* run folder or checkpoint */
    const char *output;  /* file; replaced atomically */
    sh_model_format format;
    int last; /* of a run: the last checkpoint instead of the best */
    int bake; /* ONNX of images: "input" takes pixels from 0 to 255; the graph normalises them */
    int fold; /* ONNX: folds batch normalisations into the preceding layers */

    /* ONNX: 8-bit weights and values with QuantizeLinear and DequantizeLinear. Takes their ranges
     * from this many training samples, in groups of 16, which must still exist. Folds batch norms.
     * 0: float32. */
    uint32_t int8;
} sh_model_export;

/* On the validation samples; NaN if the data do not have it, as in sh_eval_result. */
typedef struct sh_model_figures {
    double loss, accuracy, mae;
} sh_model_figures;

typedef struct sh_model_quantised {
    sh_model_figures before, after; /* float32, integers */
    uint64_t samples;               /* measured; 0: not quantised */
} sh_model_quantised;

typedef struct sh_model_exported {
    char model[SH_MODEL_BYTES];
    char weights[SH_RUN_BYTES]; /* their file */
    uint64_t parameters, bytes; /* of the weights, of the written file */
    sh_model_quantised quantised;
} sh_model_exported;

/* Finds the format of a file name by its ending; 0: none. */
SHOAL_API int sh_model_format_of_file(sh_model_format *format, const char *path);

/* SH_NOT_FOUND: no checkpoint. SH_FORMAT: it lacks something. SH_UNSUPPORTED: the model has no such
 * form. */
SHOAL_API sh_status sh_export_model(const sh_model_export *options,
                                    sh_model_exported *result) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
