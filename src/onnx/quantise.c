/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First the values to quantise are found, from the last node to the first: the inputs of layers,
 * the results of convolutions, and the inputs of integer operators whose result is quantised. Then
 * nodes are copied in order. A pair of QuantizeLinear and DequantizeLinear (Q and DQ) follows the
 * maker of a quantised value, and all nodes read its output.
 *
 *     x -> Q -> DQ -> Conv -> Relu -> Q -> DQ -> ...
 *               int8 -> DQ -^
 *
 * A runtime fuses DQ, node and Q into one integer operator. It omits a Relu or Clip before a Q
 * whose grid begins at zero. So the range of a value before a rectifier is taken after it.
 */
#include "onnx/quantise.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx/emitter.h"
#include "onnx/graph_parts.h"
#include "onnx/onnx_node.h"

#define PAIR_NODES 5       /* of a quantised value, at most */
#define PAIR_TENSORS 5     /* of a quantised value, at most */
#define LAYER_NODES 2      /* for weight and bias */
#define LAYER_TENSORS 6    /* for weight and bias */
#define WEIGHT_MOST 127    /* of an integer weight */
#define PAIR_MOST 128      /* of the sum of two weights: times 255 it fits in 16 bits */
#define BIAS_MOST 0x1p30   /* of an integer bias: leaves room for sums */
#define ROUNDING 0x1.8p23f /* adding it rounds, ties to even */
#define NAME_BYTES 512

typedef enum node_kind {
    KIND_OTHER,
    KIND_LAYER,     /* has weights */
    KIND_INTEGER,   /* computes with integers: Add, Concat, average pools */
    KIND_PASSING,   /* moves or selects elements */
    KIND_RECTIFIER, /* becomes part of the node before it */
} node_kind;

typedef struct quantising {
    sh_emitter *e;
    const Sh__Onnx__GraphProto *graph;
    const sh_onnx_grids *grids;
    sh_onnx_quantised form;
    int64_t opset;
    bool *wanted; /* by node: its first output is quantised; last: the graph's input */
    char **names; /* by node: what replaces its first output */
    char *rounding;
} quantising;

typedef struct weights {
    Sh__Onnx__TensorProto *weight, *bias; /* bias: NULL if there is none */
    size_t axis, channels; /* axis: the weight's output dimension; channels: its size */
    bool paired;           /* an output adds products of several inputs */
} weights;

/* ---- values -----------------------------------------------------------------------------------
 */

/* Returns an index of `wanted`; SIZE_MAX if the value has none. */
static size_t value_of(const quantising *q, const char *name)
{
    if (strcmp(name, q->graph->input[0]->name) == 0)
        return q->graph->n_node;
    const size_t maker = sh_onnx_maker_index(q->graph, name);
    return maker == SIZE_MAX || strcmp(q->graph->node[maker]->output[0], name) != 0 ? SIZE_MAX
                                                                                    : maker;
}

static bool is_one_of(const char *op, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(op, *list) == 0)
            return true;
    return false;
}

static node_kind kind_by_name(const Sh__Onnx__NodeProto *node)
{
    static const char *const layers[] = {"Conv", "Gemm", "MatMul", NULL};
    static const char *const integer[] = {"Add", "Concat", "AveragePool", "GlobalAveragePool",
                                          NULL};
    static const char *const passing[] = {"MaxPool",   "Flatten",   "Reshape", "Squeeze",
                                          "Unsqueeze", "Transpose", "Slice",   "Identity",
                                          "Dropout",   NULL};
    static const char *const rectifiers[] = {"Relu", "Clip", NULL};
    if (node->domain[0] != '\0' || node->n_input == 0 || node->n_output != 1)
        return KIND_OTHER;
    return is_one_of(node->op_type, layers)       ? KIND_LAYER
           : is_one_of(node->op_type, integer)    ? KIND_INTEGER
           : is_one_of(node->op_type, passing)    ? KIND_PASSING
           : is_one_of(node->op_type, rectifiers) ? KIND_RECTIFIER
                                                  : KIND_OTHER;
}

/* A passing operator has the grid of its input. */
static sh_onnx_grid grid_of(const quantising *q, size_t value)
{
    while (value < q->graph->n_node && kind_by_name(q->graph->node[value]) == KIND_PASSING)
        value = value_of(q, q->graph->node[value]->input[0]);
    return value == SIZE_MAX           ? (sh_onnx_grid){0}
           : value == q->graph->n_node ? q->grids->input
                                       : q->grids->of[value];
}

static bool has_grid(const quantising *q, const char *name)
{
    const size_t value = value_of(q, name);
    return value != SIZE_MAX && grid_of(q, value).scale > 0;
}

static bool all_have_grids(const quantising *q, const Sh__Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_input; i++)
        if (!has_grid(q, node->input[i]))
            return false;
    return true;
}

/* ---- layers -----------------------------------------------------------------------------------
 */

/* False if the layer has no integer form. */
static bool find_axis(weights *w, const quantising *q, const Sh__Onnx__NodeProto *node)
{
    sh_onnx_node read = sh_onnx_node_of(node, q->opset);
    w->axis = 0;
    w->paired = true;
    if (strcmp(read.op, "Conv") == 0) {
        w->paired = sh_onnx_node_integer(&read, "group", 1) == 1 || w->weight->dims[1] > 1;
        return w->weight->n_dims >= 3;
    }
    if (w->weight->n_dims != 2)
        return false;
    if (strcmp(read.op, "MatMul") == 0) {
        w->axis = 1;
        return true;
    }
    w->axis = sh_onnx_node_integer(&read, "transB", 0) != 0 ? 0 : 1;
    return sh_onnx_node_number(&read, "alpha", 1) == 1 &&
           sh_onnx_node_number(&read, "beta", 1) == 1 &&
           sh_onnx_node_integer(&read, "transA", 0) == 0;
}

/* Returns NULL unless the tensor is float32 and only one node reads it. */
static Sh__Onnx__TensorProto *own_tensor(const quantising *q, const char *name)
{
    Sh__Onnx__TensorProto *tensor = sh_onnx_find_tensor(q->graph, name);
    return sh_onnx_is_raw_float(tensor) && sh_onnx_readers(q->graph, name) == 1 ? tensor : NULL;
}

static bool find_weights(weights *w, const quantising *q, const Sh__Onnx__NodeProto *node)
{
    *w = (weights){0};
    if (kind_by_name(node) != KIND_LAYER || node->n_input < 2 || !has_grid(q, node->input[0]))
        return false;
    w->weight = own_tensor(q, node->input[1]);
    if (w->weight == NULL || w->weight->raw_data.len == 0 || !find_axis(w, q, node))
        return false;
    w->channels = (size_t)w->weight->dims[w->axis];
    if (node->n_input < 3 || node->input[2][0] == '\0')
        return true;
    w->bias = own_tensor(q, node->input[2]);
    return w->bias != NULL && w->bias->raw_data.len == w->channels * sizeof(float);
}

/* ---- choosing values to quantise --------------------------------------------------------------
 */

static void want(const quantising *q, const char *name)
{
    if (has_grid(q, name))
        q->wanted[value_of(q, name)] = true;
}

/* Finds the node that makes the result: this one, or the rectifier that becomes part of it. */
static size_t find_result(const quantising *q, size_t index)
{
    const char *name = q->graph->node[index]->output[0];
    if (sh_onnx_readers(q->graph, name) != 1)
        return index;
    for (size_t i = index + 1; i < q->graph->n_node; i++)
        if (q->graph->node[i]->n_input > 0 && strcmp(q->graph->node[i]->input[0], name) == 0)
            return kind_by_name(q->graph->node[i]) == KIND_RECTIFIER ? i : index;
    return index;
}

/* Later nodes must have been marked before. False if the node stays float. */
static bool mark(const quantising *q, size_t index)
{
    const Sh__Onnx__NodeProto *node = q->graph->node[index];
    const size_t result = find_result(q, index);
    const char *made = q->graph->node[result]->output[0];
    weights w;
    switch (kind_by_name(node)) {
    case KIND_LAYER:
        if (!find_weights(&w, q, node))
            return false;
        want(q, node->input[0]);
        if (strcmp(node->op_type, "Conv") == 0 && strcmp(made, q->graph->output[0]->name) != 0)
            want(q, made);
        return true;
    case KIND_INTEGER:
        if (!q->wanted[result] || !all_have_grids(q, node))
            return false;
        for (size_t i = 0; i < node->n_input; i++)
            want(q, node->input[i]);
        return true;
    case KIND_PASSING:
        if (q->wanted[index])
            want(q, node->input[0]);
        return q->wanted[index];
    case KIND_RECTIFIER:
    case KIND_OTHER:
        break;
    }
    return false;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static char *extended(const quantising *q, const char *name, const char *end)
{
    char text[NAME_BYTES];
    if (snprintf(text, sizeof text, "%s.%s", name, end) >= (int)sizeof text)
        return sh_emit_fresh(q->e);
    return sh_emit_text(q->e, text);
}

static char *emit_zero_point(const quantising *q, const char *name, uint8_t zero)
{
    char *own = extended(q, name, "zero");
    uint8_t *copy = sh_emit_take(q->e, 1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = zero;
    sh_emit_elements(q->e, own, SH_ONNX_UINT8, &(sh_shape){0}, copy);
    return own;
}

/* Rounds a value to its grid in float32. */
static char *emit_simulated(const quantising *q, char *name, sh_onnx_grid grid)
{
    sh_emitter *e = q->e;
    char *part = extended(q, name, "part"), *up = extended(q, name, "up");
    char *whole = extended(q, name, "whole"), *kept = extended(q, name, "kept");
    char *made = extended(q, name, "dequantised"), *scale = sh_emit_number(e, grid.scale);
    sh_emit(e, "Div", 2, (char *[]){name, scale}, part);
    sh_emit(e, "Add", 2, (char *[]){part, q->rounding}, up);
    sh_emit(e, "Sub", 2, (char *[]){up, q->rounding}, whole);
    sh_emit(e, "Clip", 3,
            (char *[]){whole, sh_emit_number(e, -(float)grid.zero),
                       sh_emit_number(e, (float)(UINT8_MAX - grid.zero))},
            kept);
    sh_emit(e, "Mul", 2, (char *[]){kept, scale}, made);
    return made;
}

static char *emit_pair(const quantising *q, char *name, sh_onnx_grid grid)
{
    sh_emitter *e = q->e;
    float *scale = sh_emit_take(e, 1, sizeof *scale);
    char *whole = extended(q, name, "quantised"), *made = extended(q, name, "dequantised");
    char *scaled = extended(q, name, "scale"), *zero = emit_zero_point(q, name, grid.zero);
    if (scale == NULL)
        return NULL;
    *scale = grid.scale;
    sh_emit_tensor(e, scaled, &(sh_shape){0}, scale);
    sh_emit(e, "QuantizeLinear", 3, (char *[]){name, scaled, zero}, whole);
    sh_emit(e, "DequantizeLinear", 3, (char *[]){whole, scaled, zero}, made);
    return made;
}

static void emit_value(const quantising *q, size_t value, char *name)
{
    const sh_onnx_grid grid = grid_of(q, value);
    q->names[value] =
        q->form == SH_ONNX_SIMULATED ? emit_simulated(q, name, grid) : emit_pair(q, name, grid);
}

typedef struct integers {
    sh_onnx_type type; /* int8 or int32 */
    sh_shape shape;
    size_t axis;
    void *elements;
    float *scales;
    void *zeros;
    size_t channels;
} integers;

static size_t channel_of(const integers *n, size_t element)
{
    size_t inner = 1;
    for (size_t i = n->axis + 1; i < n->shape.rank; i++)
        inner *= n->shape.dim[i];
    return element / inner % n->channels;
}

static double integer_of(const integers *n, size_t i)
{
    return n->type == SH_ONNX_INT8 ? ((const int8_t *)n->elements)[i]
                                   : ((const int32_t *)n->elements)[i];
}

/* Emits integers, or the floats that they represent. */
static char *emit_integers(const quantising *q, Sh__Onnx__TensorProto *tensor, const integers *n)
{
    sh_emitter *e = q->e;
    const size_t count = sh_shape_count(&n->shape);
    const sh_shape channels = sh_shape_of(1, &n->channels);
    if (q->form == SH_ONNX_SIMULATED) {
        float *values = sh_emit_take(e, count, sizeof *values);
        for (size_t i = 0; i < count && values != NULL; i++)
            values[i] = (float)integer_of(n, i) * n->scales[channel_of(n, i)];
        sh_emit_tensor(e, tensor->name, &n->shape, values);
        return tensor->name;
    }
    char *scales = extended(q, tensor->name, "scale"), *zeros = extended(q, tensor->name, "zero");
    char *made = extended(q, tensor->name, "dequantised");
    sh_emit_elements(e, tensor->name, n->type, &n->shape, n->elements);
    sh_emit_tensor(e, scales, &channels, n->scales);
    sh_emit_elements(e, zeros, n->type, &channels, n->zeros);
    sh_emitted *node =
        sh_emit(e, "DequantizeLinear", 3, (char *[]){tensor->name, scales, zeros}, made);
    sh_emit_int(e, node, "axis", (int64_t)n->axis);
    return made;
}

static bool take_integers(integers *n, const quantising *q, size_t count, size_t bytes)
{
    n->elements = sh_emit_take(q->e, count, bytes);
    n->zeros = sh_emit_take(q->e, n->channels, bytes);
    n->scales = sh_emit_take(q->e, n->channels, sizeof *n->scales);
    return q->e->status == SH_OK;
}

/* The two largest weights of one sign. */
typedef struct largest {
    double first, second;
} largest;

static void take_largest(largest *l, double weight)
{
    if (weight > l->first) {
        l->second = l->first;
        l->first = weight;
    } else if (weight > l->second) {
        l->second = weight;
    }
}

/* No two weights of a channel saturate (quantise.h), whichever two a runtime pairs. */
static float find_step(largest up, largest down, bool paired)
{
    const double one = fmax(up.first, down.first) / WEIGHT_MOST;
    const double two = fmax(up.first + up.second, down.first + down.second) / PAIR_MOST;
    return paired && two > one ? nextafterf((float)two, INFINITY) : (float)one;
}

static bool find_steps(float *steps, const quantising *q, const integers *n, const weights *w)
{
    largest *up = sh_emit_take(q->e, n->channels, sizeof *up);
    largest *down = sh_emit_take(q->e, n->channels, sizeof *down);
    if (up == NULL || down == NULL)
        return false;
    for (size_t i = 0; i < sh_shape_count(&n->shape); i++) {
        const double weight = sh_onnx_element(w->weight, i);
        take_largest(&up[channel_of(n, i)], weight);
        take_largest(&down[channel_of(n, i)], -weight);
    }
    for (size_t c = 0; c < n->channels; c++)
        steps[c] = find_step(up[c], down[c], w->paired);
    return true;
}

/* The step of a bias is that of the input times that of the weight. The latter is enlarged if the
 * bias would not fit otherwise. */
static bool quantise_weight(integers *n, const quantising *q, const weights *w, float input)
{
    const Sh__Onnx__TensorProto *tensor = w->weight;
    const size_t count = tensor->raw_data.len / sizeof(float);
    *n = (integers){.type = SH_ONNX_INT8,
                    .shape = {.rank = tensor->n_dims},
                    .axis = w->axis,
                    .channels = w->channels};
    for (size_t i = 0; i < tensor->n_dims; i++)
        n->shape.dim[i] = (size_t)tensor->dims[i];
    if (!take_integers(n, q, count, sizeof(int8_t)))
        return false;
    if (!find_steps(n->scales, q, n, w))
        return false;
    for (size_t c = 0; c < w->channels; c++) {
        const double bias = w->bias == NULL ? 0 : fabs(sh_onnx_element(w->bias, c));
        n->scales[c] = fmaxf(n->scales[c], (float)(bias / ((double)input * BIAS_MOST)));
        if (n->scales[c] == 0)
            n->scales[c] = 1;
    }
    for (size_t i = 0; i < count; i++) {
        const double steps =
            nearbyint(sh_onnx_element(tensor, i) / (double)n->scales[channel_of(n, i)]);
        ((int8_t *)n->elements)[i] = (int8_t)fmax(-WEIGHT_MOST, fmin(WEIGHT_MOST, steps));
    }
    return true;
}

static bool quantise_bias(integers *n, const quantising *q, const weights *w,
                          const integers *weight, float input)
{
    *n = (integers){
        .type = SH_ONNX_INT32, .shape = sh_shape_of(1, &w->channels), .channels = w->channels};
    if (!take_integers(n, q, w->channels, sizeof(int32_t)))
        return false;
    for (size_t c = 0; c < w->channels; c++) {
        n->scales[c] = input * weight->scales[c];
        const double steps = nearbyint(sh_onnx_element(w->bias, c) / (double)n->scales[c]);
        ((int32_t *)n->elements)[c] = (int32_t)fmax(-0x1p31, fmin(0x1p31 - 1, steps));
    }
    return true;
}

static void emit_weights(const quantising *q, sh_emitted *copy, const weights *w)
{
    const float input = grid_of(q, value_of(q, copy->input[0])).scale;
    integers weight, bias;
    if (!quantise_weight(&weight, q, w, input))
        return;
    copy->input[1] = emit_integers(q, w->weight, &weight);
    if (w->bias != NULL && quantise_bias(&bias, q, w, &weight, input))
        copy->input[2] = emit_integers(q, w->bias, &bias);
}

static void copy_node(const quantising *q, size_t index)
{
    sh_emitter *e = q->e;
    const Sh__Onnx__NodeProto *node = q->graph->node[index];
    sh_emitted *copy = sh_emit_take(e, 1, sizeof *copy);
    char **inputs = sh_emit_take(e, node->n_input, sizeof *inputs);
    weights w;
    if (copy == NULL || inputs == NULL)
        return;
    *copy = *node;
    copy->input = inputs;
    for (size_t i = 0; i < node->n_input; i++)
        inputs[i] = node->input[i];
    if (find_weights(&w, q, node))
        emit_weights(q, copy, &w);
    for (size_t i = 0; i < node->n_input; i++) {
        const size_t value = value_of(q, inputs[i]);
        if (value != SIZE_MAX && q->wanted[value])
            inputs[i] = q->names[value];
    }
    e->made->node[e->made->n_node++] = copy;
    if (q->wanted[index])
        emit_value(q, index, node->output[0]);
}

static void copy_tensors(const quantising *q)
{
    Sh__Onnx__GraphProto *made = q->e->made;
    for (size_t i = 0; i < q->graph->n_initializer; i++) {
        Sh__Onnx__TensorProto *tensor = q->graph->initializer[i];
        if (sh_onnx_find_tensor(made, tensor->name) == NULL)
            made->initializer[made->n_initializer++] = tensor;
    }
}

static sh_status fill(quantising *q)
{
    const size_t count = q->graph->n_node;
    size_t integer = 0;
    for (size_t i = count; i-- > 0;)
        integer += mark(q, i);
    if (integer == 0)
        return sh_fail(SH_UNSUPPORTED, "--int8: the model has no layer that can be quantised");
    if (q->form == SH_ONNX_SIMULATED)
        q->rounding = sh_emit_number(q->e, ROUNDING);
    if (q->wanted[count])
        emit_value(q, count, q->graph->input[0]->name);
    for (size_t i = 0; i < count && q->e->status == SH_OK; i++)
        copy_node(q, i);
    copy_tensors(q);
    return q->e->status;
}

sh_status sh_onnx_quantise(Sh__Onnx__ModelProto **made, const Sh__Onnx__ModelProto *model,
                           const sh_onnx_grids *grids, sh_onnx_quantised form, sh_arena *arena)
{
    const Sh__Onnx__GraphProto *graph = model->graph;
    const size_t count = graph->n_node;
    Sh__Onnx__GraphProto fresh_graph = *graph;
    sh_emitter e = {.arena = arena, .made = &fresh_graph};
    const int64_t opset = model->opset_import[0]->version;
    if (opset < SH_ONNX_QUANTISE_OPSET)
        return sh_fail(SH_UNSUPPORTED,
                       "--int8: the network has operators of version %lld; export it with version "
                       "%d or later, and train again",
                       (long long)opset, SH_ONNX_QUANTISE_OPSET);
    quantising q = {.e = &e, .graph = graph, .grids = grids, .form = form, .opset = opset};
    sh_emit_avoid(&e, graph);
    q.wanted = sh_emit_take(&e, count + 1, sizeof *q.wanted);
    q.names = sh_emit_take(&e, count + 1, sizeof *q.names);
    fresh_graph.node =
        sh_emit_take(&e, (count + 1) * (1 + PAIR_NODES + LAYER_NODES), sizeof *fresh_graph.node);
    fresh_graph.initializer =
        sh_emit_take(&e, graph->n_initializer + (count + 1) * (PAIR_TENSORS + LAYER_TENSORS),
                     sizeof *fresh_graph.initializer);
    fresh_graph.n_node = fresh_graph.n_initializer = 0;
    Sh__Onnx__ModelProto *fresh = sh_emit_take(&e, 1, sizeof *fresh);
    Sh__Onnx__GraphProto *kept = sh_emit_take(&e, 1, sizeof *kept);
    SH_TRY(e.status);
    SH_TRY(fill(&q));
    *kept = fresh_graph;
    *fresh = *model;
    fresh->graph = kept;
    *made = fresh;
    return SH_OK;
}
