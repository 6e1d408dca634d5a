/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators: their inputs, outputs, costs and gradients.
 *
 * To add an operator, add a line to ops.def, a `const sh_op_def sh_op_<name>` to an op_*.c and an
 * sh_lowering `sh_lower_<name>` to backend/lower/.
 *
 *     SH_TRY(sh_op_infer(SH_OP_conv2d, &attributes, in_types, 3, out_types));
 *
 * Threads: any.
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

typedef struct sh_node {
    sh_op op;
    sh_attributes attributes;
    uint32_t input_count;
    uint32_t output_count;
    sh_value_id in[SH_MAX_INPUTS];
    sh_value_id out[SH_MAX_OUTPUTS];
} sh_node;

/* The argument of infer and flops. */
typedef struct sh_op_types {
    const char *op; /* its name, for messages */
    const sh_attributes *attributes;
    const sh_type *in; /* [count] */
    uint32_t count;    /* inputs without missing trailing ones */
    sh_type *out;
} sh_op_types;

/* The argument of grad. */
typedef struct sh_op_backward {
    struct sh_graph *graph;
    const sh_node *node;
    const sh_value_id *dout; /* gradient of each output; SH_NO_VALUE if nothing depends on it */
    const bool *wanted;      /* for each input: whether its gradient is needed */
    sh_value_id *din;        /* out: gradient of each input, initially SH_NO_VALUE */
} sh_op_backward;

#define SH_OVER(input) (UINT32_C(1) << (input))

typedef struct sh_op_def {
    uint32_t optional; /* number of trailing inputs that may be SH_NO_VALUE */
    bool gives_bias;   /* the last output is a bias's gradient, absent with the setting no_bias */

    /* Required. Checks the input types, sets the output types. Errors state what was expected. */
    sh_status (*infer)(const sh_op_types *types);

    /*
     * Bit i (SH_OVER(i)): output 0 may overwrite input i. Element e of the output then depends only
     * on element e of this and other inputs of that shape, and on smaller inputs such as
     * per-channel values. This also makes it cheap to recompute (graph/recompute.h). The operator's
     * kernels must not declare either pointer `restrict`.
     */
    uint32_t over;

    /*
     * Optional (NULL: not differentiable). Adds nodes that compute the gradient of each wanted
     * input. Failures are recorded in the graph. Nodes for gradients of parameters come first, so
     * that these are sent while the others are computed.
     */
    void (*grad)(const sh_op_backward *backward);

    /* Optional: flops per element of input 0, or of a whole execution. */
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

uint32_t sh_op_outputs(sh_op op, const sh_attributes *attributes);

sh_status sh_op_infer(sh_op op, const sh_attributes *attributes, const sh_type *in, uint32_t count,
                      sh_type *out) SHOAL_CHECKED;

/* For infer: checks rank and element type. The error names operator and input. */
sh_status sh_op_expect(const char *op, const char *input, const sh_type *type, sh_dtype dtype,
                       size_t rank) SHOAL_CHECKED;

sh_status sh_op_expect_same(const char *op, const char *a_name, const sh_type *a,
                            const char *b_name, const sh_type *b) SHOAL_CHECKED;

#endif
