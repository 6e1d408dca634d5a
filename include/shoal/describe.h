/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All about a model before anybody trains it: layers, weights, cost, and what cannot be trained.
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
    size_t channels, height, width; /* of a sample; 0: as the file says, and 3, 224, 224 where it
                                       leaves them open; of a built-in one its example's */
} sh_describe_options;

/* A node of an imported network that computes with samples, or an operator of a built-in one. */
typedef struct sh_described_layer {
    char name[SH_DESCRIBE_NAME_BYTES];      /* the node's; of a built-in one its weights' */
    char operation[SH_DESCRIBE_NAME_BYTES]; /* "Conv" */
    char shape[64];                         /* of what it gives for a sample: "16x32x32" */
    uint64_t parameters;                    /* trained; weights that layers share count once */
    uint64_t multiply_adds;                 /* of one sample, forward: convolutions, products */
} sh_described_layer;

/* Why it cannot be trained. */
typedef struct sh_described_problem {
    char name[SH_DESCRIBE_NAME_BYTES];      /* of the node; "" where it is not about one */
    char operation[SH_DESCRIBE_NAME_BYTES]; /* of the node, or "" */
    char reason[SH_DESCRIBE_TEXT_BYTES];    /* and what to do about it */
} sh_described_problem;

typedef struct sh_described_note {
    char text[SH_DESCRIBE_TEXT_BYTES];
} sh_described_note;

typedef struct sh_model_description {
    /* Of an ONNX file; of a built-in model "" and 0. */
    char producer[SH_DESCRIBE_NAME_BYTES]; /* "pytorch 2.9.0" */
    int64_t opset, ir;
    char input[SH_DESCRIBE_NAME_BYTES]; /* its name */
    char
        input_shape[SH_DESCRIBE_NAME_BYTES]; /* as the file has it: "Nx3x224x224", '?' where open */
    char output[SH_DESCRIBE_NAME_BYTES];
    uint64_t baked;        /* samples that the file has as its batch; 0: any number */
    uint64_t norms;        /* batch norms */
    uint64_t folded;       /* convolutions into which the exporter folded one, as names say */
    uint64_t nodes, known; /* in the file, and how many of them need no samples */

    size_t channels, height, width; /* of a sample that the figures are for */
    uint64_t outputs;               /* numbers a sample; 0 where that is not known */

    sh_described_layer *layers; /* in order of computation; owned, as what follows */
    size_t layer_count;
    uint64_t parameters, statistics, constants; /* numbers: trained, running averages, fixed */
    uint64_t multiply_adds;

    sh_described_problem *problems; /* none: it can be trained */
    size_t problem_count;
    sh_described_note *notes; /* what is changed for training, and what to know */
    size_t note_count;
    sh_model_memory memory; /* zeros where it cannot be trained */
} sh_model_description;

/*
 * `*description` is owned: sh_model_description_free it. What cannot be trained is no failure, but
 * a description with problems. Fails where the file cannot be read or is no ONNX file, and where a
 * built-in model does not fit the samples.
 */
SHOAL_API sh_status sh_model_describe(sh_model_description **description,
                                      const sh_describe_options *options) SHOAL_CHECKED;

/* NULL is fine. */
SHOAL_API void sh_model_description_free(sh_model_description *description);

#ifdef __cplusplus
}
#endif
#endif
