/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a model before training: layers, weights, cost, and obstacles to training.
 *
 *     sh_model_description *about;
 *     if (sh_model_describe(&about, &(sh_describe_options){.model = "network.onnx"}) == SH_OK) {
 *         for (size_t i = 0; i < about->problem_count; i++)
 *             printf("%s: %s\n", about->problems[i].name, about->problems[i].reason);
 *         sh_model_description_free(about);
 *     }
 *
 * Threads: any.
 */
#ifndef SHOAL_DESCRIBE_H
#define SHOAL_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "shoal/about.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SH_DESCRIBE_NAME_BYTES 96
#define SH_DESCRIBE_TEXT_BYTES 512

typedef struct sh_describe_options {
    const char *model;              /* an ONNX file, or a built-in model: "resnet:20" */
    size_t channels, height, width; /* of a sample. 0: as in the file, or 3, 224, 224 if open there;
                                       of a built-in model, its example's */
} sh_describe_options;

/* A node of an imported network that depends on the samples, or an operator of a built-in model. */
typedef struct sh_described_layer {
    char name[SH_DESCRIBE_NAME_BYTES];      /* the node's; in a built-in model, its weights' */
    char operation[SH_DESCRIBE_NAME_BYTES]; /* "Conv" */
    char shape[64];                         /* of its output for one sample: "16x32x32" */
    uint64_t parameters;                    /* trained; shared weights count once */
    uint64_t multiply_adds;                 /* of a sample's forward pass: convolutions, products */
} sh_described_layer;

/* Why the model cannot be trained. */
typedef struct sh_described_problem {
    char name[SH_DESCRIBE_NAME_BYTES];      /* of the node, or "" */
    char operation[SH_DESCRIBE_NAME_BYTES]; /* of the node, or "" */
    char reason[SH_DESCRIBE_TEXT_BYTES];    /* with a remedy */
} sh_described_problem;

typedef struct sh_described_note {
    char text[SH_DESCRIBE_TEXT_BYTES];
} sh_described_note;

typedef struct sh_model_description {
    /* Of an ONNX file; "" and 0 for a built-in model. */
    char producer[SH_DESCRIBE_NAME_BYTES]; /* "pytorch 2.9.0" */
    int64_t opset, ir;
    char input[SH_DESCRIBE_NAME_BYTES];       /* name */
    char input_shape[SH_DESCRIBE_NAME_BYTES]; /* as in the file: "Nx3x224x224", '?' if open */
    char output[SH_DESCRIBE_NAME_BYTES];
    uint64_t baked;        /* the file's fixed batch size; 0: any */
    uint64_t norms;        /* batch norms */
    uint64_t folded;       /* convolutions with a folded batch norm, judged by names */
    uint64_t nodes, known; /* in the file; those that do not depend on samples */

    size_t channels, height, width; /* of a sample, as used for the figures */
    uint64_t outputs;               /* numbers per sample; 0: unknown */

    sh_described_layer *layers; /* in order of computation; owned, like the arrays below */
    size_t layer_count;
    uint64_t parameters, statistics, constants; /* elements: trained, running averages, fixed */
    uint64_t multiply_adds;

    sh_described_problem *problems; /* none: it can be trained */
    size_t problem_count;
    sh_described_note *notes; /* changes made for training, and other facts */
    size_t note_count;
    sh_model_memory memory; /* zeros if it cannot be trained */
} sh_model_description;

/*
 * `*description` is owned: sh_model_description_free. A model that cannot be trained is described
 * with its problems. Fails if the file cannot be read or is not an ONNX file, or if a built-in
 * model does not fit the samples.
 */
SHOAL_API sh_status sh_model_describe(sh_model_description **description,
                                      const sh_describe_options *options) SHOAL_CHECKED;

/* NULL is allowed. */
SHOAL_API void sh_model_description_free(sh_model_description *description);

#ifdef __cplusplus
}
#endif
#endif
