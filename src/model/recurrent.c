/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recurrent networks for series: LSTM (Hochreiter, Schmidhuber: "Long short-term memory", 1997,
 * with the forget gate of Gers et al. 2000) and GRU (Cho et al. 2014, in the form of Chung et al.:
 * "Empirical evaluation of gated recurrent neural networks", 2014). One layer, whose last state is
 * the input of a dense layer. Gates, their order, names and initial weights are those of
 * torch.nn.LSTM and torch.nn.GRU. [R | S] are the rows of a tensor:
 *
 *     lstm   a = W_ih x + b_ih + W_hh h + b_hh = [i | f | g | o]
 *            c = sigmoid(f) c + sigmoid(i) tanh(g);  h = sigmoid(o) tanh(c)
 *     gru    u = W_ih x + b_ih = [r | z | n], v = W_hh h + b_hh likewise
 *            r = sigmoid(u.r + v.r), z = sigmoid(u.z + v.z), n = tanh(u.n + r v.n)
 *            h = n + z (h - n)
 *
 * The unrolled steps share the weights, and differentiation sums their gradients.
 */
#include <math.h>

#include "model/parts.h"

#define UNITS 64
#define MAX_UNITS 4096
#define MAX_STEPS 256 /* limits the plan: a step has about 20 nodes forward and 40 backward */

typedef struct recurrence {
    sh_net *net;
    size_t units;
    sh_value_id w_x, w_h, b_x, b_h; /* [G units, F], [G units, units], [G units] twice */
} recurrence;

/* The state between steps, [N, units]. */
typedef struct memory {
    sh_value_id h, c; /* c: LSTM */
} memory;

/* `count` columns of x [N, K]. */
static sh_value_id columns(const recurrence *r, sh_value_id x, size_t from, size_t count)
{
    const sh_type *type = sh_net_type(r->net, x, "a gate", 2);
    if (type == NULL)
        return SH_NO_VALUE;
    sh_attributes attributes = {0};
    attributes.before[1] = from;
    attributes.after[1] = type->shape.dim[1] - from - count;
    return sh_net_apply(r->net, SH_OP_slice, &attributes, x);
}

static sh_value_id pair(const recurrence *r, sh_op op, sh_value_id a, sh_value_id b)
{
    return sh_graph_add(r->net->graph, op, NULL, (sh_value_id[]){a, b}, NULL);
}

static sh_value_id linear(const recurrence *r, sh_value_id x, sh_value_id w, sh_value_id b)
{
    return sh_graph_add(r->net->graph, SH_OP_linear, NULL, (sh_value_id[]){x, w, b}, NULL);
}

static sh_value_id gate(const recurrence *r, sh_op op, sh_value_id a, size_t index)
{
    return sh_net_apply(r->net, op, NULL, columns(r, a, index * r->units, r->units));
}

static memory step_lstm(const recurrence *r, sh_value_id x, memory before)
{
    const sh_value_id a =
        pair(r, SH_OP_add, linear(r, x, r->w_x, r->b_x), linear(r, before.h, r->w_h, r->b_h));
    const sh_value_id in = gate(r, SH_OP_sigmoid, a, 0), forget = gate(r, SH_OP_sigmoid, a, 1),
                      fresh = gate(r, SH_OP_tanh, a, 2), out = gate(r, SH_OP_sigmoid, a, 3);
    memory after;
    after.c = pair(r, SH_OP_add, pair(r, SH_OP_multiply, forget, before.c),
                   pair(r, SH_OP_multiply, in, fresh));
    after.h = pair(r, SH_OP_multiply, out, sh_net_apply(r->net, SH_OP_tanh, NULL, after.c));
    return after;
}

static memory step_gru(const recurrence *r, sh_value_id x, memory before)
{
    const size_t two = 2 * r->units;
    const sh_value_id u = linear(r, x, r->w_x, r->b_x), v = linear(r, before.h, r->w_h, r->b_h);
    const sh_value_id a = pair(r, SH_OP_add, columns(r, u, 0, two), columns(r, v, 0, two));
    const sh_value_id reset = gate(r, SH_OP_sigmoid, a, 0), keep = gate(r, SH_OP_sigmoid, a, 1);
    const sh_value_id allowed = pair(r, SH_OP_multiply, reset, columns(r, v, two, r->units));
    const sh_value_id fresh = sh_net_apply(
        r->net, SH_OP_tanh, NULL, pair(r, SH_OP_add, columns(r, u, two, r->units), allowed));
    const sh_value_id kept =
        pair(r, SH_OP_multiply, pair(r, SH_OP_subtract, before.h, fresh), keep);
    return (memory){pair(r, SH_OP_add, fresh, kept), SH_NO_VALUE};
}

/* Zeros [N, units], for the state before the first step x [N, F]. */
static sh_value_id zeros(const recurrence *r, sh_value_id x)
{
    const sh_attributes wider = {.after = {0, r->units - 1}};
    const sh_value_id one = columns(r, x, 0, 1);
    return sh_net_apply(r->net, SH_OP_pad, &wider, pair(r, SH_OP_subtract, one, one));
}

/* x [T, N, F]; returns [N, F]. */
static sh_value_id step_of(sh_net *net, sh_value_id x, size_t index)
{
    const sh_type *type = sh_net_type(net, x, "a series", 3);
    if (type == NULL)
        return SH_NO_VALUE;
    const size_t *dim = type->shape.dim;
    const sh_shape one = sh_shape_of(2, dim + 1);
    sh_attributes attributes = {0};
    attributes.before[0] = index;
    attributes.after[0] = dim[0] - index - 1;
    return sh_layer_reshape(net, sh_net_apply(net, SH_OP_slice, &attributes, x), one);
}

/* Returns [T, N, F]. */
static sh_value_id by_step(sh_net *net, sh_value_id samples, const sh_problem *problem)
{
    static const sh_attributes turned = {.order = {2, 0, 1}};
    const sh_value_id x = sh_parts_series(net, samples, problem);
    const sh_type *type = sh_net_type(net, x, "a series", 4);
    if (type == NULL)
        return SH_NO_VALUE;
    const size_t *dim = type->shape.dim;
    const sh_shape lines = sh_shape_of(3, (size_t[]){dim[0], dim[1], dim[3]});
    return sh_net_apply(net, SH_OP_transpose, &turned, sh_layer_reshape(net, x, lines));
}

typedef struct cell {
    const char *name;
    size_t gates;
    memory (*step)(const recurrence *r, sh_value_id x, memory before);
} cell;

static void declare_weights(recurrence *r, const cell *of, size_t inputs)
{
    const size_t rows = of->gates * r->units;
    const sh_initial begin = {.kind = SH_INITIAL_UNIFORM, .size = 1.0f / sqrtf((float)r->units)};
    const sh_shape bias = sh_shape_of(1, &rows);
    sh_net_enter(r->net, "%s", of->name);
    r->w_x =
        sh_net_parameter(r->net, "weight_ih_l0", sh_shape_of(2, (size_t[]){rows, inputs}), begin);
    r->w_h =
        sh_net_parameter(r->net, "weight_hh_l0", sh_shape_of(2, (size_t[]){rows, r->units}), begin);
    r->b_x = sh_net_parameter(r->net, "bias_ih_l0", bias, begin);
    r->b_h = sh_net_parameter(r->net, "bias_hh_l0", bias, begin);
    sh_net_leave(r->net);
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem, const cell *of)
{
    recurrence r = {.net = net, .units = UNITS};
    const bool one_row = problem->height == 1;
    const size_t steps = one_row ? problem->width : problem->height;
    const char *at = parameters;
    if (parameters != NULL &&
        (!sh_parts_number(&at, &r.units) || *at != '\0' || r.units == 0 || r.units > MAX_UNITS))
        return sh_graph_failed(net->graph,
                               sh_fail(SH_INVALID,
                                       "'%.64s': expected a number of units from 1 to %d, as in "
                                       "%s:64",
                                       parameters, MAX_UNITS, of->name));
    if (steps > MAX_STEPS)
        return sh_graph_failed(net->graph,
                               sh_fail(SH_INVALID,
                                       "the data's series have %zu steps, %s takes at most %d; "
                                       "cnn1d takes longer ones",
                                       steps, of->name, MAX_STEPS));
    if (!sh_parts_steps(net, of->name, problem, 2))
        return SH_NO_VALUE;
    declare_weights(&r, of, problem->channels * (one_row ? 1 : problem->width));
    const sh_value_id x = by_step(net, samples, problem);
    const sh_value_id zero = zeros(&r, step_of(net, x, 0));
    memory state = {zero, zero};
    for (size_t i = 0; i < steps; i++)
        state = of->step(&r, step_of(net, x, i), state);
    return sh_layer_linear(net, state.h, "fc", problem->outputs);
}

static sh_value_id build_lstm(sh_net *net, sh_value_id samples, const char *parameters,
                              const sh_problem *problem)
{
    static const cell of = {"lstm", 4, step_lstm};
    return build(net, samples, parameters, problem, &of);
}

static sh_value_id build_gru(sh_net *net, sh_value_id samples, const char *parameters,
                             const sh_problem *problem)
{
    static const cell of = {"gru", 3, step_gru};
    return build(net, samples, parameters, problem, &of);
}

const sh_model_def sh_model_lstm = {
    .name = "lstm",
    .usage = "lstm[:UNITS]",
    .summary = "long short-term memory, for series (Hochreiter, Schmidhuber 1997)",
    .example = "lstm",
    .example_problem = {3, 1, 64, 6, SH_TARGET_CLASS},
    .build = build_lstm,
};

const sh_model_def sh_model_gru = {
    .name = "gru",
    .usage = "gru[:UNITS]",
    .summary = "gated recurrent units, for series (Cho et al. 2014)",
    .example = "gru",
    .example_problem = {3, 1, 64, 6, SH_TARGET_CLASS},
    .build = build_gru,
};
