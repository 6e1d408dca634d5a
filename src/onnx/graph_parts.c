/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/graph_parts.h"

#include <string.h>

#include "onnx/onnx_types.h"

Sh__Onnx__TensorProto *sh_onnx_find_tensor(const Sh__Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (strcmp(graph->initializer[i]->name, name) == 0)
            return graph->initializer[i];
    return NULL;
}

size_t sh_onnx_maker_index(const Sh__Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            if (strcmp(graph->node[i]->output[k], name) == 0)
                return i;
    return SIZE_MAX;
}

Sh__Onnx__NodeProto *sh_onnx_maker(const Sh__Onnx__GraphProto *graph, const char *name)
{
    const size_t index = sh_onnx_maker_index(graph, name);
    return index == SIZE_MAX ? NULL : graph->node[index];
}

size_t sh_onnx_readers(const Sh__Onnx__GraphProto *graph, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->n_output; i++)
        count += strcmp(graph->output[i]->name, name) == 0;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            count += strcmp(graph->node[i]->input[k], name) == 0;
    return count;
}

bool sh_onnx_is_raw_float(const Sh__Onnx__TensorProto *tensor)
{
    return tensor != NULL && tensor->has_raw_data && tensor->data_type == SH_ONNX_FLOAT;
}

double sh_onnx_element(const Sh__Onnx__TensorProto *tensor, size_t index)
{
    float value;
    memcpy(&value, tensor->raw_data.data + index * sizeof value, sizeof value);
    return (double)value;
}
