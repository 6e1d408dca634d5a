/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/fold_norms.h"

#include <math.h>
#include <string.h>

#include "onnx/emitter.h"
#include "onnx/graph_parts.h"
#include "onnx/onnx_node.h"
#include "onnx/onnx_types.h"

/* y = x * scale + shift, for each channel. */
typedef struct norm {
    size_t channels;
    double *scale, *shift;
} norm;

typedef struct layer {
    Sh__Onnx__NodeProto *node;
    Sh__Onnx__TensorProto *weight, *bias; /* bias: NULL if the layer has none */
    size_t axis;                          /* the weight's output dimension */
} layer;

typedef struct folding {
    sh_emitter *e;
    Sh__Onnx__GraphProto *graph;
    int64_t opset;
} folding;

/* False if its tensors are not in the graph. */
static bool read_norm(norm *n, const folding *f, const Sh__Onnx__NodeProto *node)
{
    const Sh__Onnx__TensorProto *of[4]; /* scale, bias, mean, variance */
    sh_onnx_node read = sh_onnx_node_of(node, f->opset);
    const double epsilon = (double)sh_onnx_node_number(&read, "epsilon", 1e-5f);
    if (node->n_input != 5)
        return false;
    for (size_t i = 0; i < 4; i++) {
        of[i] = sh_onnx_find_tensor(f->graph, node->input[1 + i]);
        if (!sh_onnx_is_raw_float(of[i]) || of[i]->n_dims != 1 || of[i]->dims[0] != of[0]->dims[0])
            return false;
    }
    n->channels = (size_t)of[0]->dims[0];
    n->scale = sh_emit_take(f->e, n->channels, sizeof *n->scale);
    n->shift = sh_emit_take(f->e, n->channels, sizeof *n->shift);
    for (size_t c = 0; c < n->channels && f->e->status == SH_OK; c++) {
        n->scale[c] = sh_onnx_element(of[0], c) / sqrt(sh_onnx_element(of[3], c) + epsilon);
        n->shift[c] = sh_onnx_element(of[1], c) - sh_onnx_element(of[2], c) * n->scale[c];
    }
    return f->e->status == SH_OK;
}

/* Finds the output dimension of the weights. False if the node is not a supported layer. */
static bool find_axis(layer *l, const folding *f)
{
    sh_onnx_node read = sh_onnx_node_of(l->node, f->opset);
    l->axis = 0;
    if (strcmp(read.op, "Conv") == 0)
        return true;
    if (strcmp(read.op, "ConvTranspose") == 0) {
        l->axis = 1;
        return sh_onnx_node_integer(&read, "group", 1) == 1;
    }
    if (strcmp(read.op, "Gemm") != 0 || sh_onnx_node_number(&read, "alpha", 1) != 1 ||
        sh_onnx_node_number(&read, "beta", 1) != 1)
        return false;
    l->axis = sh_onnx_node_integer(&read, "transB", 0) != 0 ? 0 : 1;
    return true;
}

/* Nothing but the normalisation may read the layer's output and weights. */
static bool find_layer(layer *l, const folding *f, const Sh__Onnx__NodeProto *node, size_t channels)
{
    *l = (layer){.node = sh_onnx_maker(f->graph, node->input[0])};
    if (l->node == NULL || l->node->n_input < 2 || !find_axis(l, f) ||
        sh_onnx_readers(f->graph, node->input[0]) != 1)
        return false;
    l->weight = sh_onnx_find_tensor(f->graph, l->node->input[1]);
    if (!sh_onnx_is_raw_float(l->weight) || sh_onnx_readers(f->graph, l->weight->name) != 1 ||
        l->weight->n_dims <= l->axis || (size_t)l->weight->dims[l->axis] != channels)
        return false;
    if (l->node->n_input < 3 || l->node->input[2][0] == '\0')
        return true;
    l->bias = sh_onnx_find_tensor(f->graph, l->node->input[2]);
    return sh_onnx_is_raw_float(l->bias) && l->bias->n_dims == 1 &&
           (size_t)l->bias->dims[0] == channels && sh_onnx_readers(f->graph, l->bias->name) == 1;
}

static void fold_into(const folding *f, layer *l, const norm *n)
{
    sh_emitter *e = f->e;
    size_t inner = 1;
    const size_t count = l->weight->raw_data.len / sizeof(float);
    for (size_t i = l->axis + 1; i < l->weight->n_dims; i++)
        inner *= (size_t)l->weight->dims[i];
    float *weight = sh_emit_take(e, count, sizeof *weight);
    float *bias = sh_emit_take(e, n->channels, sizeof *bias);
    char **inputs = sh_emit_take(e, 3, sizeof *inputs);
    if (weight == NULL || bias == NULL || inputs == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        weight[i] = (float)(sh_onnx_element(l->weight, i) * n->scale[i / inner % n->channels]);
    for (size_t c = 0; c < n->channels; c++) {
        const double old = l->bias == NULL ? 0 : sh_onnx_element(l->bias, c);
        bias[c] = (float)(old * n->scale[c] + n->shift[c]);
    }
    l->weight->raw_data.data = (uint8_t *)weight;
    if (l->bias != NULL) {
        l->bias->raw_data.data = (uint8_t *)bias;
        return;
    }
    inputs[0] = l->node->input[0];
    inputs[1] = l->node->input[1];
    inputs[2] = sh_emit_fresh(e);
    sh_emit_tensor(e, inputs[2], &(sh_shape){1, {n->channels}}, bias);
    l->node->input = inputs;
    l->node->n_input = 3;
}

/* 0 if it is not known. */
static size_t rank_of(const folding *f, const char *name)
{
    for (size_t steps = 0; steps <= f->graph->n_node; steps++) {
        const Sh__Onnx__NodeProto *maker = sh_onnx_maker(f->graph, name);
        if (maker == NULL && strcmp(name, f->graph->input[0]->name) == 0)
            return f->graph->input[0]->type->tensor_type->shape->n_dim;
        if (maker == NULL || maker->n_input == 0)
            return 0;
        const char *op = maker->op_type;
        const Sh__Onnx__TensorProto *second =
            maker->n_input > 1 ? sh_onnx_find_tensor(f->graph, maker->input[1]) : NULL;
        if (strcmp(op, "Conv") == 0 || strcmp(op, "ConvTranspose") == 0)
            return second == NULL ? 0 : second->n_dims;
        if (strcmp(op, "Gemm") == 0 || strcmp(op, "Flatten") == 0)
            return 2;
        if (strcmp(op, "Reshape") == 0)
            return second == NULL || second->n_dims != 1 ? 0 : (size_t)second->dims[0];
        if (strcmp(op, "Squeeze") == 0 || strcmp(op, "Unsqueeze") == 0 ||
            strncmp(op, "Reduce", 6) == 0 || strcmp(op, "Gather") == 0)
            return 0;
        name = maker->input[0];
    }
    return 0;
}

static char *by_channel(sh_emitter *e, const double *values, size_t channels, size_t rank)
{
    char *name = sh_emit_fresh(e);
    float *rounded = sh_emit_take(e, channels, sizeof *rounded);
    sh_shape shape = {.rank = rank - 1};
    for (size_t i = 0; i < rank - 1; i++)
        shape.dim[i] = i == 0 ? channels : 1;
    for (size_t c = 0; c < channels && rounded != NULL; c++)
        rounded[c] = (float)values[c];
    sh_emit_tensor(e, name, &shape, rounded);
    return name;
}

/* Emits the normalisation as Mul and Add. False if the rank of its input is not known. */
static bool emit_line(const folding *f, const Sh__Onnx__NodeProto *node, const norm *n)
{
    sh_emitter *e = f->e;
    const size_t rank = rank_of(f, node->input[0]);
    if (rank < 2 || rank > SH_MAX_RANK)
        return false;
    char *product = sh_emit_fresh(e);
    sh_emit(e, "Mul", 2, (char *[]){node->input[0], by_channel(e, n->scale, n->channels, rank)},
            product);
    sh_emit(e, "Add", 2, (char *[]){product, by_channel(e, n->shift, n->channels, rank)},
            node->output[0]);
    return true;
}

static void fold_node(const folding *f, Sh__Onnx__NodeProto *node)
{
    norm n;
    layer l;
    if (strcmp(node->op_type, "BatchNormalization") == 0 && read_norm(&n, f, node)) {
        if (find_layer(&l, f, node, n.channels)) {
            fold_into(f, &l, &n);
            l.node->output = node->output;
            return;
        }
        if (emit_line(f, node, &n))
            return;
    }
    f->e->made->node[f->e->made->n_node++] = node;
}

static void drop_unread(Sh__Onnx__GraphProto *graph)
{
    const size_t before = graph->n_initializer;
    graph->n_initializer = 0;
    for (size_t i = 0; i < before; i++)
        if (sh_onnx_readers(graph, graph->initializer[i]->name) > 0)
            graph->initializer[graph->n_initializer++] = graph->initializer[i];
}

sh_status sh_onnx_fold_norms(Sh__Onnx__ModelProto *model, sh_arena *arena)
{
    Sh__Onnx__GraphProto *graph = model->graph;
    sh_emitter e = {.arena = arena, .made = graph};
    const size_t count = graph->n_node, tensors = graph->n_initializer;
    Sh__Onnx__NodeProto **nodes = sh_emit_take(&e, 2 * count, sizeof *nodes);
    Sh__Onnx__TensorProto **list = sh_emit_take(&e, tensors + 2 * count, sizeof *list);
    SH_TRY(e.status);
    Sh__Onnx__GraphProto source = *graph, made = *graph;
    memcpy(list, graph->initializer, tensors * sizeof *list);
    made.node = nodes;
    made.n_node = 0;
    made.initializer = list;
    e.made = &made;
    sh_emit_avoid(&e, &source);
    const folding f = {.e = &e, .graph = &source, .opset = model->opset_import[0]->version};
    for (size_t i = 0; i < count; i++)
        fold_node(&f, source.node[i]);
    SH_TRY(e.status);
    drop_unread(&made);
    *graph = made;
    return SH_OK;
}
