/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/from_graph.h"

#include <string.h>

#include "onnx/emit_node.h"
#include "onnx/onnx_types.h"
#include "onnx/wire.h"

static bool *find_needed(sh_emitter *e)
{
    const sh_graph *graph = e->of->graph;
    bool *needed = sh_emit_take(e, graph->value_count, sizeof *needed);
    if (needed == NULL)
        return NULL;
    needed[e->of->answer] = true;
    for (size_t i = graph->node_count; i-- > 0;) {
        const sh_node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++)
            if (needed[node->out[0]] && node->in[k] != SH_NO_VALUE)
                needed[node->in[k]] = true;
    }
    return needed;
}

static void add_parameters(sh_emitter *e, const bool *needed)
{
    const sh_graph *graph = e->of->graph;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        if (!needed[parameter->value])
            continue;
        e->names[parameter->value] = sh_emit_text(e, parameter->name);
        sh_emit_tensor(e, e->names[parameter->value],
                       &sh_graph_type(graph, parameter->value)->shape, e->of->weights[i]);
    }
}

static void add_nodes(sh_emitter *e, const bool *needed)
{
    const sh_graph *graph = e->of->graph;
    for (size_t i = 0; i < graph->node_count && e->status == SH_OK; i++)
        if (needed[graph->nodes[i].out[0]])
            e->status = sh_emit_node(e, i);
}

/* The dimension that differs between one and two samples is the batch. */
static Sh__Onnx__ValueInfoProto *describe(sh_emitter *e, sh_value_id value, const char *name)
{
    const sh_shape *one = &sh_graph_type(e->of->graph, value)->shape;
    const sh_shape *two = &sh_graph_type(e->of->twice, value)->shape;
    size_t batch = 0;
    while (batch < one->rank && one->dim[batch] == two->dim[batch])
        batch++;
    return sh_emit_value_info(e, name, one, batch);
}

static char *by_channel(sh_emitter *e, const float *values)
{
    char *name = sh_emit_fresh(e);
    const sh_shape *samples = &sh_graph_type(e->of->graph, e->of->samples)->shape;
    const sh_shape shape = sh_shape_of(4, (size_t[]){1, samples->dim[1], 1, 1});
    sh_emit_tensor(e, name, &shape, values);
    return name;
}

static void begin(sh_emitter *e)
{
    const sh_from_graph *of = e->of;
    char *x = sh_emit_text(e, of->input);
    e->names[of->samples] = x;
    if (of->mean == NULL)
        return;
    char *part = sh_emit_fresh(e), *centred = sh_emit_fresh(e);
    e->names[of->samples] = sh_emit_fresh(e);
    sh_emit(e, "Div", 2, (char *[]){x, sh_emit_number(e, 255)}, part);
    sh_emit(e, "Sub", 2, (char *[]){part, by_channel(e, of->mean)}, centred);
    sh_emit(e, "Div", 2, (char *[]){centred, by_channel(e, of->deviation)}, e->names[of->samples]);
}

static void fill_graph(sh_emitter *e)
{
    const sh_from_graph *of = e->of;
    Sh__Onnx__ValueInfoProto **ends = sh_emit_take(e, 2, sizeof *ends);
    const bool *needed = find_needed(e);
    e->names = sh_emit_take(e, of->graph->value_count, sizeof *e->names);
    e->made->node =
        sh_emit_take(e, (of->graph->node_count + 1) * SH_EMIT_NODES_MOST, sizeof *e->made->node);
    e->made->initializer = sh_emit_take(
        e, of->graph->parameter_count + (of->graph->node_count + 1) * SH_EMIT_TENSORS_MOST,
        sizeof *e->made->initializer);
    e->made->name = sh_emit_text(e, of->name);
    if (e->status != SH_OK || needed == NULL || ends == NULL || e->names == NULL)
        return;
    e->names[of->answer] = sh_emit_text(e, of->output);
    add_parameters(e, needed);
    begin(e);
    add_nodes(e, needed);
    ends[0] = describe(e, of->samples, of->input);
    ends[1] = describe(e, of->answer, of->output);
    e->made->input = &ends[0];
    e->made->n_input = 1;
    e->made->output = &ends[1];
    e->made->n_output = 1;
}

sh_status sh_onnx_from_graph(Sh__Onnx__ModelProto **model, const sh_from_graph *of, sh_arena *arena)
{
    sh_emitter e = {.of = of, .arena = arena, .properties = &of->properties};
    Sh__Onnx__ModelProto *fresh = sh_emit_take(&e, 1, sizeof *fresh);
    e.made = sh_emit_take(&e, 1, sizeof *e.made);
    if (fresh == NULL || e.made == NULL)
        return e.status;
    sh__onnx__model_proto__init(fresh);
    sh__onnx__graph_proto__init(e.made);
    fill_graph(&e);
    sh_emit_frame(&e, fresh, SH_FROM_GRAPH_OPSET, SH_FROM_GRAPH_IR);
    SH_TRY(e.status);
    *model = fresh;
    return SH_OK;
}

typedef struct pipe {
    ProtobufCBuffer base;
    sh_onnx_sink *sink;
    void *context;
    sh_status status;
} pipe;

static void append(ProtobufCBuffer *buffer, size_t count, const uint8_t *bytes)
{
    pipe *to = (pipe *)(void *)buffer;
    if (to->status == SH_OK)
        to->status = to->sink(to->context, bytes, count);
}

sh_status sh_onnx_pack(const Sh__Onnx__ModelProto *model, sh_onnx_sink *sink, void *context)
{
    const size_t bytes = sh__onnx__model_proto__get_packed_size(model);
    if (bytes > SH_WIRE_FILE_MOST)
        return sh_fail(SH_LIMIT, "the model would have %zu bytes, and an ONNX file has at most %zu",
                       bytes, (size_t)SH_WIRE_FILE_MOST);
    pipe to = {.base = {.append = append}, .sink = sink, .context = context};
    sh__onnx__model_proto__pack_to_buffer(model, &to.base);
    return to.status;
}
