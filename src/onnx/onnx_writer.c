/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message stands behind its length, so lengths come first: of each tensor, then of the graph.
 * protobuf-c packs all but the values.
 *
 *     model without graph | key length graph without initialisers | key length tensor ... | ...
 *                                                                   name, shape | key length values
 */
#include "onnx/onnx_writer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "onnx/node_name.h"
#include "onnx/skeleton.h"
#include "onnx/wire.h"

#define VARINT_MOST 10u
#define KEY_GRAPH (7 << 3 | 2)
#define KEY_INITIALIZER (5 << 3 | 2)
#define KEY_RAW_DATA (9 << 3 | 2)

static size_t put_varint(uint8_t bytes[VARINT_MOST], uint64_t value)
{
    size_t used = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[used++] = (uint8_t)(value | 0x80);
    bytes[used++] = (uint8_t)value;
    return used;
}

/* Bytes of a field of `length` bytes, with its key and length. */
static uint64_t field_bytes(uint64_t length)
{
    uint8_t bytes[VARINT_MOST];
    return 1 + put_varint(bytes, length) + length;
}

static sh_status write_head(const sh_onnx_writing *writing, uint8_t key, uint64_t length)
{
    uint8_t bytes[1 + VARINT_MOST] = {key};
    return writing->write(writing->context, bytes, 1 + put_varint(bytes + 1, length));
}

static sh_status write_message(const sh_onnx_writing *writing, const ProtobufCMessage *message)
{
    const size_t count = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(count + 1);
    if (bytes == NULL)
        return sh_fail_memory(count, "a part of a model");
    protobuf_c_message_pack(message, bytes);
    const sh_status status = writing->write(writing->context, bytes, count);
    free(bytes);
    return status;
}

/* Bytes of a tensor that gets its values from the caller, and those of its values. */
static sh_status measure(uint64_t *bytes, uint64_t *values, const sh_onnx_writing *writing,
                         const Sh__Onnx__TensorProto *message)
{
    sh_onnx_tensor tensor;
    char name[SH_ONNX_NAME_TEXT];
    *bytes = sh__onnx__tensor_proto__get_packed_size(message);
    *values = 0;
    if (message->has_raw_data)
        return SH_OK;
    SH_TRY(sh_onnx_tensor_of(&tensor, writing->model, message));
    if (tensor.type != SH_ONNX_FLOAT)
        return sh_fail(SH_UNSUPPORTED,
                       "%s: tensor '%s' is trained and not of float32: convert the model to "
                       "float32 before it is trained",
                       sh_onnx_path(writing->model), sh_onnx_name(name, tensor.name));
    *values = tensor.count * sizeof(float);
    *bytes += field_bytes(*values);
    return SH_OK;
}

static sh_status write_tensor(const sh_onnx_writing *writing, const Sh__Onnx__TensorProto *message)
{
    uint64_t bytes, value_bytes;
    sh_onnx_tensor tensor;
    char name[SH_ONNX_NAME_TEXT];
    SH_TRY(measure(&bytes, &value_bytes, writing, message));
    SH_TRY(write_head(writing, KEY_INITIALIZER, bytes));
    SH_TRY(write_message(writing, &message->base));
    if (message->has_raw_data)
        return SH_OK;
    SH_TRY(sh_onnx_tensor_of(&tensor, writing->model, message));
    SH_TRY(write_head(writing, KEY_RAW_DATA, value_bytes));
    const float *values = writing->values(writing->context, &tensor);
    if (values == NULL)
        return sh_fail(SH_NOT_FOUND, "%s: there are no values for the tensor '%s'",
                       sh_onnx_path(writing->model), sh_onnx_name(name, tensor.name));
    return value_bytes == 0 ? SH_OK : writing->write(writing->context, values, (size_t)value_bytes);
}

/* All but the graph. */
static sh_status write_model(const sh_onnx_writing *writing)
{
    const Sh__Onnx__ModelProto *whole = sh_onnx_model(writing->model);
    const Sh__Onnx__StringStringEntryProto none = SH__ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    Sh__Onnx__ModelProto model = SH__ONNX__MODEL_PROTO__INIT;
    Sh__Onnx__StringStringEntryProto *entries = calloc(writing->pair_count + 1, sizeof *entries);
    Sh__Onnx__StringStringEntryProto **list =
        calloc(writing->pair_count + 1, sizeof(Sh__Onnx__StringStringEntryProto *));
    sh_status status = SH_OK;
    if (entries == NULL || list == NULL)
        SH_TRY_DONE(sh_fail_memory(writing->pair_count * sizeof *entries, "a model's metadata"));
    for (size_t i = 0; i < writing->pair_count; i++) {
        entries[i] = none;
        entries[i].key = (char *)(uintptr_t)writing->pairs[i].key; /* packing changes nothing */
        entries[i].value = (char *)(uintptr_t)writing->pairs[i].text;
        list[i] = &entries[i];
    }
    model.has_ir_version = 1;
    model.ir_version = whole->ir_version;
    model.producer_name = (char[]){"shoal"};
    model.producer_version = (char[]){SHOAL_VERSION};
    model.opset_import = whole->opset_import;
    model.n_opset_import = whole->n_opset_import;
    model.metadata_props = list;
    model.n_metadata_props = writing->pair_count;
    status = write_message(writing, &model.base);
done:
    free(entries);
    free(list);
    return status;
}

static sh_status write_graph(const sh_onnx_writing *writing, Sh__Onnx__GraphProto *graph)
{
    const size_t count = graph->n_initializer;
    graph->n_initializer = 0;
    uint64_t bytes = sh__onnx__graph_proto__get_packed_size(graph);
    for (size_t i = 0; i < count; i++) {
        uint64_t tensor_bytes, value_bytes;
        SH_TRY(measure(&tensor_bytes, &value_bytes, writing, graph->initializer[i]));
        bytes += field_bytes(tensor_bytes);
    }
    if (bytes > SH_WIRE_FILE_MOST - (1 << 20)) /* the rest is smaller than that */
        return sh_fail(SH_LIMIT,
                       "%s: would have %" PRIu64 " bytes, and an ONNX file has less than 2 GiB",
                       sh_onnx_path(writing->model), bytes);
    SH_TRY(write_model(writing));
    SH_TRY(write_head(writing, KEY_GRAPH, bytes));
    SH_TRY(write_message(writing, &graph->base));
    for (size_t i = 0; i < count; i++)
        SH_TRY(write_tensor(writing, graph->initializer[i]));
    return SH_OK;
}

sh_status sh_onnx_write(const sh_onnx_writing *writing)
{
    sh_arena arena;
    Sh__Onnx__GraphProto graph;
    sh_arena_init(&arena);
    sh_status status = sh_skeleton_graph(&graph, &arena, writing->model);
    if (status == SH_OK)
        status = write_graph(writing, &graph);
    sh_arena_release(&arena);
    return status;
}
