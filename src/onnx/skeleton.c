/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages are copied only where they differ. protobuf-c writes fields in the order of their
 * numbers. An opened model is already normalised (onnx/wire, onnx/graph_check), except for the
 * values of tensors.
 */
#include "onnx/skeleton.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/node_name.h"
#include "onnx/roles.h"

typedef struct skeleton_builder {
    const sh_onnx *model;
    sh_arena *arena;
    size_t value_bytes; /* of the constants so far */
} skeleton_builder;

static sh_status fail_large(const sh_onnx *model)
{
    return sh_fail(SH_LIMIT,
                   "%s: its constants take more than %zu MiB, too much for a model that devices "
                   "exchange: large tensors must be initialisers used by layers",
                   sh_onnx_path(model), SH_SKELETON_MOST >> 20);
}

static sh_status copy_tensor(skeleton_builder *builder, Sh__Onnx__TensorProto **copy,
                             const Sh__Onnx__TensorProto *message, bool with_values)
{
    const Sh__Onnx__TensorProto none = SH__ONNX__TENSOR_PROTO__INIT;
    sh_onnx_tensor tensor;
    char name[SH_ONNX_NAME_TEXT];
    SH_TRY(sh_fail_in(sh_onnx_tensor_of(&tensor, builder->model, message), "%s",
                      sh_onnx_path(builder->model)));
    Sh__Onnx__TensorProto *fresh = sh_arena_take(builder->arena, 1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a tensor of a model");
    *fresh = none;
    fresh->name = message->name;
    fresh->dims = message->dims;
    fresh->n_dims = message->n_dims;
    fresh->has_data_type = 1;
    fresh->data_type = message->data_type;
    *copy = fresh;
    if (!with_values)
        return SH_OK;
    if (!sh_onnx_has_data(builder->model, &tensor))
        return sh_fail(SH_FORMAT, "%s: the constant '%s' has no values",
                       sh_onnx_path(builder->model), sh_onnx_name(name, tensor.name));
    const size_t bytes = tensor.count * sh_onnx_type_bytes((int64_t)tensor.type);
    if (bytes > SH_SKELETON_MOST - builder->value_bytes)
        return fail_large(builder->model);
    builder->value_bytes += bytes;
    fresh->has_raw_data = 1;
    fresh->raw_data.len = bytes;
    fresh->raw_data.data = sh_arena_take(builder->arena, bytes + 1, 1);
    if (fresh->raw_data.data == NULL)
        return sh_fail_memory(bytes, "a constant of a model");
    return sh_onnx_raw(builder->model, &tensor, fresh->raw_data.data);
}

static bool has_tensor(const Sh__Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->t != NULL)
            return true;
    return false;
}

static sh_status copy_node(skeleton_builder *builder, Sh__Onnx__NodeProto **copy,
                           const Sh__Onnx__NodeProto *node)
{
    Sh__Onnx__NodeProto *fresh = sh_arena_take(builder->arena, 1, sizeof *fresh);
    Sh__Onnx__AttributeProto **attributes =
        sh_arena_take(builder->arena, node->n_attribute + 1, sizeof(Sh__Onnx__AttributeProto *));
    Sh__Onnx__AttributeProto *values =
        sh_arena_take(builder->arena, node->n_attribute + 1, sizeof *values);
    if (fresh == NULL || attributes == NULL || values == NULL)
        return sh_fail_memory(node->n_attribute * sizeof *values, "a node of a model");
    *fresh = *node;
    fresh->attribute = attributes;
    for (size_t i = 0; i < node->n_attribute; i++) {
        values[i] = *node->attribute[i];
        attributes[i] = &values[i];
        if (values[i].t != NULL)
            SH_TRY(copy_tensor(builder, &values[i].t, node->attribute[i]->t, true));
    }
    *copy = fresh;
    return SH_OK;
}

static sh_status copy_graph(skeleton_builder *builder, Sh__Onnx__GraphProto *copy)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(builder->model);
    sh_onnx_role *roles = sh_arena_take(builder->arena, graph->n_initializer + 1, sizeof *roles);
    *copy = *graph;
    copy->initializer =
        sh_arena_take(builder->arena, graph->n_initializer + 1, sizeof(Sh__Onnx__TensorProto *));
    copy->node = sh_arena_take(builder->arena, graph->n_node + 1, sizeof(Sh__Onnx__NodeProto *));
    if (roles == NULL || copy->initializer == NULL || copy->node == NULL)
        return sh_fail_memory(graph->n_initializer * sizeof *roles, "the skeleton of a model");
    SH_TRY(sh_onnx_roles(roles, builder->model));
    for (size_t i = 0; i < graph->n_initializer; i++)
        SH_TRY(copy_tensor(builder, &copy->initializer[i], graph->initializer[i],
                           roles[i] == SH_ONNX_CONSTANT));
    for (size_t i = 0; i < graph->n_node; i++) {
        copy->node[i] = graph->node[i];
        if (has_tensor(graph->node[i]))
            SH_TRY(copy_node(builder, &copy->node[i], graph->node[i]));
    }
    return SH_OK;
}

sh_status sh_skeleton_digest(char digest[SH_DIGEST_TEXT], const void *bytes, size_t count)
{
    uint8_t block[SH_DIGEST_BYTES];
    SH_TRY(sh_digest_block(block, bytes, count));
    sh_digest_print(digest, block);
    return SH_OK;
}

static sh_status pack(sh_skeleton *skeleton, const sh_onnx *whole, Sh__Onnx__GraphProto *graph)
{
    Sh__Onnx__ModelProto model = SH__ONNX__MODEL_PROTO__INIT;
    Sh__Onnx__StringStringEntryProto mark = SH__ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Sh__Onnx__StringStringEntryProto *marks[1] = {&mark};
    mark.key = (char[]){SH_ONNX_SKELETON};
    mark.value = (char[]){"1"};
    model.has_ir_version = 1;
    model.ir_version = sh_onnx_model(whole)->ir_version;
    model.opset_import = sh_onnx_model(whole)->opset_import;
    model.n_opset_import = sh_onnx_model(whole)->n_opset_import;
    model.graph = graph;
    model.metadata_props = marks;
    model.n_metadata_props = 1;
    sh_skeleton fresh = {.count = sh__onnx__model_proto__get_packed_size(&model)};
    if (fresh.count > SH_SKELETON_MOST)
        return fail_large(whole);
    fresh.bytes = malloc(fresh.count);
    if (fresh.bytes == NULL)
        return sh_fail_memory(fresh.count, "the skeleton of a model");
    sh__onnx__model_proto__pack(&model, fresh.bytes);
    const sh_status status = sh_skeleton_digest(fresh.digest, fresh.bytes, fresh.count);
    if (status != SH_OK) {
        free(fresh.bytes);
        return status;
    }
    *skeleton = fresh;
    return SH_OK;
}

sh_status sh_skeleton_graph(Sh__Onnx__GraphProto *graph, sh_arena *arena, const sh_onnx *model)
{
    skeleton_builder builder = {.model = model, .arena = arena};
    return copy_graph(&builder, graph);
}

sh_status sh_skeleton_make(sh_skeleton *skeleton, const sh_onnx *model)
{
    sh_arena arena;
    Sh__Onnx__GraphProto graph;
    sh_arena_init(&arena);
    sh_status status = sh_skeleton_graph(&graph, &arena, model);
    if (status == SH_OK)
        status = pack(skeleton, model, &graph);
    sh_arena_release(&arena);
    return status;
}

void sh_skeleton_release(sh_skeleton *skeleton)
{
    free(skeleton->bytes);
    skeleton->bytes = NULL;
}
