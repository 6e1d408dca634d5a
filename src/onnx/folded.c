/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/folded.h"

#include <string.h>

static bool is_convolution(const Sh__Onnx__NodeProto *node)
{
    return node->domain[0] == '\0' &&
           (strcmp(node->op_type, "Conv") == 0 || strcmp(node->op_type, "ConvTranspose") == 0);
}

/* PyTorch names results of operators with several outputs "getitem". A batch norm has several, a
 * convolution one. */
static bool says_folded(const Sh__Onnx__NodeProto *node)
{
    static const char own[] = "onnx::Conv", added[] = "_bias", item[] = "getitem";
    const char *weight = node->input[1], *bias = node->n_input > 2 ? node->input[2] : "";
    const size_t length = strlen(weight);
    return strncmp(weight, own, sizeof own - 1) == 0 || strstr(weight, "fused_bn") != NULL ||
           strstr(bias, "fused_bn") != NULL ||
           strncmp(node->output[0], item, sizeof item - 1) == 0 ||
           (strncmp(bias, weight, length) == 0 && strcmp(bias + length, added) == 0 &&
            strstr(weight, ".weight") != NULL);
}

static bool is_normalised(const Sh__Onnx__GraphProto *graph, const char *value)
{
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->op_type, "BatchNormalization") == 0 &&
            graph->node[i]->n_input > 0 && strcmp(graph->node[i]->input[0], value) == 0)
            return true;
    return false;
}

sh_onnx_fold_sign sh_onnx_fold_sign_of(const Sh__Onnx__GraphProto *graph,
                                       const Sh__Onnx__NodeProto *node)
{
    if (!is_convolution(node) || node->n_input < 2 || node->n_output == 0 ||
        is_normalised(graph, node->output[0]))
        return SH_ONNX_FOLD_NONE;
    if (says_folded(node))
        return SH_ONNX_FOLD_CERTAIN;
    return node->n_input > 2 && node->input[2][0] != '\0' ? SH_ONNX_FOLD_POSSIBLE
                                                          : SH_ONNX_FOLD_NONE;
}

sh_onnx_folded sh_onnx_find_folded(const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    sh_onnx_folded found = {0};
    for (size_t i = 0; i < graph->n_node; i++) {
        const Sh__Onnx__NodeProto *node = graph->node[i];
        const sh_onnx_fold_sign sign = sh_onnx_fold_sign_of(graph, node);
        found.norms += strcmp(node->op_type, "BatchNormalization") == 0;
        found.layers += is_convolution(node);
        found.possible += sign == SH_ONNX_FOLD_POSSIBLE;
        found.certain += sign == SH_ONNX_FOLD_CERTAIN;
    }
    return found;
}
