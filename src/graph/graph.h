/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A computation as data: values (typed tensors) and the nodes that make them, in order of
 * execution.
 *
 *     sh_graph *graph;
 *     SH_TRY(sh_graph_new(&graph));
 *     sh_value_id x = sh_graph_input(graph, (sh_type){SH_F32, shape});
 *     sh_value_id y = sh_graph_add(graph, SH_OP_relu, NULL, &x, NULL);    // or graph/layers.h
 *     SH_TRY(sh_graph_status(graph));
 *
 * Building is a chain: after the first failure every call returns SH_NO_VALUE and does nothing, and
 * sh_graph_status tells what went wrong, so that models need no check a line.
 *
 * Threads: caller locks. A finished graph is constant.
 */
#ifndef SHOAL_GRAPH_GRAPH_H
#define SHOAL_GRAPH_GRAPH_H

#include "base/memory.h"
#include "graph/op.h"

/* How a parameter is filled before the first step. */
typedef struct sh_initial {
    enum {
        SH_INITIAL_CONSTANT, /* `size` everywhere; {0}: zeros */
        SH_INITIAL_UNIFORM,  /* in [-size, size) */
        SH_INITIAL_NORMAL,   /* mean 0, standard deviation `size` */
        SH_INITIAL_VALUES,   /* `values`, of each element; the graph copies them */
    } kind;
    float size;
    const float *values;
} sh_initial;

/* What a step does to a parameter. */
typedef enum sh_role {
    SH_ROLE_TRAINED,   /* the optimiser follows its gradient */
    SH_ROLE_STATISTIC, /* a moving average follows what the grains measure, its "gradient" */
    SH_ROLE_FROZEN,    /* nothing */
} sh_role;

#define SH_MOMENTUM 0.1f /* of a moving average: PyTorch's default */

/* A tensor of weights. */
typedef struct sh_parameter {
    const char *name; /* torchvision's where the architecture is theirs; lives with the graph */
    sh_value_id value;
    sh_value_id gradient; /* trained: SH_NO_VALUE before sh_graph_differentiate; frozen: always */
    sh_role role;
    bool statistic; /* a moving average, frozen or not: no parameter by usual counts */
    float momentum; /* of a moving average: SH_MOMENTUM, unless sh_graph_set_momentum was called */
    sh_initial initial;
} sh_parameter;

typedef struct sh_value {
    sh_type type;
    bool wants_gradient; /* depends on a parameter */
} sh_value;

/* Transparent for reading: iterate the lists. Only the functions below change it. */
typedef struct sh_graph {
    sh_value *values;
    size_t value_count, value_capacity;
    sh_node *nodes; /* in order of execution */
    size_t node_count, node_capacity;
    size_t forward_count;     /* nodes before sh_graph_differentiate, which adds backward's */
    sh_parameter *parameters; /* in order of declaration */
    size_t parameter_count, parameter_capacity;
    sh_value_id *inputs; /* in order of declaration */
    size_t input_count, input_capacity;
    sh_value_id *outputs; /* what a run leaves to be read, in order of declaration */
    size_t output_count, output_capacity;
    sh_arena names;
    sh_status status; /* of the first failure */
    char message[SH_MESSAGE_BYTES];
} sh_graph;

sh_status sh_graph_new(sh_graph **graph) SHOAL_CHECKED;
void sh_graph_free(sh_graph *graph);

/* SH_OK, or the first failure of any call below, with its message; the second forgets it, for
 * builders that go on to find all that is wrong. */
sh_status sh_graph_status(const sh_graph *graph) SHOAL_CHECKED;
sh_status sh_graph_take_failure(sh_graph *graph) SHOAL_CHECKED;

/* Keeps the first failure: for builders that find something wrong. Always returns SH_NO_VALUE. */
sh_value_id sh_graph_failed(sh_graph *graph, sh_status status);

/* A value that each execution is given. */
sh_value_id sh_graph_input(sh_graph *graph, sh_type type);
/* A tensor of weights. `name` and initial values are copied. */
sh_value_id sh_graph_parameter(sh_graph *graph, const char *name, sh_type type, sh_role role,
                               sh_initial initial);
/* Sets how far the moving average `parameter` moves each step: in [0, 1]. */
void sh_graph_set_momentum(sh_graph *graph, sh_value_id parameter, float momentum);
/* Lets parameter number `index` stay as it is. Before anything is computed from it. */
void sh_graph_freeze(sh_graph *graph, size_t index);

/* Lets a moving average follow `measured`, of its type, summed over the grains of a step. */
void sh_graph_measure(sh_graph *graph, sh_value_id parameter, sh_value_id measured);

/*
 * Applies an operator: infers the types of its outputs and appends the node. `in` has as many
 * values as the operator's definition says, SH_NO_VALUE for optional ones that are missing. Returns
 * the first output, and writes all to `out` unless it is NULL (SH_NO_VALUE for those that there are
 * not, and on failure). NULL attributes: zeros.
 */
sh_value_id sh_graph_add(sh_graph *graph, sh_op op, const sh_attributes *attributes,
                         const sh_value_id *in, sh_value_id *out);

/* Keeps a value readable after a run. */
void sh_graph_output(sh_graph *graph, sh_value_id value);

/*
 * Appends nodes that compute, for every trained parameter, the gradient of sum(seed * value), and
 * sets its `gradient`. `seed` has the type of `value`. A trained parameter that `value` does not
 * depend on is a failure.
 */
void sh_graph_differentiate(sh_graph *graph, sh_value_id value, sh_value_id seed);

/* As above for one value instead of all parameters; for tests. SH_NO_VALUE where it has none. */
sh_value_id sh_graph_gradient_of(sh_graph *graph, sh_value_id value, sh_value_id seed,
                                 sh_value_id with_respect_to);

/*
 * For grad: the gradient of input 0 is what `op` makes of dy and `kept` (SH_NO_VALUE: of dy alone),
 * with the node's settings and the shape of input 0.
 */
void sh_graph_grad_of_first(const sh_op_backward *backward, sh_op op, sh_value_id kept);

/*
 * Checks the whole graph: operands are defined before use and once, types are those that infer
 * gives, gradients have their parameters' types. SH_INTERNAL names the node.
 */
sh_status sh_graph_verify(const sh_graph *graph) SHOAL_CHECKED;

/* The work of a node: what a cost model multiplies by a device's rates. */
typedef struct sh_cost {
    double flops; /* a multiply-add counts as two */
    double bytes; /* read and written, each operand once */
} sh_cost;
sh_cost sh_graph_cost(const sh_graph *graph, const sh_node *node);

/* The type of a value; SH_NO_VALUE is a programmer's error. */
static inline const sh_type *sh_graph_type(const sh_graph *graph, sh_value_id value)
{
    return &graph->values[value].type;
}

#endif
