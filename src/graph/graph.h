/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A computation graph: values (typed tensors) and the nodes that compute them, in order of
 * execution.
 *
 *     sh_value_id y = sh_graph_add(graph, SH_OP_relu, NULL, &x, NULL);    // or graph/layers.h
 *     SH_TRY(sh_graph_status(graph));
 *
 * The graph records the first failure. Afterwards all building functions do nothing and return
 * SH_NO_VALUE, so models need no check after each line.
 *
 * Threads: caller locks. A finished graph is constant.
 */
#ifndef SHOAL_GRAPH_GRAPH_H
#define SHOAL_GRAPH_GRAPH_H

#include "base/memory.h"
#include "graph/op.h"

typedef struct sh_initial {
    enum {
        SH_INITIAL_CONSTANT, /* `size` everywhere; {0}: zeros */
        SH_INITIAL_UNIFORM,  /* in [-size, size) */
        SH_INITIAL_NORMAL,   /* mean 0, standard deviation `size` */
        SH_INITIAL_VALUES,   /* `values`, one per element; copied by the graph */
    } kind;
    float size;
    const float *values;
} sh_initial;

/* How a training step changes a parameter. */
typedef enum sh_role {
    SH_ROLE_TRAINED,   /* the optimiser applies its gradient */
    SH_ROLE_STATISTIC, /* moving average of the value in `gradient`, which the grains measure */
    SH_ROLE_FROZEN,    /* not at all */
} sh_role;

#define SH_MOMENTUM 0.1f /* of a moving average: PyTorch's default */

typedef struct sh_parameter {
    const char *name; /* torchvision's for its architectures; owned by the graph */
    sh_value_id value;
    sh_value_id gradient; /* SH_NO_VALUE before sh_graph_differentiate, and if frozen */
    sh_role role;
    bool statistic; /* a moving average, even if frozen: not counted as a parameter */
    float momentum; /* see sh_graph_set_momentum */
    sh_initial initial;
} sh_parameter;

typedef struct sh_value {
    sh_type type;
    bool wants_gradient; /* depends on a parameter */
} sh_value;

/* Callers may read all fields. Only the functions of src/graph change them. */
typedef struct sh_graph {
    sh_value *values;
    size_t value_count, value_capacity;
    sh_node *nodes; /* in order of execution */
    size_t node_count, node_capacity;
    size_t forward_count;     /* nodes of the forward pass; set by sh_graph_differentiate */
    sh_parameter *parameters; /* in order of declaration */
    size_t parameter_count, parameter_capacity;
    sh_value_id *inputs; /* in order of declaration */
    size_t input_count, input_capacity;
    sh_value_id *outputs; /* readable after a run, in order of declaration */
    size_t output_count, output_capacity;
    sh_arena names;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
} sh_graph;

sh_status sh_graph_new(sh_graph **graph) SHOAL_CHECKED;
void sh_graph_free(sh_graph *graph);

/* Return SH_OK, or the first failure of any call below, with its message. sh_graph_take_failure
 * also clears it, for builders that continue in order to report all errors. */
sh_status sh_graph_status(const sh_graph *graph) SHOAL_CHECKED;
sh_status sh_graph_take_failure(sh_graph *graph) SHOAL_CHECKED;

/* Records a failure unless there is one already. Returns SH_NO_VALUE. */
sh_value_id sh_graph_failed(sh_graph *graph, sh_status status);

/* Adds a value that the caller supplies for each execution. */
sh_value_id sh_graph_input(sh_graph *graph, sh_type type);
/* `name` and the initial values are copied. */
sh_value_id sh_graph_parameter(sh_graph *graph, const char *name, sh_type type, sh_role role,
                               sh_initial initial);
/* Sets the weight, in [0, 1], of the new value in a moving average. */
void sh_graph_set_momentum(sh_graph *graph, sh_value_id parameter, float momentum);
/* Call before any node reads the parameter. */
void sh_graph_freeze(sh_graph *graph, size_t index);

/* Makes `parameter` follow `measured`, of the same type, summed over the grains of a step. */
void sh_graph_measure(sh_graph *graph, sh_value_id parameter, sh_value_id measured);

/*
 * Infers the types of the outputs and appends the node. Returns the first output. `in` and `out`
 * have as many values as ops.def states; `out` may be NULL. A missing value is SH_NO_VALUE, and
 * after a failure all outputs are. NULL attributes: all zero.
 */
sh_value_id sh_graph_add(sh_graph *graph, sh_op op, const sh_attributes *attributes,
                         const sh_value_id *in, sh_value_id *out);

/* The value becomes readable after a run. */
void sh_graph_output(sh_graph *graph, sh_value_id value);

/*
 * Appends nodes that compute the gradient of sum(seed * value) for every trained parameter, and
 * sets the parameters' `gradient`. `seed` has the type of `value`. Fails if `value` does not depend
 * on a trained parameter.
 */
void sh_graph_differentiate(sh_graph *graph, sh_value_id value, sh_value_id seed);

/* The same for one value, for tests. SH_NO_VALUE if it has no gradient. */
sh_value_id sh_graph_gradient_of(sh_graph *graph, sh_value_id value, sh_value_id seed,
                                 sh_value_id with_respect_to);

/*
 * For implementations of grad: sets the gradient of input 0 to op(dy, kept), or op(dy) if `kept` is
 * SH_NO_VALUE. `op` gets the node's settings, with the shape of input 0.
 */
void sh_graph_grad_of_first(const sh_op_backward *backward, sh_op op, sh_value_id kept);

/* Checks that every value is defined once and before use, that types are the inferred ones and that
 * gradients have the types of their parameters. SH_INTERNAL names the index of the node. */
sh_status sh_graph_verify(const sh_graph *graph) SHOAL_CHECKED;

typedef struct sh_cost {
    double flops; /* a multiply-add counts as two */
    double bytes; /* read and written, each operand once */
} sh_cost;
sh_cost sh_graph_cost(const sh_graph *graph, const sh_node *node);

/* `value` must not be SH_NO_VALUE. The type is borrowed until the next value is added. */
static inline const sh_type *sh_graph_type(const sh_graph *graph, sh_value_id value)
{
    return &graph->values[value].type;
}

#endif
