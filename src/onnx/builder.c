/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer whose weights depend on the shape of its input needs that shape. The builder then imports
 * the unfinished model (import.h), which computes all shapes and reports what does not fit. So
 * every model that was built can be imported. The repeated imports take noticeable time for models
 * of a hundred layers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/layers.h"
#include "onnx/builder_parts.h"
#include "onnx/import.h"
#include "onnx/model_cache.h"

#define TENSORS_MOST (2 * SH_BUILDER_NODES)
#define SAMPLES "input"
#define NAME_BYTES 160

/* ---- failures ---------------------------------------------------------------------------------
 */

sh_layer sh_builder_failed(sh_builder *builder, sh_status status)
{
    if (builder->status == SH_OK && status != SH_OK) {
        builder->status = status;
        snprintf(builder->message, sizeof builder->message, "%s", sh_message());
    }
    return SH_NO_LAYER;
}

bool sh_builder_goes_on(sh_builder *builder)
{
    if (builder->e.status != SH_OK)
        (void)sh_builder_failed(builder, builder->e.status);
    else if (builder->made.n_node + 32 > SH_BUILDER_NODES ||
             builder->made.n_initializer + 32 > TENSORS_MOST)
        (void)sh_builder_failed(
            builder, sh_fail(SH_LIMIT, "a model has at most %d operators", SH_BUILDER_NODES - 32));
    return builder->status == SH_OK;
}

static sh_status status_of(sh_builder *builder)
{
    if (sh_builder_goes_on(builder))
        return SH_OK;
    return sh_fail(builder->status, "%s", builder->message);
}

/* ---- parts ------------------------------------------------------------------------------------
 */

char *sh_builder_name(sh_builder *builder, sh_layer x)
{
    if (!sh_builder_goes_on(builder))
        return NULL;
    if (x < builder->count)
        return builder->layers[x].name;
    (void)sh_builder_failed(builder, sh_fail(SH_INVALID, "a layer's input is not a layer"));
    return NULL;
}

sh_layer sh_builder_give(sh_builder *builder, char *name)
{
    if (!sh_builder_goes_on(builder) || name == NULL)
        return SH_NO_LAYER;
    const sh_status status = sh_array_grow((void **)&builder->layers, &builder->capacity,
                                           builder->count + 1, sizeof *builder->layers);
    if (status != SH_OK)
        return sh_builder_failed(builder, status);
    builder->layers[builder->count] = (sh_built){.name = name};
    return (sh_layer)builder->count++;
}

sh_emitted *sh_builder_node(sh_builder *builder, sh_layer *y, const char *op, size_t count,
                            char *const *inputs, const char *name)
{
    *y = SH_NO_LAYER;
    for (size_t i = 0; i < count; i++)
        if (inputs[i] == NULL)
            return NULL;
    if (!sh_builder_goes_on(builder))
        return NULL;
    char *own = name == NULL ? sh_emit_fresh(&builder->e) : sh_emit_text(&builder->e, name);
    sh_emitted *node = sh_emit(&builder->e, op, count, inputs, own);
    *y = sh_builder_give(builder, own);
    return node;
}

char *sh_builder_weight(sh_builder *builder, const char *name, const char *part,
                        const sh_shape *shape)
{
    char text[NAME_BYTES];
    if (!sh_builder_goes_on(builder))
        return NULL;
    const int bytes = snprintf(text, sizeof text, "%s%s%s", name, part[0] == '\0' ? "" : ".", part);
    if (bytes < 0 || (size_t)bytes >= sizeof text) {
        (void)sh_builder_failed(builder, sh_fail(SH_LIMIT, "the name %.64s... is too long", name));
        return NULL;
    }
    char *own = sh_emit_text(&builder->e, text);
    sh_emit_tensor(&builder->e, own, shape, NULL);
    if (!sh_builder_goes_on(builder))
        return NULL;
    Sh__Onnx__TensorProto *tensor = builder->made.initializer[builder->made.n_initializer - 1];
    tensor->has_raw_data = false;
    tensor->raw_data = (ProtobufCBinaryData){0};
    return own;
}

/* ---- packing ----------------------------------------------------------------------------------
 */

typedef struct bytes {
    uint8_t *bytes;
    size_t count, capacity;
} bytes;

static sh_status append(void *context, const void *from, size_t count)
{
    bytes *to = context;
    if (count == 0)
        return SH_OK;
    SH_TRY(sh_array_grow((void **)&to->bytes, &to->capacity, to->count + count, 1));
    memcpy(to->bytes + to->count, from, count);
    to->count += count;
    return SH_OK;
}

/* Describes a float32 value [N, ...], of unknown shape if `shape` has rank 0. */
static Sh__Onnx__ValueInfoProto *describe(sh_emitter *e, char *name, const sh_shape *shape)
{
    Sh__Onnx__ValueInfoProto *info = sh_emit_take(e, 1, sizeof *info);
    Sh__Onnx__TypeProto *type = sh_emit_take(e, 1, sizeof *type);
    Sh__Onnx__TypeProto__Tensor *tensor = sh_emit_take(e, 1, sizeof *tensor);
    Sh__Onnx__TensorShapeProto *dims = sh_emit_take(e, 1, sizeof *dims);
    Sh__Onnx__TensorShapeProto__Dimension *each = sh_emit_take(e, SH_MAX_RANK, sizeof *each);
    Sh__Onnx__TensorShapeProto__Dimension **list = sh_emit_take(e, SH_MAX_RANK, sizeof *list);
    if (info == NULL || type == NULL || tensor == NULL || dims == NULL || each == NULL ||
        list == NULL)
        return NULL;
    sh__onnx__value_info_proto__init(info);
    sh__onnx__type_proto__init(type);
    sh__onnx__type_proto__tensor__init(tensor);
    sh__onnx__tensor_shape_proto__init(dims);
    for (size_t d = 0; d < shape->rank; d++) {
        sh__onnx__tensor_shape_proto__dimension__init(&each[d]);
        list[d] = &each[d];
        each[d].has_dim_value = d > 0;
        each[d].dim_value = d > 0 ? (int64_t)shape->dim[d] : 0;
        each[d].dim_param = d > 0 ? NULL : sh_emit_text(e, "N");
    }
    dims->dim = list;
    dims->n_dim = shape->rank;
    tensor->has_elem_type = true;
    tensor->elem_type = SH_ONNX_FLOAT;
    tensor->shape = dims;
    type->tensor_type = tensor;
    info->name = name;
    info->type = type;
    return info;
}

static sh_status pack(bytes *to, sh_builder *builder, sh_layer result, const sh_shape *shape)
{
    sh_emitter *e = &builder->e;
    char key[] = SH_ONNX_SKELETON, one[] = "1", producer[] = "shoal", version[] = SHOAL_VERSION;
    Sh__Onnx__ModelProto model = SH__ONNX__MODEL_PROTO__INIT;
    Sh__Onnx__OperatorSetIdProto set = SH__ONNX__OPERATOR_SET_ID_PROTO__INIT, *sets[] = {&set};
    Sh__Onnx__StringStringEntryProto mark = SH__ONNX__STRING_STRING_ENTRY_PROTO__INIT,
                                     *marks[] = {&mark};
    Sh__Onnx__ValueInfoProto *in = describe(e, sh_emit_text(e, SAMPLES), &builder->samples);
    Sh__Onnx__ValueInfoProto *out = describe(e, sh_builder_name(builder, result), shape);
    SH_TRY(status_of(builder));
    set.has_version = true;
    set.version = SH_BUILDER_OPSET;
    mark.key = key;
    mark.value = one;
    builder->made.input = &in;
    builder->made.n_input = 1;
    builder->made.output = &out;
    builder->made.n_output = 1;
    model.has_ir_version = true;
    model.ir_version = SH_BUILDER_IR;
    model.producer_name = producer;
    model.producer_version = version;
    model.opset_import = sets;
    model.n_opset_import = 1;
    model.metadata_props = marks;
    model.n_metadata_props = 1;
    model.graph = &builder->made;
    *to = (bytes){0};
    const sh_status status = sh_onnx_pack(&model, append, to);
    builder->made.input = builder->made.output = NULL;
    builder->made.n_input = builder->made.n_output = 0;
    if (status != SH_OK)
        free(to->bytes);
    return status;
}

/* ---- shapes -----------------------------------------------------------------------------------
 */

typedef struct shapes_finder {
    sh_builder *builder;
    const sh_graph *graph;
    const sh_onnx *model;
} shapes_finder;

static void take_shape(void *context, const sh_onnx_step *step)
{
    const shapes_finder *finder = context;
    sh_builder *builder = finder->builder;
    if (step->given == SH_NO_VALUE)
        return;
    const char *name = sh_onnx_graph(finder->model)->node[step->index]->output[0];
    for (size_t i = 0; i < builder->count; i++)
        if (strcmp(builder->layers[i].name, name) == 0)
            builder->layers[i].shape = sh_graph_type(finder->graph, step->given)->shape;
}

/* Imports the model with x as its output. */
static sh_status import(sh_builder *builder, sh_layer x)
{
    const sh_shape open = {.rank = 0};
    bytes packed;
    sh_onnx *model = NULL;
    sh_graph *graph = NULL;
    sh_status status;
    SH_TRY(pack(&packed, builder, x, &open));
    SH_TRY(sh_onnx_open_owned(&model, "the model", packed.bytes, packed.count));
    SH_TRY_DONE(sh_graph_new(&graph));
    shapes_finder finder = {.builder = builder, .graph = graph, .model = model};
    const sh_onnx_wish wish = {.target = SH_TARGET_NUMBERS, .step = take_shape, .context = &finder};
    sh_net net = {.graph = graph};
    const sh_value_id samples = sh_graph_input(graph, (sh_type){SH_F32, builder->samples});
    (void)sh_onnx_build(&net, samples, model, &wish);
    status = sh_graph_status(graph);
done:
    sh_graph_free(graph);
    sh_onnx_close(model);
    return status;
}

const sh_shape *sh_builder_shape(sh_builder *builder, sh_layer x, const char *layer, size_t rank)
{
    if (sh_builder_name(builder, x) == NULL)
        return NULL;
    sh_built *of = &builder->layers[x];
    const sh_status status = of->shape.rank > 0 ? SH_OK : import(builder, x);
    char text[SH_SHAPE_TEXT];
    if (of->shape.rank == 0 && status != SH_OK)
        (void)sh_builder_failed(builder, status);
    else if (of->shape.rank == 0)
        (void)sh_builder_failed(
            builder,
            sh_fail(SH_INVALID, "layer %.64s: its input does not depend on the samples", layer));
    else if (of->shape.rank < rank)
        (void)sh_builder_failed(builder,
                                sh_fail(SH_INVALID,
                                        "layer %.64s: an input of %s for one sample, expected at "
                                        "least %zu dimensions",
                                        layer, sh_shape_print(&of->shape, text), rank));
    return builder->status == SH_OK ? &of->shape : NULL;
}

/* ---- finishing --------------------------------------------------------------------------------
 */

sh_status sh_builder_network(sh_network **network, sh_builder *builder, sh_layer result,
                             const char *name)
{
    bytes packed;
    sh_onnx *model;
    (void)sh_builder_name(builder, result);
    SH_TRY(status_of(builder));
    SH_TRY(import(builder, result));
    SH_TRY(pack(&packed, builder, result, &builder->layers[result].shape));
    SH_TRY(sh_onnx_open_owned(&model, "the model", packed.bytes, packed.count));
    const sh_status status = sh_network_of_model(network, model, name);
    sh_onnx_close(model);
    return status;
}

sh_status sh_builder_finish(sh_builder *builder, sh_layer result, const char *name,
                            char model[SH_MODEL_BYTES])
{
    sh_network *network;
    SH_TRY(sh_builder_network(&network, builder, result, name));
    const sh_status status = sh_model_cache_put(network);
    if (status == SH_OK)
        snprintf(model, SH_MODEL_BYTES, "%s", network->spec);
    sh_network_unref(network);
    return status;
}

/* ---- creation and release ---------------------------------------------------------------------
 */

sh_status sh_builder_new(sh_builder **builder, size_t channels, size_t height, size_t width)
{
    sh_builder *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a model");
    sh_arena_init(&fresh->arena);
    sh__onnx__graph_proto__init(&fresh->made);
    fresh->e = (sh_emitter){.arena = &fresh->arena, .made = &fresh->made};
    fresh->samples = sh_shape_of(4, (size_t[]){1, channels, height, width});
    fresh->made.name = sh_emit_text(&fresh->e, "model");
    fresh->made.node = sh_emit_take(&fresh->e, SH_BUILDER_NODES, sizeof *fresh->made.node);
    fresh->made.initializer =
        sh_emit_take(&fresh->e, TENSORS_MOST, sizeof *fresh->made.initializer);
    sh_status status = fresh->e.status;
    if (status == SH_OK)
        status = sh_fail_in(sh_shape_check(&fresh->samples), "samples");
    if (status != SH_OK) {
        sh_builder_free(fresh);
        return status;
    }
    *builder = fresh;
    return SH_OK;
}

sh_layer sh_build_samples(sh_builder *builder)
{
    if (builder->count > 0)
        return 0;
    const sh_layer samples = sh_builder_give(builder, sh_emit_text(&builder->e, SAMPLES));
    if (samples != SH_NO_LAYER)
        builder->layers[samples].shape = builder->samples;
    return samples;
}

void sh_builder_free(sh_builder *builder)
{
    if (builder == NULL)
        return;
    free(builder->layers);
    sh_arena_release(&builder->arena);
    free(builder);
}
