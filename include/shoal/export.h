/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands a trained model over to other programs.
 *
 *     sh_model_export options = {.weights = "runs/one", .output = "model.onnx"};
 *     sh_model_exported result;
 *     if (sh_export_model(&options, &result) == SH_OK)
 *         printf("%llu bytes\n", (unsigned long long)result.bytes);
 *
 * Threads: the call blocks, and may be made from any thread.
 */
#ifndef SHOAL_EXPORT_H
#define SHOAL_EXPORT_H

#include <stdint.h>

#include "shoal/train.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sh_model_format {
    /* A graph of ONNX's operators (version 17) from "input" [N, C, H, W] to "output" [N, outputs]:
     * logits of classes or labels, or numbers. A network that came from a file has the nodes, names
     * and versions of its file. Its metadata_props say what else has to be known:
     * names, task, imgsz, channels, mean, std (of pixels from 0 to 1) as Ultralytics and timm name
     * them, and for sh_eval and sh_predictor_open shoal.trained and shoal.job, all that a
     * checkpoint says of its data and how these are read. */
    SH_MODEL_AS_ONNX,
    /* The weights under their names, without the optimiser's state and what else a checkpoint has;
     * shoal.trained stands in the metadata. */
    SH_MODEL_AS_SAFETENSORS,
    /* The same tensors as NumPy's arrays, uncompressed: numpy.load("model.npz")["conv1.weight"]. */
    SH_MODEL_AS_NPZ,
} sh_model_format;

typedef struct sh_model_export {
    const char *weights; /* a run's folder, or a checkpoint */
    const char *output;  /* the file that is written or replaced, whole or not at all */
    sh_model_format format;
    int last; /* of a run, the last checkpoint even where there is a best one */
    int bake; /* ONNX of images: "input" takes pixels from 0 to 255 and is normalised inside */
    int fold; /* ONNX: batch normalisations become part of the layers before them */

    /* ONNX: weights and values in integers of 8 bits, as QuantizeLinear and DequantizeLinear say;
     * their ranges are those on this many training samples, in groups of 16, which have to be there
     * still. Batch normalisations are folded. 0: float32. */
    uint32_t int8;
} sh_model_export;

/* On the validation samples; NaN what the data do not have, as in sh_eval_result. */
typedef struct sh_model_figures {
    double loss, accuracy, mae;
} sh_model_figures;

typedef struct sh_model_quantised {
    sh_model_figures before, after; /* in float32, in integers */
    uint64_t samples;               /* measured; 0: the model was not quantised */
} sh_model_quantised;

typedef struct sh_model_exported {
    char model[SH_MODEL_BYTES];
    char weights[SH_RUN_BYTES]; /* the file that they are from */
    uint64_t parameters, bytes; /* weights, of the file */
    sh_model_quantised quantised;
} sh_model_exported;

/* Whether a file's name ends as one of the formats, and which. */
SHOAL_API int sh_model_format_of_file(sh_model_format *format, const char *path);

/* SH_NOT_FOUND, SH_FORMAT: no checkpoint, or one without what is needed. SH_UNSUPPORTED: the model
 * has no such form. */
SHOAL_API sh_status sh_export_model(const sh_model_export *options,
                                    sh_model_exported *result) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
