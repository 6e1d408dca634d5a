/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/node_name.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *sh_onnx_name(char text[SH_ONNX_NAME_TEXT], const char *name)
{
    const size_t room = SH_ONNX_NAME_TEXT - sizeof "...";
    sh_utf8_clean(text, room + 1, name);
    if (strlen(name) > room)
        memcpy(text + strlen(text), "...", sizeof "...");
    return text;
}

const char *sh_onnx_node_name(char text[SH_ONNX_NODE_TEXT], const Sh__Onnx__GraphProto *graph,
                              size_t index)
{
    const Sh__Onnx__NodeProto *node = graph->node[index];
    char name[SH_ONNX_NAME_TEXT], operator[SH_ONNX_NAME_TEXT];
    sh_onnx_name(operator, node->op_type);
    if (node->name[0] == '\0')
        snprintf(text, SH_ONNX_NODE_TEXT, "node %zu (%s)", index + 1, operator);
    else
        snprintf(text, SH_ONNX_NODE_TEXT, "node '%s' (%s)",
                 sh_onnx_name(name, node->name), operator);
    return text;
}
