/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built-in models: from a name with parameters to a graph.
 *
 *     sh_graph *graph;
 *     SH_TRY(sh_model_build(&graph, "mlp:784-128-10", &problem, 16, SH_MODEL_TRAIN));
 *     fill(weights, graph->parameters);
 *
 * Inputs of the graph: 0 samples [N, C, H, W]; 1 labels [N] (i32); for training 2 the gradient of
 * each sample's loss [N], 1/B for a batch of B. Outputs: 0 loss of each sample [N]; 1 predicted
 * class [N] (i32).
 *
 * Threads: any.
 */
#ifndef SHOAL_MODEL_MODEL_H
#define SHOAL_MODEL_MODEL_H

#include "graph/graph.h"

/* What the data asks of a model. */
typedef struct sh_problem {
    size_t channels, height, width; /* of one sample */
    size_t classes;
} sh_problem;

typedef enum sh_model_mode {
    SH_MODEL_TRAIN,    /* forward, backward, gradients of all parameters */
    SH_MODEL_EVALUATE, /* forward only */
} sh_model_mode;

/* A family of models. */
typedef struct sh_model_def {
    const char *name;
    const char *usage;   /* how it is written: "mlp:INPUTS-HIDDEN-...-CLASSES" */
    const char *summary; /* one line for people */
    const char *example; /* a spec that fits `example_problem` */
    sh_problem example_problem;

    /*
     * Adds the layers from samples to logits [N, classes]. `parameters` is what stands behind the
     * colon, or NULL. Failures stay in the graph.
     */
    sh_value_id (*build)(sh_graph *graph, sh_value_id samples, const char *parameters,
                         const sh_problem *problem);
} sh_model_def;

/* All families; `name` NULL ends the list. */
const sh_model_def *const *sh_model_all(void);

/*
 * Builds `spec` ("lenet", "mlp:784-10") for grains of `samples` samples. SH_INVALID says what is
 * wrong with the spec, which models there are, or how it does not fit the problem. The graph is
 * owned.
 */
sh_status sh_model_build(sh_graph **graph, const char *spec, const sh_problem *problem,
                         size_t samples, sh_model_mode mode) SHOAL_CHECKED;

/* Number of weights in all parameters. */
size_t sh_model_weights(const sh_graph *graph);

/*
 * Fills `weights` (sh_model_weights floats, parameters one after the other) as the graph says, from
 * numbers that depend on the seed and the parameter's position alone.
 */
void sh_model_initialise(const sh_graph *graph, uint64_t seed, float *weights);

#endif
