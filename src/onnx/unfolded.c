/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of a marked convolution is renamed. The new batch norm reads it and takes over the old
 * name, so that all readers get its output.
 */
#include "onnx/unfolded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/emitter.h"
#include "onnx/folded.h"

#define TENSORS 4

static const char *const parts[TENSORS] = {"weight", "bias", "mean", "var"};

void sh_unfolded_name(char name[SH_UNFOLDED_NAME], const Sh__Onnx__NodeProto *convolution,
                      const char *part)
{
    static const char end[] = ".weight";
    const char *weight = convolution->input[1];
    size_t length = strlen(weight);
    if (length >= sizeof end && strcmp(weight + length - (sizeof end - 1), end) == 0)
        length -= sizeof end - 1;
    length = length < SH_UNFOLDED_NAME - 32 ? length : SH_UNFOLDED_NAME - 32;
    snprintf(name, SH_UNFOLDED_NAME, "%.*s.unfolded.%.16s", (int)length, weight, part);
}

static size_t readers_of(const Sh__Onnx__GraphProto *graph, const char *value)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            count += strcmp(graph->node[i]->input[k], value) == 0;
    return count;
}

static bool is_output(const Sh__Onnx__GraphProto *graph, const char *value)
{
    for (size_t i = 0; i < graph->n_output; i++)
        if (strcmp(graph->output[i]->name, value) == 0)
            return true;
    return false;
}

static bool is_free(const sh_onnx *model, const Sh__Onnx__NodeProto *node)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    char name[SH_UNFOLDED_NAME];
    sh_unfolded_name(name, node, parts[0]);
    return !is_output(graph, node->output[0]) && readers_of(graph, node->output[0]) > 0 &&
           readers_of(graph, node->input[1]) == 1 &&
           sh_onnx_initializer(model, node->input[1]) != NULL &&
           sh_onnx_initializer(model, name) == NULL;
}

sh_status sh_onnx_unfoldable(bool *chosen, const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    const bool says = sh_onnx_find_folded(model).certain > 0;
    size_t count = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        const sh_onnx_fold_sign sign = sh_onnx_fold_sign_of(graph, graph->node[i]);
        chosen[i] = (sign == SH_ONNX_FOLD_CERTAIN || (!says && sign == SH_ONNX_FOLD_POSSIBLE)) &&
                    is_free(model, graph->node[i]);
        count += chosen[i];
    }
    if (count == 0)
        return sh_fail(SH_INVALID,
                       "--unfold: %.256s has no convolutions that a batch norm could "
                       "be folded into",
                       sh_onnx_path(model));
    return SH_OK;
}

static size_t channels_of(const sh_onnx *model, const Sh__Onnx__NodeProto *node)
{
    const Sh__Onnx__TensorProto *weight = sh_onnx_initializer(model, node->input[1]);
    const bool transposed = strcmp(node->op_type, "ConvTranspose") == 0;
    int64_t groups = 1;
    if (!transposed)
        return weight->n_dims > 0 ? (size_t)weight->dims[0] : 0;
    for (size_t i = 0; i < node->n_attribute; i++)
        if (strcmp(node->attribute[i]->name, "group") == 0)
            groups = node->attribute[i]->i;
    return weight->n_dims > 1 ? (size_t)(weight->dims[1] * groups) : 0;
}

static Sh__Onnx__NodeProto *renamed(sh_emitter *e, const Sh__Onnx__NodeProto *node, char *result)
{
    Sh__Onnx__NodeProto *fresh = sh_emit_take(e, 1, sizeof *fresh);
    char **output = sh_emit_take(e, 1, sizeof *output);
    if (fresh == NULL || output == NULL)
        return NULL;
    *fresh = *node;
    output[0] = result;
    fresh->output = output;
    return fresh;
}

static void add_norm(sh_emitter *e, const sh_onnx *model, Sh__Onnx__NodeProto *node)
{
    char name[SH_UNFOLDED_NAME], *inputs[1 + TENSORS];
    const sh_shape shape = sh_shape_of(1, (size_t[]){channels_of(model, node)});
    sh_unfolded_name(name, node, "input");
    inputs[0] = sh_emit_text(e, name);
    e->made->node[e->made->n_node++] = renamed(e, node, inputs[0]);
    for (size_t i = 0; i < TENSORS; i++) {
        sh_unfolded_name(name, node, parts[i]);
        inputs[1 + i] = sh_emit_text(e, name);
        sh_emit_tensor(e, inputs[1 + i], &shape, NULL);
        if (e->status != SH_OK)
            return;
        Sh__Onnx__TensorProto *tensor = e->made->initializer[e->made->n_initializer - 1];
        tensor->has_raw_data = false;
        tensor->raw_data = (ProtobufCBinaryData){0};
    }
    sh_emitted *norm = sh_emit(e, "BatchNormalization", 1 + TENSORS, inputs, node->output[0]);
    sh_emit_float(e, norm, "epsilon", SH_UNFOLDED_EPSILON);
}

static sh_status pack(uint8_t **bytes, size_t *count, const sh_onnx *whole,
                      Sh__Onnx__GraphProto *graph)
{
    char key[] = SH_ONNX_SKELETON, one[] = "1";
    Sh__Onnx__ModelProto model = *sh_onnx_model(whole);
    Sh__Onnx__StringStringEntryProto mark = SH__ONNX__STRING_STRING_ENTRY_PROTO__INIT,
                                     *marks[] = {&mark};
    mark.key = key;
    mark.value = one;
    model.graph = graph;
    model.metadata_props = marks;
    model.n_metadata_props = 1;
    *count = sh__onnx__model_proto__get_packed_size(&model);
    *bytes = malloc(*count + 1);
    if (*bytes == NULL)
        return sh_fail_memory(*count, "a network");
    sh__onnx__model_proto__pack(&model, *bytes);
    return SH_OK;
}

static sh_status change(Sh__Onnx__GraphProto *changed, sh_arena *arena, const sh_onnx *model,
                        const bool *chosen)
{
    Sh__Onnx__GraphProto graph;
    SH_TRY(sh_skeleton_graph(&graph, arena, model));
    sh_emitter e = {.arena = arena, .made = changed};
    *changed = graph;
    changed->node = sh_emit_take(&e, 2 * graph.n_node + 1, sizeof *changed->node);
    changed->initializer = sh_emit_take(&e, graph.n_initializer + TENSORS * graph.n_node + 1,
                                        sizeof *changed->initializer);
    SH_TRY(e.status);
    changed->n_node = 0;
    for (size_t i = 0; i < graph.n_initializer; i++)
        changed->initializer[i] = graph.initializer[i];
    for (size_t i = 0; i < graph.n_node && e.status == SH_OK; i++)
        if (chosen[i])
            add_norm(&e, model, graph.node[i]);
        else
            changed->node[changed->n_node++] = graph.node[i];
    return e.status;
}

sh_status sh_onnx_unfold(sh_network **network, const sh_onnx *model, const bool *chosen,
                         const char *path)
{
    sh_arena arena;
    Sh__Onnx__GraphProto changed;
    sh_onnx *opened;
    uint8_t *bytes = NULL; /* silences a false warning of gcc 14 */
    size_t count = 0;
    sh_arena_init(&arena);
    sh_status status = change(&changed, &arena, model, chosen);
    if (status == SH_OK)
        status = pack(&bytes, &count, model, &changed);
    sh_arena_release(&arena);
    SH_TRY(status);
    SH_TRY(sh_onnx_open_owned(&opened, path, bytes, count));
    status = sh_network_of_model(network, opened, path);
    sh_onnx_close(opened);
    return status;
}

sh_status sh_onnx_unfold_all(sh_network **network, const sh_onnx *file, const char *name)
{
    SH_TRY(sh_onnx_unfold_check(file, name));
    const size_t count = sh_onnx_graph(file)->n_node;
    bool *chosen = calloc(count + 1, sizeof *chosen);
    if (chosen == NULL)
        return sh_fail_memory(count, "batch norms");
    sh_status status = sh_onnx_unfoldable(chosen, file);
    if (status == SH_OK)
        status = sh_onnx_unfold(network, file, chosen, sh_onnx_path(file));
    free(chosen);
    return status;
}

sh_status sh_onnx_unfold_check(const sh_onnx *file, const char *name)
{
    if (file == NULL || sh_onnx_is_skeleton(file))
        return sh_fail(SH_INVALID,
                       "--unfold: is for an ONNX file with weights, which %.128s is not", name);
    return SH_OK;
}
