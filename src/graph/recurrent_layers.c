/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The products w x of all steps are one matrix product. It is split into steps by repeated halving,
 * and the results of the steps are joined in groups. So gradients over all T steps are added log T
 * times instead of T times.
 */
#include "graph/recurrent_layers.h"

#include "graph/array_layers.h"

typedef struct direction {
    sh_net *net;
    const sh_recurrent *of;
    size_t steps, samples, units, gates;
    sh_value_id r, b;     /* for h: [G H, H], [G H] or SH_NO_VALUE */
    sh_value_id p;        /* lstm: peepholes [3 H], or SH_NO_VALUE */
    sh_value_id r_n, b_n; /* gru without reset_after: for r h; r and b have no n then */
    sh_value_id u[SH_RECURRENT_STEPS];    /* w x + b_w of each step, [N, G H] */
    sh_value_id made[SH_RECURRENT_STEPS]; /* h after each step, [N, H] */
    sh_value_id h, c;
} direction;

/* Borrowed until the next value is made; NULL after a failure. */
static const sh_shape *shape_of(const sh_net *net, sh_value_id x)
{
    if (net->graph->status != SH_OK || x == SH_NO_VALUE)
        return NULL;
    return &sh_graph_type(net->graph, x)->shape;
}

static sh_value_id cut(sh_net *net, sh_value_id x, size_t axis, size_t from, size_t count)
{
    const sh_shape *shape = shape_of(net, x);
    sh_attributes a = {0};
    if (shape == NULL)
        return SH_NO_VALUE;
    if (from == 0 && count == shape->dim[axis])
        return x;
    a.before[axis] = from;
    a.after[axis] = shape->dim[axis] - from - count;
    return sh_net_apply(net, SH_OP_slice, &a, x);
}

/* x[index], without dimension 0. SH_NO_VALUE if x is SH_NO_VALUE. */
static sh_value_id part(sh_net *net, sh_value_id x, size_t index)
{
    const sh_value_id one = cut(net, x, 0, index, 1);
    const sh_shape *shape = shape_of(net, one);
    if (shape == NULL)
        return SH_NO_VALUE;
    return sh_layer_reshape(net, one, sh_shape_of(shape->rank - 1, shape->dim + 1));
}

static sh_value_id pair(const direction *d, sh_op op, sh_value_id a, sh_value_id b)
{
    return sh_graph_add(d->net->graph, op, NULL, (sh_value_id[]){a, b}, NULL);
}

static sh_value_id apply(const direction *d, sh_op op, sh_value_id x)
{
    return sh_net_apply(d->net, op, NULL, x);
}

static sh_value_id linear(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b)
{
    return sh_graph_add(net->graph, SH_OP_linear, NULL, (sh_value_id[]){x, w, b}, NULL);
}

/* Takes columns (axis 1) or rows of weights (axis 0). */
static sh_value_id gates(const direction *d, sh_value_id x, size_t axis, size_t first, size_t count)
{
    return cut(d->net, x, axis, first * d->units, count * d->units);
}

static sh_value_id clipped(const direction *d, sh_value_id x)
{
    const float numbers[2] = {-d->of->clip, d->of->clip};
    return d->of->clip == 0 ? x : sh_layer_unary(d->net, SH_UNARY_CLIP, x, numbers);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* With peepholes, peephole `hole` adds the cell to the input of the gate. */
static sh_value_id lstm_gate(const direction *d, sh_value_id a, size_t index, size_t hole)
{
    const sh_value_id gate = gates(d, a, 1, index, 1);
    if (d->p == SH_NO_VALUE)
        return apply(d, SH_OP_sigmoid, clipped(d, gate));
    const sh_value_id seen =
        sh_layer_pair(d->net, SH_PAIR_MULTIPLY, d->c, gates(d, d->p, 0, hole, 1));
    return apply(d, SH_OP_sigmoid, clipped(d, pair(d, SH_OP_add, gate, seen)));
}

static void step_lstm(direction *d, sh_value_id u)
{
    enum { IN, OUT, FORGET, FRESH };
    const bool peeps = d->p != SH_NO_VALUE;
    const sh_value_id a = pair(d, SH_OP_add, u, linear(d->net, d->h, d->r, d->b));
    const sh_value_id in = lstm_gate(d, a, IN, 0);
    sh_value_id out = peeps ? SH_NO_VALUE : lstm_gate(d, a, OUT, 1);
    const sh_value_id forget = d->of->coupled
                                   ? sh_layer_unary(d->net, SH_UNARY_LINE, in, (float[]){-1, 1})
                                   : lstm_gate(d, a, FORGET, 2);
    const sh_value_id fresh = apply(d, SH_OP_tanh, clipped(d, gates(d, a, 1, FRESH, 1)));
    d->c = pair(d, SH_OP_add, pair(d, SH_OP_multiply, forget, d->c),
                pair(d, SH_OP_multiply, in, fresh));
    if (peeps) /* its peephole reads the new cell */
        out = lstm_gate(d, a, OUT, 1);
    d->h = pair(d, SH_OP_multiply, out, apply(d, SH_OP_tanh, d->c));
}

static void step_gru(direction *d, sh_value_id u)
{
    const sh_value_id v = linear(d->net, d->h, d->r, d->b);
    const sh_value_id a =
        clipped(d, pair(d, SH_OP_add, gates(d, u, 1, 0, 2), gates(d, v, 1, 0, 2)));
    const sh_value_id keep = apply(d, SH_OP_sigmoid, gates(d, a, 1, 0, 1));
    const sh_value_id reset = apply(d, SH_OP_sigmoid, gates(d, a, 1, 1, 1));
    const sh_value_id allowed =
        d->of->reset_after ? pair(d, SH_OP_multiply, reset, gates(d, v, 1, 2, 1))
                           : linear(d->net, pair(d, SH_OP_multiply, reset, d->h), d->r_n, d->b_n);
    const sh_value_id fresh =
        apply(d, SH_OP_tanh, clipped(d, pair(d, SH_OP_add, gates(d, u, 1, 2, 1), allowed)));
    const sh_value_id kept = pair(d, SH_OP_multiply, pair(d, SH_OP_subtract, d->h, fresh), keep);
    d->h = pair(d, SH_OP_add, fresh, kept);
}

static void step_rnn(direction *d, sh_value_id u)
{
    const sh_value_id a = clipped(d, pair(d, SH_OP_add, u, linear(d->net, d->h, d->r, d->b)));
    d->h = apply(d, d->of->relu ? SH_OP_relu : SH_OP_tanh, a);
}

static const struct {
    const char *name;
    size_t gates;
    void (*step)(direction *d, sh_value_id u);
} cells[] = {
    [SH_CELL_LSTM] = {"lstm", 4, step_lstm},
    [SH_CELL_GRU] = {"gru", 3, step_gru},
    [SH_CELL_RNN] = {"rnn", 1, step_rnn},
};

/* ---- all steps ------------------------------------------------------------------------------- */

/* Splits x [count, ...] into `count` values without that dimension. */
static void split(sh_net *net, sh_value_id x, size_t count, sh_value_id *parts)
{
    const size_t half = count / 2;
    if (count == 1) {
        parts[0] = part(net, x, 0);
        return;
    }
    split(net, cut(net, x, 0, 0, half), half, parts);
    split(net, cut(net, x, 0, half, count - half), count - half, parts + half);
}

/* Overwrites the list. */
static sh_value_id join(sh_net *net, sh_value_id *parts, size_t count)
{
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += SH_MAX_INPUTS) {
            const size_t left = count - i;
            parts[made++] =
                sh_layer_concat(net, parts + i, left < SH_MAX_INPUTS ? left : SH_MAX_INPUTS, 0);
        }
        count = made;
    }
    return parts[0];
}

/* relu_grad gives 0 where its second operand is not above 0, and x - x never is. relu_grad has no
 * gradient, so none flows back into u. */
static sh_value_id zeros(const direction *d)
{
    const sh_attributes wider = {.after = {0, d->units - 1}};
    const sh_value_id one = cut(d->net, d->u[0], 1, 0, 1);
    const sh_value_id zero = pair(d, SH_OP_relu_grad, one, pair(d, SH_OP_subtract, one, one));
    return d->units == 1 ? zero : sh_net_apply(d->net, SH_OP_pad, &wider, zero);
}

/* Adds direction `index` over x [T N, F]. */
static void run(direction *d, sh_value_id x, size_t index)
{
    sh_net *net = d->net;
    const sh_recurrent *of = d->of;
    const size_t rows = d->gates * d->units;
    const bool backwards = index == 1 || of->reverse;
    const sh_value_id b = of->b == SH_NO_VALUE ? of->b : part(net, of->b, index);
    const sh_value_id b_w = b == SH_NO_VALUE ? b : cut(net, b, 0, 0, rows);
    d->b = b == SH_NO_VALUE ? b : cut(net, b, 0, rows, rows);
    d->r = part(net, of->r, index);
    d->p = of->p == SH_NO_VALUE ? of->p : part(net, of->p, index);
    if (of->cell == SH_CELL_GRU && !of->reset_after) {
        d->r_n = gates(d, d->r, 0, 2, 1);
        d->r = gates(d, d->r, 0, 0, 2);
        d->b_n = b == SH_NO_VALUE ? b : gates(d, d->b, 0, 2, 1);
        d->b = b == SH_NO_VALUE ? b : gates(d, d->b, 0, 0, 2);
    }
    const sh_value_id all = linear(net, x, part(net, of->w, index), b_w);
    split(net, sh_layer_reshape(net, all, sh_shape_of(3, (size_t[]){d->steps, d->samples, rows})),
          d->steps, d->u);
    d->h = of->h == SH_NO_VALUE ? zeros(d) : part(net, of->h, index);
    if (of->cell == SH_CELL_LSTM)
        d->c = of->c != SH_NO_VALUE   ? part(net, of->c, index)
               : of->h == SH_NO_VALUE ? d->h
                                      : zeros(d);
    for (size_t i = 0; i < d->steps; i++) {
        const size_t at = backwards ? d->steps - 1 - i : i;
        cells[of->cell].step(d, d->u[at]);
        d->made[at] = d->h;
    }
}

static sh_status check(const sh_net *net, const sh_recurrent *of, const sh_shape *x, size_t *units,
                       size_t *directions)
{
    const char *name = cells[of->cell].name;
    const size_t gates = cells[of->cell].gates;
    const struct {
        const char *what;
        sh_value_id value;
        size_t rank;
    } given[] = {{"the weight", of->w, 3}, {"the recurrent weight", of->r, 3},
                 {"the bias", of->b, 2},   {"the peepholes", of->p, 2},
                 {"the state", of->h, 3},  {"the cell", of->c, 3}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (i < 2 || given[i].value != SH_NO_VALUE) {
            if (given[i].value >= net->graph->value_count)
                return sh_fail(SH_INVALID, "%s: %s is missing", name, given[i].what);
            SH_TRY(sh_op_expect(name, given[i].what, sh_graph_type(net->graph, given[i].value),
                                SH_F32, given[i].rank));
        }
    const sh_shape *r = &sh_graph_type(net->graph, of->r)->shape;
    const size_t D = r->dim[0], H = r->dim[2];
    if (x->dim[0] > SH_RECURRENT_STEPS)
        return sh_fail(SH_LIMIT, "%s: %zu steps, at most %d are possible", name, x->dim[0],
                       SH_RECURRENT_STEPS);
    if (D < 1 || D > 2 || (D == 2 && of->reverse))
        return sh_fail(SH_INVALID, "%s: weights of %zu directions%s", name, D,
                       of->reverse ? ", the only one is backwards" : ", expected one or two");
    const sh_shape expected[] = {
        sh_shape_of(3, (size_t[]){D, gates * H, x->dim[2]}),
        sh_shape_of(3, (size_t[]){D, gates * H, H}),
        sh_shape_of(2, (size_t[]){D, 2 * gates * H}),
        sh_shape_of(2, (size_t[]){D, 3 * H}),
        sh_shape_of(3, (size_t[]){D, x->dim[1], H}),
        sh_shape_of(3, (size_t[]){D, x->dim[1], H}),
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value != SH_NO_VALUE)
            SH_TRY(sh_op_expect_same(name, given[i].what, sh_graph_type(net->graph, given[i].value),
                                     "what it belongs to", &(sh_type){SH_F32, expected[i]}));
    *units = H;
    *directions = D;
    return SH_OK;
}

void sh_net_recur(sh_net *net, sh_value_id x, const sh_recurrent *of, sh_value_id out[3])
{
    const sh_type *type = sh_net_type(net, x, cells[of->cell].name, 3);
    direction d[2];
    size_t units, directions;
    out[0] = out[1] = out[2] = SH_NO_VALUE;
    if (type == NULL)
        return;
    const sh_shape shape = type->shape;
    const sh_status status = check(net, of, &shape, &units, &directions);
    if (status != SH_OK) {
        sh_graph_failed(net->graph, status);
        return;
    }
    const size_t T = shape.dim[0], N = shape.dim[1];
    x = sh_layer_reshape(net, x, sh_shape_of(2, (size_t[]){T * N, shape.dim[2]}));
    for (size_t i = 0; i < directions; i++) {
        d[i] = (direction){.net = net,
                           .of = of,
                           .steps = T,
                           .samples = N,
                           .units = units,
                           .gates = cells[of->cell].gates,
                           .c = SH_NO_VALUE};
        run(&d[i], x, i);
    }
    const sh_shape states = sh_shape_of(3, (size_t[]){directions, N, units});
    sh_value_id parts[2 * SH_RECURRENT_STEPS];
    for (size_t i = 0; i < T * directions; i++)
        parts[i] = d[i % directions].made[i / directions];
    if (of->wants[0])
        out[0] = sh_layer_reshape(net, join(net, parts, T * directions),
                                  sh_shape_of(4, (size_t[]){T, directions, N, units}));
    if (of->wants[1])
        out[1] = sh_layer_reshape(
            net, join(net, (sh_value_id[]){d[0].h, d[directions - 1].h}, directions), states);
    if (of->wants[2] && of->cell == SH_CELL_LSTM)
        out[2] = sh_layer_reshape(
            net, join(net, (sh_value_id[]){d[0].c, d[directions - 1].c}, directions), states);
}
