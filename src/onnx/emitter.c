/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/emitter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 160
#define ATTRIBUTES_MOST 8
#define FRESH "value:" /* prefix of generated names */

void *sh_emit_take(sh_emitter *e, size_t count, size_t bytes)
{
    if (e->status != SH_OK)
        return NULL;
    void *items = sh_arena_take(e->arena, count > 0 ? count : 1, bytes);
    if (items == NULL)
        e->status =
            sh_fail(SH_NO_MEMORY, "out of memory for a model of %zu nodes", e->made->n_node);
    return items;
}

char *sh_emit_text(sh_emitter *e, const char *words)
{
    char *copy = sh_emit_take(e, strlen(words) + 1, 1);
    if (copy != NULL)
        memcpy(copy, words, strlen(words) + 1);
    return copy;
}

sh_emitted *sh_emit(sh_emitter *e, const char *op, size_t count, char *const *inputs, char *output)
{
    sh_emitted *node = sh_emit_take(e, 1, sizeof *node);
    char **in = sh_emit_take(e, count, sizeof *in), **out = sh_emit_take(e, 1, sizeof *out);
    char *op_type = sh_emit_text(e, op);
    if (e->status != SH_OK || node == NULL || in == NULL || out == NULL)
        return NULL;
    sh__onnx__node_proto__init(node);
    for (size_t i = 0; i < count; i++)
        in[i] = inputs[i];
    out[0] = output;
    node->input = in;
    node->n_input = count;
    node->output = out;
    node->n_output = 1;
    node->op_type = op_type;
    node->name = output; /* unique: a value has one maker */
    e->made->node[e->made->n_node++] = node;
    return node;
}

static Sh__Onnx__AttributeProto *add_attribute(sh_emitter *e, sh_emitted *node, const char *name,
                                               sh_onnx_attribute type)
{
    Sh__Onnx__AttributeProto *attribute = sh_emit_take(e, 1, sizeof *attribute);
    char *copy = sh_emit_text(e, name);
    if (node != NULL && node->attribute == NULL)
        node->attribute = sh_emit_take(e, ATTRIBUTES_MOST, sizeof *node->attribute);
    if (e->status != SH_OK || node == NULL || attribute == NULL || node->attribute == NULL)
        return NULL;
    sh__onnx__attribute_proto__init(attribute);
    attribute->name = copy;
    attribute->has_type = true;
    attribute->type = (int32_t)type;
    node->attribute[node->n_attribute++] = attribute;
    return attribute;
}

void sh_emit_int(sh_emitter *e, sh_emitted *node, const char *name, int64_t value)
{
    Sh__Onnx__AttributeProto *attribute = add_attribute(e, node, name, SH_ONNX_ATTRIBUTE_INT);
    if (attribute == NULL)
        return;
    attribute->has_i = true;
    attribute->i = value;
}

void sh_emit_float(sh_emitter *e, sh_emitted *node, const char *name, float value)
{
    Sh__Onnx__AttributeProto *attribute = add_attribute(e, node, name, SH_ONNX_ATTRIBUTE_FLOAT);
    if (attribute == NULL)
        return;
    attribute->has_f = true;
    attribute->f = value;
}

void sh_emit_ints(sh_emitter *e, sh_emitted *node, const char *name, const int64_t *values,
                  size_t count)
{
    Sh__Onnx__AttributeProto *attribute = add_attribute(e, node, name, SH_ONNX_ATTRIBUTE_INTS);
    int64_t *copy = sh_emit_take(e, count, sizeof *copy);
    if (attribute == NULL || copy == NULL)
        return;
    memcpy(copy, values, count * sizeof *copy);
    attribute->ints = copy;
    attribute->n_ints = count;
}

char *sh_emit_name(sh_emitter *e, sh_value_id value)
{
    if (e->names[value] == NULL)
        e->names[value] = sh_emit_fresh(e);
    return e->names[value];
}

char *sh_emit_fresh(sh_emitter *e)
{
    char name[NAME_BYTES];
    /* Names of parameters in built-in models have no colon, so they cannot collide. */
    snprintf(name, sizeof name, FRESH "%zu", ++e->fresh);
    return sh_emit_text(e, name);
}

static void raise_fresh(sh_emitter *e, const char *name)
{
    if (strncmp(name, FRESH, sizeof FRESH - 1) != 0)
        return;
    const uintmax_t number = strtoumax(name + sizeof FRESH - 1, NULL, 10);
    e->fresh = number > e->fresh && number < SIZE_MAX / 2 ? (size_t)number : e->fresh;
}

void sh_emit_avoid(sh_emitter *e, const Sh__Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        raise_fresh(e, graph->initializer[i]->name);
    for (size_t i = 0; i < graph->n_input; i++)
        raise_fresh(e, graph->input[i]->name);
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_output; k++)
            raise_fresh(e, graph->node[i]->output[k]);
}

static Sh__Onnx__TensorProto *add_tensor(sh_emitter *e, char *name, sh_onnx_type type,
                                         const size_t *dim, size_t rank, const void *values,
                                         size_t bytes)
{
    Sh__Onnx__TensorProto *tensor = sh_emit_take(e, 1, sizeof *tensor);
    int64_t *dims = sh_emit_take(e, rank, sizeof *dims);
    if (tensor == NULL || dims == NULL)
        return NULL;
    sh__onnx__tensor_proto__init(tensor);
    for (size_t i = 0; i < rank; i++)
        dims[i] = (int64_t)dim[i];
    tensor->name = name;
    tensor->has_data_type = true;
    tensor->data_type = (int32_t)type;
    tensor->dims = dims;
    tensor->n_dims = rank;
    tensor->has_raw_data = true;
    tensor->raw_data.len = bytes;
    memcpy(&tensor->raw_data.data, &(const void *){values}, sizeof values); /* only read */
    e->made->initializer[e->made->n_initializer++] = tensor;
    return tensor;
}

char *sh_emit_integers(sh_emitter *e, const int64_t *values, size_t count)
{
    char *name = sh_emit_fresh(e);
    int64_t *copy = sh_emit_take(e, count, sizeof *copy);
    if (copy == NULL)
        return NULL;
    memcpy(copy, values, count * sizeof *copy);
    add_tensor(e, name, SH_ONNX_INT64, &count, 1, copy, count * sizeof *copy);
    return name;
}

char *sh_emit_number(sh_emitter *e, float value)
{
    char *name = sh_emit_fresh(e);
    float *copy = sh_emit_take(e, 1, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = value;
    add_tensor(e, name, SH_ONNX_FLOAT, NULL, 0, copy, sizeof *copy);
    return name;
}

void sh_emit_elements(sh_emitter *e, char *name, sh_onnx_type type, const sh_shape *shape,
                      const void *elements)
{
    add_tensor(e, name, type, shape->dim, shape->rank, elements,
               sh_shape_count(shape) * sh_onnx_type_bytes((int64_t)type));
}

void sh_emit_tensor(sh_emitter *e, char *name, const sh_shape *shape, const float *values)
{
    sh_emit_elements(e, name, SH_ONNX_FLOAT, shape, values);
}

Sh__Onnx__ValueInfoProto *sh_emit_value_info(sh_emitter *e, const char *name, const sh_shape *shape,
                                             size_t batch)
{
    Sh__Onnx__ValueInfoProto *info = sh_emit_take(e, 1, sizeof *info);
    Sh__Onnx__TypeProto *type = sh_emit_take(e, 1, sizeof *type);
    Sh__Onnx__TypeProto__Tensor *tensor = sh_emit_take(e, 1, sizeof *tensor);
    Sh__Onnx__TensorShapeProto *dims = sh_emit_take(e, 1, sizeof *dims);
    Sh__Onnx__TensorShapeProto__Dimension *items = sh_emit_take(e, SH_MAX_RANK, sizeof *items);
    Sh__Onnx__TensorShapeProto__Dimension **list = sh_emit_take(e, SH_MAX_RANK, sizeof *list);
    if (e->status != SH_OK || info == NULL || type == NULL || tensor == NULL || dims == NULL ||
        items == NULL || list == NULL)
        return NULL;
    sh__onnx__value_info_proto__init(info);
    sh__onnx__type_proto__init(type);
    sh__onnx__type_proto__tensor__init(tensor);
    sh__onnx__tensor_shape_proto__init(dims);
    for (size_t d = 0; d < shape->rank; d++) {
        sh__onnx__tensor_shape_proto__dimension__init(&items[d]);
        if (d == batch) {
            items[d].dim_param = sh_emit_text(e, "N");
        } else {
            items[d].has_dim_value = true;
            items[d].dim_value = (int64_t)shape->dim[d];
        }
        list[d] = &items[d];
    }
    dims->dim = list;
    dims->n_dim = shape->rank;
    tensor->has_elem_type = true;
    tensor->elem_type = SH_ONNX_FLOAT;
    tensor->shape = dims;
    type->tensor_type = tensor;
    info->name = sh_emit_text(e, name);
    info->type = type;
    return info;
}

void sh_emit_frame(sh_emitter *e, Sh__Onnx__ModelProto *model, int64_t opset, int64_t ir)
{
    const sh_onnx_properties *properties = e->properties;
    Sh__Onnx__OperatorSetIdProto *set = sh_emit_take(e, 1, sizeof *set),
                                 **sets = sh_emit_take(e, 1, sizeof *sets);
    Sh__Onnx__StringStringEntryProto *entries =
        sh_emit_take(e, properties->count + 1, sizeof *entries);
    Sh__Onnx__StringStringEntryProto **list = sh_emit_take(e, properties->count + 1, sizeof *list);
    if (e->status != SH_OK || set == NULL || sets == NULL || entries == NULL || list == NULL)
        return;
    sh__onnx__operator_set_id_proto__init(set);
    set->has_version = true;
    set->version = opset;
    sets[0] = set;
    for (size_t i = 0; i < properties->count; i++) {
        sh__onnx__string_string_entry_proto__init(&entries[i]);
        entries[i].key = sh_emit_text(e, properties->pairs[i][0]);
        entries[i].value = sh_emit_text(e, properties->pairs[i][1]);
        list[i] = &entries[i];
    }
    model->has_ir_version = true;
    model->ir_version = ir;
    model->producer_name = sh_emit_text(e, "shoal");
    model->producer_version = sh_emit_text(e, SHOAL_VERSION);
    model->opset_import = sets;
    model->n_opset_import = 1;
    model->metadata_props = list;
    model->n_metadata_props = properties->count;
    model->graph = e->made;
}
