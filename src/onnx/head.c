/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/head.h"

#include <string.h>

#include "onnx/node_name.h"

static const Sh__Onnx__NodeProto *maker_of(const sh_onnx_importer *importer,
                                           const sh_onnx_entry *entry)
{
    return entry == NULL || entry->maker == SIZE_MAX ? NULL : importer->graph->node[entry->maker];
}

static sh_onnx_entry *input_of(const sh_onnx_importer *importer, const Sh__Onnx__NodeProto *node,
                               size_t index)
{
    return index < node->n_input ? sh_import_find(importer, node->input[index]) : NULL;
}

static bool is_one_of(const char *op, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++)
        if (strcmp(op, list[i]) == 0)
            return true;
    return false;
}

static bool is_in_loss(const sh_onnx_importer *importer, const Sh__Onnx__NodeProto *proto)
{
    static const char *const last[] = {"Softmax", "LogSoftmax", "Sigmoid", NULL};
    const sh_target target = importer->wish->target;
    sh_onnx_node node = sh_onnx_node_of(proto, sh_onnx_opset(importer->model));
    return (target == SH_TARGET_CLASS || target == SH_TARGET_LABELS) && is_one_of(node.op, last) &&
           proto->domain[0] == '\0' && sh_onnx_node_integer(&node, "axis", -1) != 0;
}

sh_status sh_onnx_head_result(sh_onnx_entry **result, sh_onnx_importer *importer)
{
    const Sh__Onnx__GraphProto *graph = importer->graph;
    const char *path = importer->path;
    if (graph->n_output == 0)
        return sh_fail(SH_INVALID, "%.256s: it has no output", path);
    sh_onnx_entry *entry = sh_import_find(importer, graph->output[0]->name);
    if (entry == NULL)
        return sh_fail(SH_FORMAT, "%.256s: nothing makes the output '%.64s'", path,
                       graph->output[0]->name);
    if (graph->n_output > 1)
        sh_import_note(importer, "it has %zu outputs; '%s', the first, is trained", graph->n_output,
                       entry->name);
    for (const Sh__Onnx__NodeProto *node; (node = maker_of(importer, entry)) != NULL;) {
        const bool passes = strcmp(node->op_type, "Identity") == 0;
        sh_onnx_entry *before = input_of(importer, node, 0);
        if (before == NULL || (!passes && !is_in_loss(importer, node)))
            break;
        entry = before;
        if (passes)
            continue;
        sh_import_note(importer, "the final %s is left out: the loss includes it", node->op_type);
        break;
    }
    *result = entry;
    return SH_OK;
}

/* Returns the output dimension of the weights of a dense layer or 1x1 convolution, else
 * SH_NO_AXIS. */
static size_t axis_of_outputs(const sh_onnx_importer *importer, const Sh__Onnx__NodeProto *proto,
                              const sh_onnx_tensor *weight)
{
    sh_onnx_node node = sh_onnx_node_of(proto, sh_onnx_opset(importer->model));
    if (strcmp(node.op, "Gemm") == 0 && weight->rank == 2)
        return sh_onnx_node_integer(&node, "transB", 0) != 0 ? 0 : 1;
    if (strcmp(node.op, "MatMul") == 0 && weight->rank == 2)
        return 1;
    if (strcmp(node.op, "Conv") != 0 || weight->rank < 3 ||
        sh_onnx_node_integer(&node, "group", 1) != 1)
        return SH_NO_AXIS;
    for (size_t i = 2; i < weight->rank; i++)
        if (weight->dim[i] != 1)
            return SH_NO_AXIS;
    return 0;
}

typedef struct last_layer {
    size_t index;                 /* of its node */
    sh_onnx_entry *weight, *bias; /* bias: NULL if there is none */
    size_t axis, outputs;
} last_layer;

/* NULL unless the input is a trained initialiser. */
static sh_onnx_entry *weights_at(const sh_onnx_importer *importer, const Sh__Onnx__NodeProto *node,
                                 size_t index, sh_onnx_tensor *tensor)
{
    sh_onnx_entry *entry = input_of(importer, node, index);
    if (entry == NULL || entry->kind != SH_ENTRY_STORED || entry->role != SH_ONNX_TRAINED ||
        sh_onnx_tensor_of(tensor, importer->model, entry->stored) != SH_OK)
        return NULL;
    return entry;
}

static bool is_layer(last_layer *layer, const sh_onnx_importer *importer,
                     const Sh__Onnx__NodeProto *node)
{
    sh_onnx_tensor tensor;
    sh_onnx_entry *weight = weights_at(importer, node, 1, &tensor);
    const size_t axis = weight == NULL ? SH_NO_AXIS : axis_of_outputs(importer, node, &tensor);
    if (axis == SH_NO_AXIS)
        return false;
    layer->weight = weight;
    layer->axis = axis;
    layer->outputs = tensor.dim[axis];
    sh_onnx_entry *bias = weights_at(importer, node, 2, &tensor);
    if (bias != NULL && tensor.rank > 0 && tensor.dim[tensor.rank - 1] == layer->outputs)
        layer->bias = bias;
    return true;
}

/* Only operators that accept any number of outputs may follow the last layer. */
static bool find_layer(last_layer *layer, const sh_onnx_importer *importer,
                       const sh_onnx_entry *result)
{
    static const char *const through[] = {
        "Identity", "Flatten",           "Reshape",     "Squeeze",    "Unsqueeze",
        "Dropout",  "GlobalAveragePool", "AveragePool", "ReduceMean", "Relu",
        "Cast",     "GlobalMaxPool",     "Transpose",   "ReduceMax",  NULL};
    sh_onnx_tensor tensor;
    for (const Sh__Onnx__NodeProto *node; (node = maker_of(importer, result)) != NULL;) {
        layer->index = result->maker;
        if (is_layer(layer, importer, node))
            return true;
        if (strcmp(node->op_type, "Add") == 0) { /* adds a bias */
            const size_t which = weights_at(importer, node, 1, &tensor) != NULL ? 1 : 0;
            layer->bias = weights_at(importer, node, which, &tensor);
            if (layer->bias == NULL || tensor.rank == 0)
                return false;
            result = input_of(importer, node, 1 - which);
            node = maker_of(importer, result);
            layer->index = node == NULL ? 0 : result->maker;
            sh_onnx_entry *bias = layer->bias;
            const size_t outputs = tensor.dim[tensor.rank - 1];
            const bool found = node != NULL && is_layer(layer, importer, node);
            layer->bias = bias;
            return found && tensor.count == outputs && outputs == layer->outputs;
        }
        if (!is_one_of(node->op_type, through))
            return false;
        result = input_of(importer, node, 0);
        if (result == NULL)
            return false;
    }
    return false;
}

sh_status sh_onnx_head_replace(sh_onnx_importer *importer, const sh_onnx_entry *result)
{
    last_layer layer = {0};
    const size_t wanted = importer->wish->outputs;
    sh_onnx_tensor tensor;
    if (importer->wish->target == SH_TARGET_SAMPLE || wanted == 0 ||
        !find_layer(&layer, importer, result) || layer.outputs == wanted)
        return SH_OK;
    if (layer.weight->readers > 1 || (layer.bias != NULL && layer.bias->readers > 1))
        return sh_fail(SH_UNSUPPORTED,
                       "%.256s: its last layer gives %zu numbers, the data need %zu, but other "
                       "layers share its weights; export a model with %zu outputs",
                       importer->path, layer.outputs, wanted, wanted);
    layer.weight->new_axis = layer.axis;
    if (layer.bias != NULL) {
        SH_TRY(sh_onnx_tensor_of(&tensor, importer->model, layer.bias->stored));
        layer.bias->new_axis = tensor.rank - 1;
    }
    importer->old_outputs = layer.outputs;
    char name[SH_ONNX_NODE_TEXT];
    sh_import_note(importer,
                   "%s, the last layer, gives %zu numbers and the data need %zu: it is replaced; "
                   "'%s' and its bias start from the seed",
                   sh_onnx_node_name(name, importer->graph, layer.index), layer.outputs, wanted,
                   layer.weight->name);
    return SH_OK;
}
