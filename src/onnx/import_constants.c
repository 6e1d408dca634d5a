/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/import_constants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/array_layers.h"

#define NAME 96

/* Writes "<output>.<what>", with the first output that has a name. */
static void name_after(char text[NAME], const sh_onnx_use *use, const char *what)
{
    const Sh__Onnx__NodeProto *proto = use->node.proto;
    size_t i = 0;
    while (i + 1 < proto->n_output && proto->output[i][0] == '\0')
        i++;
    snprintf(text, NAME, "%.80s.%s", proto->output[i], what);
}

sh_status sh_import_frozen(sh_value_id *value, const sh_onnx_use *use, const char *what,
                           sh_shape shape, const float *values)
{
    const sh_initial initial = {.kind = SH_INITIAL_VALUES, .values = values};
    char name[NAME];
    name_after(name, use, what);
    return sh_import_made(value, use,
                          sh_net_tensor(use->importer->net, name, shape, SH_ROLE_FROZEN, initial));
}

sh_status sh_import_number(sh_value_id *value, const sh_onnx_use *use, size_t input)
{
    const sh_onnx_constant *given;
    char name[NAME], what[24];
    if (!sh_import_given(use, input) || use->in[input]->kind == SH_ENTRY_VALUE ||
        sh_import_constant(&given, use, input) != SH_OK || given->real)
        return sh_import_value(value, use, input);
    snprintf(what, sizeof what, "input%zu", input);
    name_after(name, use, what);
    sh_onnx_entry numbers = {
        .name = name, .kind = SH_ENTRY_CONSTANT, .value = SH_NO_VALUE, .batch = SH_NO_AXIS};
    sh_onnx_entry *first = &numbers;
    SH_TRY(sh_onnx_constant_cast(&numbers.constant, &use->importer->store, given, true));
    const sh_onnx_use as_number = {.importer = use->importer, .in = &first, .in_count = 1};
    return sh_import_value(value, &as_number, 0);
}

static bool is_one_of(const char *op, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++)
        if (strcmp(op, list[i]) == 0)
            return true;
    return false;
}

static bool is_truth_input(const Sh__Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        const Sh__Onnx__TypeProto *type = graph->input[i]->type;
        if (strcmp(graph->input[i]->name, name) == 0)
            return type != NULL && type->tensor_type != NULL &&
                   type->tensor_type->elem_type == SH_ONNX_BOOL;
    }
    return false;
}

bool sh_import_is_truth(const sh_onnx_use *use, size_t input)
{
    static const char *const truths[] = {"And",  "Equal",       "Greater", "GreaterOrEqual",
                                         "Less", "LessOrEqual", "Not",     "Or",
                                         "Xor",  NULL};
    static const char *const moves[] = {"Concat", "Expand",  "Flatten",   "Gather",    "Identity",
                                        "Pad",    "Reshape", "Slice",     "Split",     "Squeeze",
                                        "Tile",   "Trilu",   "Transpose", "Unsqueeze", NULL};
    const sh_onnx_importer *importer = use->importer;
    const sh_onnx_entry *entry = use->in[input];
    while (entry != NULL && entry->maker != SIZE_MAX) {
        const Sh__Onnx__NodeProto *proto = importer->graph->node[entry->maker];
        sh_onnx_node node = sh_onnx_node_of(proto, use->node.opset);
        if (strcmp(node.op, "Cast") == 0)
            return sh_onnx_node_integer(&node, "to", 0) == SH_ONNX_BOOL;
        if (is_one_of(node.op, truths))
            return true;
        const size_t from = strcmp(node.op, "Where") == 0 ? 1 : 0;
        if ((from == 0 && !is_one_of(node.op, moves)) || from >= proto->n_input)
            return false;
        entry = sh_import_find(importer, proto->input[from]);
    }
    return entry != NULL && is_truth_input(importer->graph, entry->name);
}

sh_status sh_import_places(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                           const size_t *indices, size_t count)
{
    char what[24];
    sh_value_id places;
    float *numbers = malloc((count + 1) * sizeof *numbers);
    if (numbers == NULL)
        return sh_fail_memory(count * sizeof *numbers, "indices");
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)indices[i];
    snprintf(what, sizeof what, "places%zu", axis);
    const sh_status status = sh_import_frozen(&places, use, what, sh_shape_of(1, &count), numbers);
    free(numbers);
    SH_TRY(status);
    return sh_import_made(y, use, sh_layer_gather(use->importer->net, x, places, axis));
}
