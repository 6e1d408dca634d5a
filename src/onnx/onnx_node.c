/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_node.h"

#include <string.h>

#include "onnx/onnx_file.h"

sh_onnx_node sh_onnx_node_of(const Sh__Onnx__NodeProto *proto, int64_t opset)
{
    return (sh_onnx_node){proto, proto->op_type == NULL ? "" : proto->op_type, opset, NULL};
}

static const Sh__Onnx__AttributeProto *find(const sh_onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->proto->n_attribute; i++) {
        const Sh__Onnx__AttributeProto *attribute = node->proto->attribute[i];
        if (attribute->name != NULL && strcmp(attribute->name, name) == 0)
            return attribute;
    }
    return NULL;
}

/* NULL if the attribute is absent or has another type. The latter is recorded in `bad`. */
static const Sh__Onnx__AttributeProto *typed(sh_onnx_node *node, const char *name,
                                             sh_onnx_attribute type)
{
    const Sh__Onnx__AttributeProto *found = find(node, name);
    if (found == NULL)
        return NULL;
    if (found->has_type && found->type == (int32_t)type &&
        (type != SH_ONNX_ATTRIBUTE_TENSOR || found->t != NULL))
        return found;
    if (node->bad == NULL)
        node->bad = found->name;
    return NULL;
}

bool sh_onnx_node_has(const sh_onnx_node *node, const char *attribute)
{
    return find(node, attribute) != NULL;
}

int64_t sh_onnx_node_integer(sh_onnx_node *node, const char *attribute, int64_t otherwise)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_INT);
    return found == NULL ? otherwise : found->i;
}

float sh_onnx_node_number(sh_onnx_node *node, const char *attribute, float otherwise)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_FLOAT);
    return found == NULL ? otherwise : found->f;
}

static bool is_text(const ProtobufCBinaryData *data, const char *text)
{
    return data->len == strlen(text) &&
           (data->len == 0 || memcmp(data->data, text, data->len) == 0);
}

bool sh_onnx_node_says(sh_onnx_node *node, const char *attribute, const char *text)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_STRING);
    return found != NULL && is_text(&found->s, text);
}

size_t sh_onnx_node_text(sh_onnx_node *node, const char *attribute, const char **text)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_STRING);
    *text = found == NULL ? "" : (const char *)found->s.data;
    return found == NULL ? 0 : found->s.len;
}

bool sh_onnx_node_repeats(sh_onnx_node *node, const char *attribute, const char *const *texts)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_STRINGS);
    size_t count = 0;
    while (texts[count] != NULL)
        count++;
    if (found == NULL || count == 0 || found->n_strings == 0 || found->n_strings % count != 0)
        return false;
    for (size_t i = 0; i < found->n_strings; i++)
        if (!is_text(&found->strings[i], texts[i % count]))
            return false;
    return true;
}

size_t sh_onnx_node_integers(sh_onnx_node *node, const char *attribute, const int64_t **values)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_INTS);
    *values = found == NULL ? NULL : found->ints;
    return found == NULL ? 0 : found->n_ints;
}

size_t sh_onnx_node_numbers(sh_onnx_node *node, const char *attribute, const float **values)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_FLOATS);
    *values = found == NULL ? NULL : found->floats;
    return found == NULL ? 0 : found->n_floats;
}

const Sh__Onnx__TensorProto *sh_onnx_node_tensor(sh_onnx_node *node, const char *attribute)
{
    const Sh__Onnx__AttributeProto *found = typed(node, attribute, SH_ONNX_ATTRIBUTE_TENSOR);
    return found == NULL ? NULL : found->t;
}

sh_status sh_onnx_node_status(const sh_onnx_node *node)
{
    if (node->bad == NULL)
        return SH_OK;
    return sh_fail(SH_FORMAT, "attribute %.64s has an unexpected type", node->bad);
}
