/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: from a name with parameters, or an imported network, to a graph.
 *
 *     sh_model_options options = {.spec = "mlp:784-128-10", .problem = {1, 28, 28, 10}};
 *     sh_graph *graph;
 *     SH_TRY(sh_model_build(&graph, &options, 16, SH_MODEL_TRAIN));
 *     sh_model_initialise(graph, seed, weights);
 *
 * Inputs of the graph, by sh_model_input: samples [N, C, H, W]; targets, for classes [N] (i32), for
 * labels and numbers [N, outputs], for samples that are their own [N] (i32) without a meaning; for
 * training the weight of each sample's loss [N], 1/B for a batch of B, and keys of each sample's
 * random numbers [N, 2] (i32); for training with mixed classes a second class of each sample [N]
 * (i32) and the shares of both [N], with which their losses are added up. Outputs: 0 loss of each
 * sample [N]; 1 the model's answer: for classes the likeliest [N] (i32), else what the model gives;
 * 2 the target that the loss compares with; 3 what the model gives [N, outputs]: logits of classes
 * and labels, numbers.
 *
 * Threads: any.
 */
#ifndef SHOAL_MODEL_MODEL_H
#define SHOAL_MODEL_MODEL_H

#include "graph/layers.h"
#include "onnx/network.h"
#include "tensor/target.h"

/* What the data asks of a model. */
typedef struct sh_problem {
    size_t channels, height, width; /* of one sample */
    size_t outputs;                 /* of the model: classes, labels, numbers */
    sh_target target;
} sh_problem;

typedef enum sh_model_mode {
    SH_MODEL_TRAIN,    /* forward, backward, gradients of all parameters */
    SH_MODEL_EVALUATE, /* forward only */
} sh_model_mode;

typedef enum sh_model_input {
    SH_MODEL_SAMPLES,
    SH_MODEL_TARGETS,
    SH_MODEL_LOSS_WEIGHTS, /* training only, as what follows */
    SH_MODEL_KEYS,
    SH_MODEL_OTHER_TARGETS, /* mixed classes only, as what follows */
    SH_MODEL_SHARES,
    SH_MODEL_OTHER_SHARES,
} sh_model_input;

/* All of a job that decides a model's graph. Pointers are borrowed. */
typedef struct sh_model_options {
    const char *spec;          /* "lenet", "resnet:20"; of an imported one onnx/network.h */
    const sh_network *network; /* the imported one; else NULL */
    sh_problem problem;
    float label_smoothing; /* 0: none */
    bool mixed;            /* training samples of classes have two targets: mixup, cutmix */
    bool keeps_dropout;    /* evaluation: nodes of dropout are there, to be read, not computed */
    const char *frozen;    /* names of parameters that stay as they are (graph/layers.h), or NULL */
    void (*note)(void *context, const char *text); /* is told of changes to an imported model */
    void *context;                                 /* of `note`, which may be NULL */
} sh_model_options;

/* A family of models. */
typedef struct sh_model_def {
    const char *name;
    const char *usage;   /* how it is written: "cnn1d[:CHANNELS-...]" */
    const char *summary; /* one line for people */
    const char *example; /* a spec that fits `example_problem` */
    sh_problem example_problem;

    /*
     * Adds the layers from samples to what the model gives, [N, outputs]. `parameters` is what
     * stands behind the colon, or NULL. Failures stay in the graph.
     */
    sh_value_id (*build)(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem);
} sh_model_def;

#define SH_MODEL(name) extern const sh_model_def sh_model_##name;
#include "model/models.def"
#undef SH_MODEL

/* All families; NULL ends the list. */
const sh_model_def *const *sh_model_all(void);

/* Finds the family of a spec: "resnet:20" names "resnet". `*def` is static. SH_INVALID lists the
 * families. */
sh_status sh_model_find(const sh_model_def **def, const char *spec) SHOAL_CHECKED;

/*
 * Builds a model for grains of `samples` samples. SH_INVALID says what is wrong with the spec,
 * which models there are, how it does not fit the problem, or that all of it is frozen. An imported
 * one fails too if the options have no network, or it cannot be trained. The graph is owned.
 */
sh_status sh_model_build(sh_graph **graph, const sh_model_options *options, size_t samples,
                         sh_model_mode mode) SHOAL_CHECKED;

/* Number of weights in all tensors, and in all but running statistics: the usual count. */
size_t sh_model_weights(const sh_graph *graph);
size_t sh_model_parameters(const sh_graph *graph);

/*
 * Fills `weights` (sh_model_weights floats, parameters one after the other) as the graph says, from
 * numbers that depend on the seed and the parameter's position alone.
 */
void sh_model_initialise(const sh_graph *graph, uint64_t seed, float *weights);

/* The same for parameter number `index` alone. */
void sh_model_initialise_tensor(const sh_graph *graph, size_t index, uint64_t seed, float *weights);

#endif
