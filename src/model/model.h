/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: builds a graph from a name with parameters or from an imported network.
 *
 *     sh_model_options options = {.spec = "mlp:784-128-10", .problem = {1, 28, 28, 10}};
 *     SH_TRY(sh_model_build(&graph, &options, 16, SH_MODEL_TRAIN));
 *     sh_model_initialise(graph, seed, weights);
 *
 * Inputs of the graph, in the order of sh_model_input:
 *
 *     samples         [N, C, H, W]
 *     targets         classes [N] (i32); labels or numbers [N, outputs]; if samples are their own
 *                     targets, [N] (i32), unused
 *     loss weights    training: [N], weight of each sample's loss, 1/B for a batch of B
 *     keys            training: [N, 2] (i32), each sample's random keys
 *     other targets   training with mixed classes: [N] (i32), a second class
 *     shares          likewise: [N] and [N], weights of both classes in the loss
 *
 * Outputs: 0 loss of each sample [N]; 1 the prediction: for classes the most likely one [N] (i32),
 * else output 3; 2 the target of the loss; 3 the last layer's output [N, outputs]: logits of
 * classes and labels, or numbers.
 *
 * Threads: any.
 */
#ifndef SHOAL_MODEL_MODEL_H
#define SHOAL_MODEL_MODEL_H

#include "graph/layers.h"
#include "onnx/network.h"
#include "tensor/target.h"

typedef struct sh_problem {
    size_t channels, height, width; /* of one sample */
    size_t outputs;                 /* classes, labels or numbers */
    sh_target target;
} sh_problem;

typedef enum sh_model_mode {
    SH_MODEL_TRAIN,    /* forward, backward, gradients of all parameters */
    SH_MODEL_EVALUATE, /* forward only */
} sh_model_mode;

typedef enum sh_model_input {
    SH_MODEL_SAMPLES,
    SH_MODEL_TARGETS,
    SH_MODEL_LOSS_WEIGHTS, /* this and the following: training only */
    SH_MODEL_KEYS,
    SH_MODEL_OTHER_TARGETS, /* this and the following: mixed classes only */
    SH_MODEL_SHARES,
    SH_MODEL_OTHER_SHARES,
} sh_model_input;

/* Pointers are borrowed for the call. */
typedef struct sh_model_options {
    const char *spec;          /* "lenet", "resnet:20"; of imported networks: onnx/network.h */
    const sh_network *network; /* the imported network, or NULL */
    sh_problem problem;
    float label_smoothing; /* 0: none */
    bool mixed;            /* training samples have two classes (mixup, cutmix) */
    bool keeps_dropout;    /* evaluation: dropout nodes remain, for export, not for running */
    const char *frozen;    /* globs of parameters to freeze (graph/layers.h), or NULL */
    void (*note)(void *context, const char *text); /* reports a change to an imported model */
    void *context;                                 /* of `note`, which may be NULL */
} sh_model_options;

typedef struct sh_model_def {
    const char *name;
    const char *usage;   /* "cnn1d[:CHANNELS-...]" */
    const char *summary; /* one line for users */
    const char *example; /* fits `example_problem` */
    sh_problem example_problem;

    /*
     * Adds the layers and returns the model's output [N, outputs]. `parameters` follows the spec's
     * colon, or is NULL. Failures are recorded in the graph.
     */
    sh_value_id (*build)(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem);
} sh_model_def;

#define SH_MODEL(name) extern const sh_model_def sh_model_##name;
#include "model/models.def"
#undef SH_MODEL

/* Terminated by NULL; static. */
const sh_model_def *const *sh_model_all(void);

/* The family of a spec: "resnet" for "resnet:20". `*def` is static. SH_INVALID, listing the
 * families, if there is none. */
sh_status sh_model_find(const sh_model_def **def, const char *spec) SHOAL_CHECKED;

/*
 * Builds a model for grains of `samples` samples. The caller owns *graph. SH_INVALID if the spec is
 * malformed or unknown or does not fit the problem, or if all parameters are frozen. An imported
 * model also fails without a network, or if that cannot be trained.
 */
sh_status sh_model_build(sh_graph **graph, const sh_model_options *options, size_t samples,
                         sh_model_mode mode) SHOAL_CHECKED;

/* Number of weights in all tensors; sh_model_parameters leaves out running statistics (the usual
 * parameter count). */
size_t sh_model_weights(const sh_graph *graph);
size_t sh_model_parameters(const sh_graph *graph);

/*
 * `weights` has sh_model_weights floats, in the order of the parameters. The random numbers depend
 * only on the seed and the parameter's index.
 */
void sh_model_initialise(const sh_graph *graph, uint64_t seed, float *weights);

/* The same for the parameter with this index only. */
void sh_model_initialise_tensor(const sh_graph *graph, size_t index, uint64_t seed, float *weights);

#endif
