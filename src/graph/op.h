/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators: what each one takes, gives and costs, and how it is differentiated.
 *
 *     SH_TRY(sh_op_infer(SH_OP_conv2d, &attributes, in_types, 3, out_types));
 *
 * To add one: a line in ops.def, a `const sh_op_def sh_op_<name>` in an op_*.c, an
 * sh_lowering `sh_lower_<name>` in backend/lower/. Tests, printing and planning iterate the list.
 *
 * Threads: any; definitions are constant.
 */
#ifndef SHOAL_GRAPH_OP_H
#define SHOAL_GRAPH_OP_H

#include "graph/attributes.h"

#define SH_MAX_INPUTS 7
#define SH_MAX_OUTPUTS 3

typedef enum sh_op {
#define SH_OP(name, inputs, outputs, summary) SH_OP_##name,
#include "graph/ops.def"
#undef SH_OP
    SH_OP_COUNT
} sh_op;

/* Index of a value in its graph. */
typedef uint32_t sh_value_id;
#define SH_NO_VALUE UINT32_MAX

/* A node: an operator applied to values. `in` and `out` hold value ids. */
typedef struct sh_node {
    sh_op op;
    sh_attributes attributes;
    uint32_t input_count;
    uint32_t output_count;
    sh_value_id in[SH_MAX_INPUTS];
    sh_value_id out[SH_MAX_OUTPUTS];
} sh_node;

/* One use of an operator, as infer and flops see it. */
typedef struct sh_op_types {
    const char *op; /* the operator's name, for messages */
    const sh_attributes *attributes;
    const sh_type *in; /* [count] */
    uint32_t count;    /* of the inputs that there are */
    sh_type *out;
} sh_op_types;

/* One use of an operator, as grad sees it. */
typedef struct sh_op_backward {
    struct sh_graph *graph;
    const sh_node *node;
    const sh_value_id *dout; /* gradient of each output; SH_NO_VALUE where nothing depends on it */
    const bool *wanted;      /* of each input: whether its gradient is */
    sh_value_id *din;        /* gradient of each input, SH_NO_VALUE before */
} sh_op_backward;

#define SH_OVER(input) (UINT32_C(1) << (input))

typedef struct sh_op_def {
    uint32_t optional; /* how many of the last inputs may be missing (SH_NO_VALUE) */
    bool gives_bias;   /* the last output is a bias's gradient: missing with the setting no_bias */

    /* Required. Checks the inputs' types and writes the outputs'. Failures name the remedy. */
    sh_status (*infer)(const sh_op_types *types);

    /*
     * Bit i: output 0 may take the place of input i (SH_OVER(i)). Its element e depends on element
     * e of this input and of others of that shape, and on values a channel. So it is also cheap to
     * compute again (graph/recompute.h). Kernels of all kernels declare neither `restrict`.
     */
    uint32_t over;

    /*
     * Optional (NULL: not differentiable). Adds nodes to the graph that compute the gradient of
     * each wanted input. Failures stay in the graph (graph.h). What feeds a parameter's gradient is
     * added first, so that it can travel while the rest is computed.
     */
    void (*grad)(const sh_op_backward *backward);

    /* Floating-point operations: for each element of input 0, or of one execution. Optional. */
    double each_flops;
    double (*flops)(const sh_op_types *types);
} sh_op_def;

/* A line of ops.def. Static storage. */
typedef struct sh_op_entry {
    const char *name;
    uint32_t input_count, output_count; /* at most */
    const sh_op_def *def;
} sh_op_entry;

const sh_op_entry *sh_op_about(sh_op op);

/* How many outputs a node of this operator with these settings has. */
uint32_t sh_op_outputs(sh_op op, const sh_attributes *attributes);

/* Calls the operator's infer. */
sh_status sh_op_infer(sh_op op, const sh_attributes *attributes, const sh_type *in, uint32_t count,
                      sh_type *out) SHOAL_CHECKED;

/* For infer: the input has this rank and element type; a failure names operator and input. */
sh_status sh_op_expect(const char *op, const char *input, const sh_type *type, sh_dtype dtype,
                       size_t rank) SHOAL_CHECKED;

/* For infer: both types are equal. */
sh_status sh_op_expect_same(const char *op, const char *a_name, const sh_type *a,
                            const char *b_name, const sh_type *b) SHOAL_CHECKED;

#endif
