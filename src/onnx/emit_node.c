/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/emit_node.h"

typedef struct source {
    sh_emitter *e;
    const sh_node *node;
    const sh_attributes *a;
    const sh_shape *x;     /* shape of input 0 for one sample */
    const sh_shape *y;     /* shape of output 0 for one sample */
    const sh_shape *y_two; /* shape of output 0 for two samples */
} source;

static char *in(const source *s, size_t i)
{
    return sh_emit_name(s->e, s->node->in[i]);
}

static char *out(const source *s)
{
    return sh_emit_name(s->e, s->node->out[0]);
}

static sh_emitted *same(const source *s, const char *op, size_t count)
{
    char *names[SH_MAX_INPUTS];
    for (size_t i = 0; i < count; i++)
        names[i] = in(s, i);
    return sh_emit(s->e, op, count, names, out(s));
}

static void pair(const source *s, sh_emitted *node, const char *name, const size_t values[2])
{
    const int64_t both[] = {(int64_t)values[0], (int64_t)values[1]};
    sh_emit_ints(s->e, node, name, both, 2);
}

/* Pads before height and width come first, then those after them. */
static void pads(const source *s, sh_emitted *node)
{
    const int64_t four[] = {(int64_t)s->a->padding[0], (int64_t)s->a->padding[1],
                            (int64_t)s->a->end_padding[0], (int64_t)s->a->end_padding[1]};
    sh_emit_ints(s->e, node, "pads", four, 4);
}

static void conv2d(const source *s)
{
    sh_emitted *node = same(s, "Conv", s->node->input_count);
    pads(s, node);
    sh_emit_int(s->e, node, "group", (int64_t)s->a->groups);
    pair(s, node, "strides", s->a->stride);
    pair(s, node, "dilations", s->a->dilation);
}

static void linear(const source *s)
{
    sh_emit_int(s->e, same(s, "Gemm", s->node->input_count), "transB", 1);
}

static void rectify(sh_emitter *e, sh_activation activation, char *x, char *y)
{
    if (activation == SH_ACTIVATION_RELU6)
        sh_emit(e, "Clip", 3, (char *[]){x, sh_emit_number(e, 0), sh_emit_number(e, 6)}, y);
    else
        sh_emit(e, "Relu", 1, &x, y);
}

/* The share of a moving average that a step keeps. ONNX's default if the value is not a
 * parameter. */
static float momentum_of(const sh_graph *graph, sh_value_id mean)
{
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i].value == mean)
            return (float)(1 - (double)graph->parameters[i].momentum);
    return 0.9f;
}

static void batch_norm(const source *s)
{
    sh_emitter *e = s->e;
    const bool adds = s->node->input_count > 5, rectifies = s->a->activation != SH_ACTIVATION_NONE;
    char *normal = adds || rectifies ? sh_emit_fresh(e) : out(s);
    sh_emitted *node =
        sh_emit(e, "BatchNormalization", 5,
                (char *[]){in(s, 0), in(s, 3), in(s, 4), in(s, 1), in(s, 2)}, normal);
    sh_emit_float(e, node, "epsilon", s->a->number);
    sh_emit_float(e, node, "momentum", momentum_of(e->of->graph, s->node->in[1]));
    if (adds) {
        char *sum = rectifies ? sh_emit_fresh(e) : out(s);
        sh_emit(e, "Add", 2, (char *[]){normal, in(s, 5)}, sum);
        normal = sum;
    }
    if (rectifies)
        rectify(e, s->a->activation, normal, out(s));
}

static void max_pool(const source *s)
{
    sh_emitted *node = same(s, "MaxPool", 1);
    pads(s, node);
    sh_emit_int(s->e, node, "ceil_mode", s->a->after[2] > 0 || s->a->after[3] > 0);
    pair(s, node, "kernel_shape", s->a->kernel);
    pair(s, node, "strides", s->a->stride);
}

static void avg_pool(const source *s)
{
    sh_emitted *node = same(s, "AveragePool", 1);
    pads(s, node);
    sh_emit_int(s->e, node, "ceil_mode", s->a->after[2] > 0 || s->a->after[3] > 0);
    sh_emit_int(s->e, node, "count_include_pad", !s->a->inside);
    pair(s, node, "kernel_shape", s->a->kernel);
    pair(s, node, "strides", s->a->stride);
}

static void mean(const source *s)
{
    int64_t axes[SH_MAX_RANK];
    sh_emitted *node = same(s, "ReduceMean", 1);
    for (size_t i = 0; i < s->a->axes; i++)
        axes[i] = (int64_t)(s->a->axis + i);
    sh_emit_ints(s->e, node, "axes", axes, s->a->axes);
    sh_emit_int(s->e, node, "keepdims", 0);
}

static void relu(const source *s)
{
    rectify(s->e, SH_ACTIVATION_RELU, in(s, 0), out(s));
}

static void relu6(const source *s)
{
    rectify(s->e, SH_ACTIVATION_RELU6, in(s, 0), out(s));
}

static void leaky_relu(const source *s)
{
    sh_emit_float(s->e, same(s, "LeakyRelu", 1), "alpha", s->a->number);
}

static void sigmoid(const source *s)
{
    same(s, "Sigmoid", 1);
}

static void tanh_of(const source *s)
{
    same(s, "Tanh", 1);
}

static void silu(const source *s)
{
    char *gate = sh_emit_fresh(s->e);
    sh_emit(s->e, "Sigmoid", 1, (char *[]){in(s, 0)}, gate);
    sh_emit(s->e, "Mul", 2, (char *[]){in(s, 0), gate}, out(s));
}

static void hard_swish(const source *s)
{
    same(s, "HardSwish", 1);
}

static void softmax(const source *s)
{
    sh_emit_int(s->e, same(s, "Softmax", 1), "axis", (int64_t)s->a->axis);
}

static void add(const source *s)
{
    same(s, "Add", 2);
}

static void subtract(const source *s)
{
    same(s, "Sub", 2);
}

static void negate(const source *s)
{
    same(s, "Neg", 1);
}

static void multiply(const source *s)
{
    same(s, "Mul", 2);
}

/* Gives the factors as many dimensions as x has. */
static void scale(const source *s)
{
    sh_emitter *e = s->e;
    int64_t axes[SH_MAX_RANK];
    size_t count = 0;
    char *factors = sh_emit_fresh(e);
    for (size_t d = sh_graph_type(e->of->graph, s->node->in[1])->shape.rank; d < s->x->rank; d++)
        axes[count++] = (int64_t)d;
    sh_emit(e, "Unsqueeze", 2, (char *[]){in(s, 1), sh_emit_integers(e, axes, count)}, factors);
    sh_emit(e, "Mul", 2, (char *[]){in(s, 0), factors}, out(s));
}

/* Exchanges the last two dimensions if the node says so. */
static char *factor(const source *s, size_t i)
{
    const size_t rank = s->x->rank;
    int64_t order[SH_MAX_RANK];
    if (!s->a->transposed[i])
        return in(s, i);
    for (size_t d = 0; d < rank; d++)
        order[d] = (int64_t)d;
    order[rank - 2] = (int64_t)rank - 1;
    order[rank - 1] = (int64_t)rank - 2;
    char *turned = sh_emit_fresh(s->e);
    sh_emit_ints(s->e, sh_emit(s->e, "Transpose", 1, (char *[]){in(s, i)}, turned), "perm", order,
                 rank);
    return turned;
}

static void matmul(const source *s)
{
    sh_emit(s->e, "MatMul", 2, (char *[]){factor(s, 0), factor(s, 1)}, out(s));
}

/* Writes -1 for the dimension that contains the batch. At most one does. */
static void reshape(const source *s)
{
    int64_t shape[SH_MAX_RANK];
    for (size_t d = 0; d < s->y->rank; d++)
        shape[d] = s->y->dim[d] == s->y_two->dim[d] ? (int64_t)s->y->dim[d] : -1;
    char *name = sh_emit_integers(s->e, shape, s->y->rank);
    sh_emit(s->e, "Reshape", 2, (char *[]){in(s, 0), name}, out(s));
}

static void concat(const source *s)
{
    sh_emit_int(s->e, same(s, "Concat", s->node->input_count), "axis", (int64_t)s->a->axis);
}

/* Ends count from the end, so that the batch dimension can be taken whole. */
static void slice(const source *s)
{
    int64_t starts[SH_MAX_RANK], ends[SH_MAX_RANK], axes[SH_MAX_RANK];
    size_t count = 0;
    for (size_t d = 0; d < s->x->rank; d++) {
        if (s->a->before[d] == 0 && s->a->after[d] == 0)
            continue;
        starts[count] = (int64_t)s->a->before[d];
        ends[count] = s->a->after[d] == 0 ? INT64_MAX : -(int64_t)s->a->after[d];
        axes[count++] = (int64_t)d;
    }
    sh_emit(s->e, "Slice", 4,
            (char *[]){in(s, 0), sh_emit_integers(s->e, starts, count),
                       sh_emit_integers(s->e, ends, count), sh_emit_integers(s->e, axes, count)},
            out(s));
}

static void transpose(const source *s)
{
    int64_t order[SH_MAX_RANK];
    for (size_t d = 0; d < s->x->rank; d++)
        order[d] = (int64_t)s->a->order[d];
    sh_emit_ints(s->e, same(s, "Transpose", 1), "perm", order, s->x->rank);
}

static void pad(const source *s)
{
    int64_t zeros[2 * SH_MAX_RANK];
    for (size_t d = 0; d < s->x->rank; d++) {
        zeros[d] = (int64_t)s->a->before[d];
        zeros[s->x->rank + d] = (int64_t)s->a->after[d];
    }
    char *name = sh_emit_integers(s->e, zeros, 2 * s->x->rank);
    sh_emit(s->e, "Pad", 2, (char *[]){in(s, 0), name}, out(s));
}

/* Does nothing at inference, but the exported model may be trained later. */
static void dropout(const source *s)
{
    sh_emit(s->e, "Dropout", 2, (char *[]){in(s, 0), sh_emit_number(s->e, s->a->number)}, out(s));
}

static void (*const emitted_as[SH_OP_COUNT])(const source *s) = {
    [SH_OP_conv2d] = conv2d,
    [SH_OP_linear] = linear,
    [SH_OP_batch_norm] = batch_norm,
    [SH_OP_max_pool] = max_pool,
    [SH_OP_avg_pool] = avg_pool,
    [SH_OP_mean] = mean,
    [SH_OP_relu] = relu,
    [SH_OP_relu6] = relu6,
    [SH_OP_leaky_relu] = leaky_relu,
    [SH_OP_sigmoid] = sigmoid,
    [SH_OP_tanh] = tanh_of,
    [SH_OP_silu] = silu,
    [SH_OP_hard_swish] = hard_swish,
    [SH_OP_softmax] = softmax,
    [SH_OP_add] = add,
    [SH_OP_subtract] = subtract,
    [SH_OP_negate] = negate,
    [SH_OP_multiply] = multiply,
    [SH_OP_scale] = scale,
    [SH_OP_matmul] = matmul,
    [SH_OP_reshape] = reshape,
    [SH_OP_concat] = concat,
    [SH_OP_slice] = slice,
    [SH_OP_transpose] = transpose,
    [SH_OP_pad] = pad,
    [SH_OP_dropout] = dropout,
};

sh_status sh_emit_node(sh_emitter *e, size_t index)
{
    const sh_graph *graph = e->of->graph;
    const sh_node *node = &graph->nodes[index];
    if (emitted_as[node->op] == NULL)
        return sh_fail(SH_UNSUPPORTED, "%s cannot be written to an ONNX model",
                       sh_op_about(node->op)->name);
    const source s = {
        .e = e,
        .node = node,
        .a = &node->attributes,
        .x = &sh_graph_type(graph, node->in[0])->shape,
        .y = &sh_graph_type(graph, node->out[0])->shape,
        .y_two = &sh_graph_type(e->of->twice, node->out[0])->shape,
    };
    emitted_as[node->op](&s);
    return e->status;
}
