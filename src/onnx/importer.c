/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/importer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool sh_import_given(const sh_onnx_use *use, size_t input)
{
    return input < use->in_count && use->in[input] != NULL;
}

sh_status sh_import_inputs(const sh_onnx_use *use, size_t least, size_t most)
{
    if (use->in_count > most)
        return sh_fail(SH_FORMAT, "it has %zu inputs, expected at most %zu", use->in_count, most);
    for (size_t i = 0; i < least; i++)
        if (!sh_import_given(use, i))
            return sh_fail(SH_FORMAT, "input %zu is missing", i);
    return SH_OK;
}

sh_status sh_import_arity(const sh_onnx_use *use, size_t least, size_t most)
{
    SH_TRY(sh_import_inputs(use, least, most));
    if (use->out_count == 0 || use->out[0] == NULL)
        return sh_fail(SH_FORMAT, "it has no output");
    return SH_OK;
}

sh_status sh_import_constant(const sh_onnx_constant **constant, const sh_onnx_use *use,
                             size_t input)
{
    *constant = NULL;
    if (!sh_import_given(use, input))
        return SH_OK;
    sh_onnx_entry *entry = use->in[input];
    if (entry->kind == SH_ENTRY_STORED && entry->role == SH_ONNX_CONSTANT) {
        SH_TRY(sh_fail_in(sh_onnx_constant_load(&entry->constant, &use->importer->store,
                                                use->importer->model, entry->stored),
                          "%.64s", entry->name));
        entry->kind = SH_ENTRY_CONSTANT;
    }
    if (entry->kind != SH_ENTRY_CONSTANT)
        return sh_fail(SH_UNSUPPORTED,
                       "input %zu is computed from the samples or trained, expected a constant",
                       input);
    *constant = &entry->constant;
    return SH_OK;
}

static sh_status check_shape(sh_shape *shape, const char *name, size_t rank, const size_t *dim)
{
    if (rank > SH_MAX_RANK)
        return sh_fail(SH_LIMIT, "%.64s has %zu dimensions, at most %d are supported", name, rank,
                       SH_MAX_RANK);
    *shape = sh_shape_of(rank, dim);
    return sh_fail_in(sh_shape_check(shape), "%.64s", name);
}

static sh_initial initial_of(sh_import_filling filling, const sh_shape *shape)
{
    switch (filling) {
    case SH_IMPORT_ONE:
    case SH_IMPORT_VARIANCE:
        return (sh_initial){.kind = SH_INITIAL_CONSTANT, .size = 1};
    case SH_IMPORT_ZERO:
    case SH_IMPORT_MEAN:
        return (sh_initial){.kind = SH_INITIAL_CONSTANT, .size = 0};
    case SH_IMPORT_WEIGHT:
    case SH_IMPORT_COLUMNS:
        break;
    }
    const size_t fan_in = shape->rank == 0 ? 1
                          : filling == SH_IMPORT_COLUMNS && shape->rank >= 2
                              ? shape->dim[shape->rank - 2]
                              : sh_shape_count(shape) / shape->dim[0];
    return (sh_initial){.kind = SH_INITIAL_UNIFORM, .size = 1.0f / sqrtf((float)fan_in)};
}

static sh_status add_weights(sh_onnx_entry *entry, const sh_onnx_use *use,
                             sh_import_filling filling)
{
    const bool statistic = filling == SH_IMPORT_MEAN || filling == SH_IMPORT_VARIANCE;
    sh_onnx_tensor tensor;
    sh_shape shape;
    if (!statistic && entry->role != SH_ONNX_TRAINED)
        return sh_fail(SH_UNSUPPORTED, "%.64s is a statistic of another node", entry->name);
    SH_TRY(sh_onnx_tensor_of(&tensor, use->importer->model, entry->stored));
    if (entry->new_axis < tensor.rank)
        tensor.dim[entry->new_axis] = use->importer->wish->outputs;
    SH_TRY(check_shape(&shape, entry->name, tensor.rank, tensor.dim));
    entry->value =
        sh_net_tensor(use->importer->net, entry->name, shape,
                      statistic ? SH_ROLE_STATISTIC : SH_ROLE_TRAINED, initial_of(filling, &shape));
    entry->kind = SH_ENTRY_VALUE;
    return sh_graph_take_failure(use->importer->net->graph);
}

static sh_status add_constant(sh_onnx_entry *entry, const sh_onnx_use *use)
{
    const sh_onnx_constant *constant = &entry->constant;
    sh_shape shape;
    if (!constant->real)
        return sh_fail(SH_UNSUPPORTED, "%.64s has integers, expected float32", entry->name);
    SH_TRY(check_shape(&shape, entry->name, constant->rank, constant->dim));
    float *values = malloc(constant->count * sizeof *values);
    if (values == NULL)
        return sh_fail_memory(constant->count * sizeof *values, "a constant");
    for (size_t i = 0; i < constant->count; i++)
        values[i] = (float)constant->cells[i].real;
    entry->value = sh_net_tensor(use->importer->net, entry->name, shape, SH_ROLE_FROZEN,
                                 (sh_initial){.kind = SH_INITIAL_VALUES, .values = values});
    free(values);
    return sh_graph_take_failure(use->importer->net->graph);
}

sh_status sh_import_weights(sh_value_id *value, const sh_onnx_use *use, size_t input,
                            sh_import_filling filling)
{
    *value = SH_NO_VALUE;
    if (!sh_import_given(use, input))
        return sh_fail(SH_FORMAT, "input %zu is missing", input);
    sh_onnx_entry *entry = use->in[input];
    const bool statistic = filling == SH_IMPORT_MEAN || filling == SH_IMPORT_VARIANCE;
    if (entry->kind == SH_ENTRY_SEQUENCE)
        return sh_fail(SH_UNSUPPORTED, "input %zu is a sequence, expected a tensor", input);
    if (entry->kind == SH_ENTRY_STORED && (entry->role != SH_ONNX_CONSTANT || statistic)) {
        SH_TRY(add_weights(entry, use, filling));
    } else if (entry->value == SH_NO_VALUE) {
        const sh_onnx_constant *constant;
        SH_TRY(sh_import_constant(&constant, use, input));
        SH_TRY(add_constant(entry, use));
    }
    *value = entry->value;
    return SH_OK;
}

sh_status sh_import_value(sh_value_id *value, const sh_onnx_use *use, size_t input)
{
    SH_TRY(sh_import_weights(value, use, input, SH_IMPORT_WEIGHT));
    if (sh_graph_type(use->importer->net->graph, *value)->dtype != SH_F32)
        return sh_fail(SH_UNSUPPORTED, "input %zu has integers, expected float32", input);
    return SH_OK;
}

bool sh_import_is_weight(const sh_onnx_use *use, size_t input)
{
    return sh_import_given(use, input) && use->in[input]->batch == SH_NO_AXIS;
}

const sh_shape *sh_import_shape(const sh_onnx_use *use, sh_value_id value)
{
    return &sh_graph_type(use->importer->net->graph, value)->shape;
}

sh_status sh_import_emit(sh_value_id *out, const sh_onnx_use *use, sh_op op,
                         const sh_attributes *attributes, const sh_value_id *in)
{
    sh_graph *graph = use->importer->net->graph;
    return sh_import_made(out, use, sh_graph_add(graph, op, attributes, in, NULL));
}

sh_status sh_import_made(sh_value_id *out, const sh_onnx_use *use, sh_value_id made)
{
    sh_graph *graph = use->importer->net->graph;
    SH_TRY(sh_graph_take_failure(graph));
    *out = made;
    return sh_shape_check(&sh_graph_type(graph, made)->shape);
}

sh_status sh_import_reshape(sh_value_id *y, const sh_onnx_use *use, sh_value_id x,
                            const sh_shape *shape)
{
    const sh_attributes attributes = {.shape = *shape};
    *y = x;
    if (sh_shape_equal(sh_import_shape(use, x), shape))
        return SH_OK;
    return sh_import_emit(y, use, SH_OP_reshape, &attributes, &x);
}

sh_status sh_import_trace(const sh_onnx_use *use, const sh_onnx_change *change)
{
    sh_onnx_trace *trace = use->importer->wish->trace;
    if (trace == NULL)
        return SH_OK;
    sh_onnx_change *kept = sh_arena_take(trace->arena, 1, sizeof *kept);
    if (kept == NULL)
        return sh_fail_memory(sizeof *kept, "a model");
    *kept = *change;
    kept->node = use->index;
    kept->next = trace->changes;
    trace->changes = kept;
    return SH_OK;
}

void sh_import_give(const sh_onnx_use *use, size_t output, sh_value_id value, size_t batch)
{
    sh_onnx_entry *entry = output < use->out_count ? use->out[output] : NULL;
    if (entry == NULL)
        return;
    entry->kind = SH_ENTRY_VALUE;
    entry->value = value;
    entry->batch = batch;
    for (size_t i = 0; i < use->in_count; i++)
        if (use->in[i] != NULL && use->in[i]->batch != SH_NO_AXIS)
            entry->outer = use->in[i]->outer;
}

void sh_import_pass(const sh_onnx_use *use)
{
    if (use->out_count > 0 && use->out[0] != NULL)
        use->out[0]->same = use->in[0];
}

sh_status sh_import_axes(bool *marked, bool *given, sh_onnx_use *use, size_t input, size_t more,
                         size_t *rank)
{
    const sh_onnx_constant *axes;
    int64_t listed[SH_ONNX_RANK_MOST];
    size_t count;
    SH_TRY(sh_import_constant(&axes, use, input));
    SH_TRY(sh_onnx_list(given, &count, listed, SH_ONNX_RANK_MOST, &use->node, "axes", axes));
    *rank += more * count;
    if (*rank > SH_MAX_RANK)
        return sh_fail(SH_LIMIT, "%zu dimensions: at most %d are supported", *rank, SH_MAX_RANK);
    for (size_t i = 0; i < *rank; i++)
        marked[i] = false;
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, listed[i], *rank));
        if (marked[axis])
            return sh_fail(SH_INVALID, "axis %zu twice", axis);
        marked[axis] = true;
    }
    return SH_OK;
}
