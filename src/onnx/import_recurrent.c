/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layers of graph/recurrent_layers.h use the gate order of the format and its first layout,
 * with the steps in dimension 0 and the samples in dimension 1. For the other layout, inputs and
 * outputs are transposed.
 *
 * `clip` applies to the inputs of gates, as in ONNX Runtime. The cell state is not clipped.
 *
 * Constant initial states are for the number of samples in the file. They must be equal for all
 * samples and are reduced to one row.
 */
#include "graph/recurrent_layers.h"

#include <stdio.h>

#include "graph/array_layers.h"
#include "onnx/importer.h"

enum { X, W, R, B, LENGTHS, FIRST_H, FIRST_C, PEEPHOLES };

/* Swaps dimensions 0 and 1. */
static sh_status swap(sh_value_id *y, const sh_onnx_use *use, sh_value_id x)
{
    const sh_attributes turned = {.order = {1, 0, 2}};
    return sh_import_emit(y, use, SH_OP_transpose, &turned, &x);
}

static bool is_zero(const sh_onnx_constant *constant)
{
    for (size_t i = 0; i < constant->count; i++)
        if (!constant->real || constant->cells[i].real != 0)
            return false;
    return true;
}

/* `directions` is that of the weights. Unusual activation functions are refused. */
static sh_status read_settings(sh_recurrent *of, sh_onnx_use *use, size_t directions)
{
    static const char *const usual[][4] = {[SH_CELL_LSTM] = {"Sigmoid", "Tanh", "Tanh"},
                                           [SH_CELL_GRU] = {"Sigmoid", "Tanh"},
                                           [SH_CELL_RNN] = {"Tanh"}};
    static const char *const relu[] = {"Relu", NULL};
    sh_onnx_node *node = &use->node;
    const bool both = sh_onnx_node_says(node, "direction", "bidirectional");
    of->reverse = sh_onnx_node_says(node, "direction", "reverse");
    of->relu = of->cell == SH_CELL_RNN && sh_onnx_node_repeats(node, "activations", relu);
    of->reset_after = sh_onnx_node_integer(node, "linear_before_reset", 0) != 0;
    if (directions != (both ? 2 : 1))
        return sh_fail(SH_INVALID, "weights of %zu directions for %d", directions, both ? 2 : 1);
    if (sh_onnx_node_has(node, "activations") && !of->relu &&
        !sh_onnx_node_repeats(node, "activations", usual[of->cell]))
        return sh_fail(SH_UNSUPPORTED,
                       "its activations are not the usual ones; export it without 'activations'");
    of->coupled = of->cell == SH_CELL_LSTM && sh_onnx_node_integer(node, "input_forget", 0) != 0;
    of->clip = (float)sh_onnx_node_number(node, "clip", 0);
    if (sh_onnx_node_has(node, "clip") && !(of->clip > 0))
        return sh_fail(SH_INVALID, "its clip is %g, expected a number above 0", (double)of->clip);
    return SH_OK;
}

/* All sequences must have full length. */
static sh_status check_lengths(const sh_onnx_use *use, size_t steps)
{
    const sh_onnx_constant *lengths;
    SH_TRY(sh_import_constant(&lengths, use, LENGTHS));
    for (size_t i = 0; lengths != NULL && i < lengths->count; i++)
        if (lengths->real || lengths->cells[i].whole != (int64_t)steps)
            return sh_fail(SH_UNSUPPORTED,
                           "sequences shorter than the %zu steps are not supported; export it "
                           "without sequence_lens",
                           steps);
    return SH_OK;
}

/* SH_NO_VALUE if they are absent or zero. */
static sh_status read_peepholes(sh_value_id *peepholes, const sh_onnx_use *use)
{
    *peepholes = SH_NO_VALUE;
    if (!sh_import_given(use, PEEPHOLES))
        return SH_OK;
    const sh_onnx_entry *given = use->in[PEEPHOLES];
    const sh_onnx_constant *constant;
    if (given->kind != SH_ENTRY_VALUE && given->role == SH_ONNX_CONSTANT &&
        sh_import_constant(&constant, use, PEEPHOLES) == SH_OK && is_zero(constant))
        return SH_OK;
    return sh_import_weights(peepholes, use, PEEPHOLES, SH_IMPORT_ZERO);
}

/* Reduces a constant state to one row for all samples, [D, 1, H]. */
static sh_status take_row(sh_onnx_constant *row, const sh_onnx_use *use,
                          const sh_onnx_constant *state, bool samples_first)
{
    const size_t *dim = state->dim, D = dim[samples_first], N = dim[!samples_first], H = dim[2];
    SH_TRY(sh_onnx_constant_new(row, &use->importer->store, true, 3, (size_t[]){D, 1, H}));
    for (size_t d = 0; d < D; d++)
        for (size_t n = 0; n < N; n++)
            for (size_t h = 0; h < H; h++) {
                const size_t from = (samples_first ? n * D + d : d * N + n) * H + h;
                sh_onnx_cell *to = &row->cells[d * H + h];
                if (n > 0 && to->real != state->cells[from].real)
                    return sh_fail(SH_UNSUPPORTED,
                                   "the states of samples before the first step differ; export it "
                                   "with equal ones or none");
                *to = state->cells[from];
            }
    return SH_OK;
}

/* Reads an initial state as [D, N, H]; SH_NO_VALUE for zeros. */
static sh_status read_state(sh_value_id *state, const sh_onnx_use *use, size_t input,
                            bool samples_first)
{
    const sh_onnx_constant *given;
    sh_onnx_entry row = {.kind = SH_ENTRY_CONSTANT, .value = SH_NO_VALUE, .batch = SH_NO_AXIS};
    sh_onnx_entry *entry = &row;
    char name[96];
    *state = SH_NO_VALUE;
    if (!sh_import_given(use, input))
        return SH_OK;
    const size_t batch = use->in[X]->batch; /* SH_NO_AXIS: the state is used unchanged */
    if (use->in[input]->kind == SH_ENTRY_VALUE || batch == SH_NO_AXIS) {
        SH_TRY(sh_import_value(state, use, input));
        if (sh_import_shape(use, *state)->rank != 3 || use->in[input]->batch != batch)
            return sh_fail(SH_UNSUPPORTED, "input %zu is not a state for each sample", input);
        return samples_first ? swap(state, use, *state) : SH_OK;
    }
    SH_TRY(sh_import_constant(&given, use, input));
    if (is_zero(given))
        return SH_OK;
    if (given->rank != 3)
        return sh_fail(SH_INVALID, "input %zu has %zu dimensions, expected 3", input, given->rank);
    SH_TRY(take_row(&row.constant, use, given, samples_first));
    snprintf(name, sizeof name, "%.80s.%s", use->node.proto->output[0],
             input == FIRST_H ? "first_h" : "first_c");
    row.name = name;
    const sh_onnx_use as_value = {.importer = use->importer, .in = &entry, .in_count = 1};
    SH_TRY(sh_import_value(state, &as_value, 0));
    sh_shape each = *sh_import_shape(use, *state);
    each.dim[1] = use->importer->samples;
    return sh_import_made(state, use, sh_layer_expand(use->importer->net, *state, each));
}

/* True also if no output is read: it is the result of the network then. */
static bool is_wanted(const sh_onnx_use *use, size_t output)
{
    bool any_read = false;
    for (size_t i = 0; i < use->out_count; i++)
        any_read |= use->out[i] != NULL && use->out[i]->readers > 0;
    return output < use->out_count && use->out[output] != NULL &&
           (use->out[output]->readers > 0 || !any_read);
}

static sh_status give_outputs(const sh_onnx_use *use, sh_value_id out[3], bool samples_first)
{
    const sh_attributes turned = {.order = {2, 0, 1, 3}};
    for (size_t i = 0; i < 3; i++) {
        if (!is_wanted(use, i))
            continue;
        if (out[i] == SH_NO_VALUE)
            return sh_fail(SH_INVALID, "it has no output %zu", i);
        if (samples_first && i == 0)
            SH_TRY(sh_import_emit(&out[i], use, SH_OP_transpose, &turned, &out[i]));
        else if (samples_first)
            SH_TRY(swap(&out[i], use, out[i]));
        const size_t batch = samples_first ? 0 : i == 0 ? 2 : 1;
        sh_import_give(use, i, out[i], use->in[X]->batch == SH_NO_AXIS ? SH_NO_AXIS : batch);
    }
    return SH_OK;
}

static sh_status import_recurrent(sh_onnx_use *use, sh_cell cell, size_t inputs)
{
    sh_recurrent of = {.cell = cell, .b = SH_NO_VALUE, .c = SH_NO_VALUE, .p = SH_NO_VALUE};
    sh_value_id x, out[3];
    const bool samples_first = sh_onnx_node_integer(&use->node, "layout", 0) != 0;
    SH_TRY(sh_import_inputs(use, 3, inputs));
    SH_TRY(sh_import_value(&x, use, X));
    SH_TRY(sh_import_value(&of.w, use, W));
    SH_TRY(sh_import_value(&of.r, use, R));
    if (sh_import_given(use, B))
        SH_TRY(sh_import_weights(&of.b, use, B, SH_IMPORT_ZERO));
    const sh_shape of_x = *sh_import_shape(use, x), of_w = *sh_import_shape(use, of.w);
    if (of_x.rank != 3 || of_w.rank != 3)
        return sh_fail(SH_INVALID, "an input of %zu and weights of %zu dimensions, expected 3",
                       of_x.rank, of_w.rank);
    if (use->in[X]->batch != SH_NO_AXIS && use->in[X]->batch != (samples_first ? 0 : 1))
        return sh_fail(SH_UNSUPPORTED,
                       "the samples are not in dimension %d of its input: its steps would run "
                       "through them; export it with batch_first=True",
                       samples_first ? 0 : 1);
    SH_TRY(read_settings(&of, use, of_w.dim[0]));
    SH_TRY(check_lengths(use, of_x.dim[samples_first ? 1 : 0]));
    SH_TRY(read_state(&of.h, use, FIRST_H, samples_first));
    if (cell == SH_CELL_LSTM) {
        SH_TRY(read_state(&of.c, use, FIRST_C, samples_first));
        SH_TRY(read_peepholes(&of.p, use));
    }
    if (samples_first)
        SH_TRY(swap(&x, use, x));
    for (size_t i = 0; i < 3; i++)
        of.wants[i] = is_wanted(use, i);
    sh_net_recur(use->importer->net, x, &of, out);
    SH_TRY(sh_graph_take_failure(use->importer->net->graph));
    return give_outputs(use, out, samples_first);
}

sh_status sh_import_lstm(sh_onnx_use *use)
{
    return import_recurrent(use, SH_CELL_LSTM, 8);
}

sh_status sh_import_gru(sh_onnx_use *use)
{
    return import_recurrent(use, SH_CELL_GRU, 6);
}

sh_status sh_import_rnn(sh_onnx_use *use)
{
    return import_recurrent(use, SH_CELL_RNN, 6);
}
