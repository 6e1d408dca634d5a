/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/real.h"
#include "onnx/fold_work.h"

typedef enum function {
    ADD,
    SUM, /* of any number of inputs */
    SUB,
    MUL,
    DIV,
    MOD,  /* has the sign of the divisor, as in Python */
    FMOD, /* has the sign of the dividend, as in C */
    POW,
    MIN,
    MAX,
    AND,
    OR,
    XOR,
    EQUAL, /* from here on the result is a truth value */
    LESS,
    LESS_OR_EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
} function;

static double power(double a, double b)
{
    const double whole = floor(fabs(b));
    if (whole == fabs(b) && whole <= 1024)
        return b < 0 ? 1 / sh_real_power(a, (uint64_t)whole) : sh_real_power(a, (uint64_t)whole);
    return b == 0.5 ? sqrt(a) : sh_real_exp(b * sh_real_log(a));
}

static double remainder_of(double a, double b)
{
    const double rest = fmod(a, b);
    if (rest == 0)
        return copysign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static double of_reals(function f, double a, double b)
{
    switch (f) {
    case ADD:
    case SUM:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return a / b;
    case MOD:
        return remainder_of(a, b);
    case FMOD:
        return fmod(a, b);
    case POW:
        return power(a, b);
    case MIN:
        return a < b ? a : b;
    default:
        return a > b ? a : b;
    }
}

static sh_status of_integers(int64_t *y, function f, int64_t a, int64_t b)
{
    const uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    if ((f == DIV || f == MOD || f == FMOD) && b == 0)
        return sh_fail(SH_INVALID, "a division by 0");
    switch (f) {
    case ADD:
    case SUM:
        *y = (int64_t)(ua + ub);
        break;
    case SUB:
        *y = (int64_t)(ua - ub);
        break;
    case MUL:
        *y = (int64_t)(ua * ub);
        break;
    case DIV: /* -1: wraps, since the quotient may overflow */
        *y = b == -1 ? (int64_t)(0 - ua) : a / (b == 0 ? 1 : b);
        break;
    case MOD:
    case FMOD:
        *y = b == -1 ? 0 : a % (b == 0 ? 1 : b);
        if (f == MOD && *y != 0 && (*y < 0) != (b < 0))
            *y += b;
        break;
    case POW:
        if (!(fabs(power((double)a, (double)b)) < 0x1p53))
            return sh_fail(SH_LIMIT, "a power is too large");
        *y = (int64_t)power((double)a, (double)b);
        break;
    case AND:
        *y = a != 0 && b != 0;
        break;
    case OR:
        *y = a != 0 || b != 0;
        break;
    case XOR:
        *y = (a != 0) != (b != 0);
        break;
    case MIN:
        *y = a < b ? a : b;
        break;
    default:
        *y = a > b ? a : b;
    }
    return SH_OK;
}

/* Evaluates a comparison. `order` is -1 for a < b, 0 for a == b, 1 for a > b. */
static bool compare(function f, int order)
{
    switch (f) {
    case EQUAL:
        return order == 0;
    case LESS:
        return order < 0;
    case LESS_OR_EQUAL:
        return order <= 0;
    case GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

static sh_status of_pair(sh_onnx_cell *y, function f, bool real, sh_onnx_cell a, sh_onnx_cell b)
{
    if (f >= EQUAL && real)
        y->whole = compare(f, (a.real > b.real) - (a.real < b.real));
    else if (f >= EQUAL)
        y->whole = compare(f, (a.whole > b.whole) - (a.whole < b.whole));
    else if (real)
        y->real = (double)(float)of_reals(f, a.real, b.real);
    else
        return of_integers(&y->whole, f, a.whole, b.whole);
    return SH_OK;
}

static sh_status fold_two(sh_onnx_constant *y, const sh_fold_work *w, function f,
                          const sh_onnx_constant *a, const sh_onnx_constant *b)
{
    sh_onnx_constant fresh;
    size_t rank, dim[SH_ONNX_RANK_MOST], place[SH_ONNX_RANK_MOST] = {0};
    int64_t of_a[SH_ONNX_RANK_MOST], of_b[SH_ONNX_RANK_MOST];
    if (b == NULL || a->real != b->real)
        return sh_fail(SH_INVALID, "its inputs differ in type");
    SH_TRY(sh_fold_broadcast(&rank, dim, a->rank, a->dim, b->rank, b->dim));
    SH_TRY(sh_onnx_constant_new(&fresh, w->store, a->real && f < EQUAL, rank, dim));
    sh_fold_broadcast_strides(of_a, a, rank);
    sh_fold_broadcast_strides(of_b, b, rank);
    for (size_t i = 0; i < fresh.count; i++) {
        int64_t at_a = 0, at_b = 0;
        for (size_t j = 0; j < rank; j++) {
            at_a += (int64_t)place[j] * of_a[j];
            at_b += (int64_t)place[j] * of_b[j];
        }
        SH_TRY(of_pair(&fresh.cells[i], f, a->real, a->cells[at_a], b->cells[at_b]));
        sh_fold_next_place(place, rank, dim);
    }
    *y = fresh;
    return SH_OK;
}

static sh_status fold_all(const sh_fold_work *w, function f)
{
    sh_onnx_constant sum = *w->in[0];
    if (w->in_count != 2 && f != MIN && f != MAX && f != SUM)
        return sh_fail(SH_INVALID, "it has %zu inputs, expected 2", w->in_count);
    for (size_t i = 1; i < w->in_count; i++)
        SH_TRY(fold_two(&sum, w, f, &sum, w->in[i]));
    w->out[0] = sum;
    return SH_OK;
}

#define PAIR(name, f)                                                                              \
    sh_status sh_fold_##name(const sh_fold_work *w)                                                \
    {                                                                                              \
        return fold_all(w, f);                                                                     \
    }
PAIR(add, ADD)
PAIR(sum, SUM)
PAIR(sub, SUB)
PAIR(mul, MUL)
PAIR(div, DIV)
PAIR(min, MIN)
PAIR(max, MAX)
PAIR(and, AND)
PAIR(or, OR)
PAIR(xor, XOR)
PAIR(equal, EQUAL)
PAIR(less, LESS)
PAIR(less_or_equal, LESS_OR_EQUAL)
PAIR(greater, GREATER)
PAIR(greater_or_equal, GREATER_OR_EQUAL)

sh_status sh_fold_mod(const sh_fold_work *w)
{
    return fold_all(w, sh_onnx_node_integer(w->node, "fmod", 0) != 0 ? FMOD : MOD);
}

/* The result has the type of the base, whatever that of the exponent. */
sh_status sh_fold_pow(const sh_fold_work *w)
{
    const sh_onnx_constant *exponent = sh_fold_input(w, 1);
    sh_onnx_constant base, power;
    if (exponent == NULL || w->in[0]->real == exponent->real)
        return fold_all(w, POW);
    SH_TRY(sh_onnx_constant_cast(&base, w->store, w->in[0], true));
    SH_TRY(sh_onnx_constant_cast(&power, w->store, exponent, true));
    SH_TRY(fold_two(&power, w, POW, &base, &power));
    return sh_onnx_constant_cast(&w->out[0], w->store, &power, w->in[0]->real);
}

sh_status sh_fold_combine(sh_onnx_cell *y, bool real, const char *how, sh_onnx_cell a,
                          sh_onnx_cell b)
{
    const function f = strcmp(how, "add") == 0   ? ADD
                       : strcmp(how, "mul") == 0 ? MUL
                       : strcmp(how, "max") == 0 ? MAX
                                                 : MIN;
    return of_pair(y, f, real, a, b);
}

static double of_real(const char *op, double x)
{
    switch (op[0]) {
    case 'N': /* Neg */
        return -x;
    case 'A': /* Abs */
        return fabs(x);
    case 'F': /* Floor */
        return floor(x);
    case 'C': /* Ceil */
        return ceil(x);
    case 'S': /* Sqrt */
        return sqrt(x);
    case 'R': /* Reciprocal */
        return 1 / x;
    case 'E': /* Exp */
        return sh_real_exp(x);
    default: /* Log */
        return sh_real_log(x);
    }
}

sh_status sh_fold_one(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    const bool negate = strcmp(w->node->op, "Neg") == 0;
    if (!x->real && !negate && strcmp(w->node->op, "Abs") != 0)
        return sh_fail(SH_INVALID, "its input has integers");
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, x->dim));
    for (size_t i = 0; i < x->count; i++)
        if (x->real)
            w->out[0].cells[i].real = (double)(float)of_real(w->node->op, x->cells[i].real);
        else
            w->out[0].cells[i].whole = negate || x->cells[i].whole < 0
                                           ? (int64_t)(0 - (uint64_t)x->cells[i].whole)
                                           : x->cells[i].whole;
    return SH_OK;
}

sh_status sh_fold_not(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    if (x->real)
        return sh_fail(SH_INVALID, "its input has numbers");
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, false, x->rank, x->dim));
    for (size_t i = 0; i < x->count; i++)
        w->out[0].cells[i].whole = x->cells[i].whole == 0;
    return SH_OK;
}

sh_status sh_fold_where(const sh_fold_work *w)
{
    const sh_onnx_constant *const *in = w->in;
    size_t rank, dim[SH_ONNX_RANK_MOST], place[SH_ONNX_RANK_MOST] = {0};
    int64_t stride[3][SH_ONNX_RANK_MOST];
    if (w->in_count != 3 || in[1] == NULL || in[2] == NULL || in[0]->real ||
        in[1]->real != in[2]->real)
        return sh_fail(SH_INVALID, "expected a truth value and two of one type");
    SH_TRY(sh_fold_broadcast(&rank, dim, in[0]->rank, in[0]->dim, in[1]->rank, in[1]->dim));
    SH_TRY(sh_fold_broadcast(&rank, dim, rank, dim, in[2]->rank, in[2]->dim));
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, in[1]->real, rank, dim));
    for (size_t i = 0; i < 3; i++)
        sh_fold_broadcast_strides(stride[i], in[i], rank);
    for (size_t i = 0; i < w->out[0].count; i++) {
        int64_t at[3] = {0};
        for (size_t j = 0; j < 3 * rank; j++)
            at[j % 3] += (int64_t)place[j / 3] * stride[j % 3][j / 3];
        w->out[0].cells[i] =
            in[0]->cells[at[0]].whole != 0 ? in[1]->cells[at[1]] : in[2]->cells[at[2]];
        sh_fold_next_place(place, rank, dim);
    }
    return SH_OK;
}

static sh_onnx_cell of_nothing(function f, bool real)
{
    switch (f) {
    case MUL:
        return real ? (sh_onnx_cell){.real = 1} : (sh_onnx_cell){.whole = 1};
    case MIN:
        return real ? (sh_onnx_cell){.real = INFINITY} : (sh_onnx_cell){.whole = INT64_MAX};
    case MAX:
        return real ? (sh_onnx_cell){.real = -INFINITY} : (sh_onnx_cell){.whole = INT64_MIN};
    default:
        return (sh_onnx_cell){0};
    }
}

sh_status sh_fold_reduce(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    const char kind = w->node->op[strlen("ReduceM")]; /* s[u]m, p[r]od, m[i]n, m[a]x */
    const function f = kind == 'u' ? ADD : kind == 'r' ? MUL : kind == 'i' ? MIN : MAX;
    int64_t axes[SH_ONNX_RANK_MOST], stride[SH_ONNX_RANK_MOST];
    size_t count, dim[SH_ONNX_RANK_MOST], place[SH_ONNX_RANK_MOST] = {0}, rank = 0;
    bool given, over[SH_ONNX_RANK_MOST] = {false};
    SH_TRY(sh_onnx_list(&given, &count, axes, SH_ONNX_RANK_MOST, w->node, "axes",
                        sh_fold_input(w, 1)));
    if (count == 0 && sh_onnx_node_integer(w->node, "noop_with_empty_axes", 0) != 0)
        return sh_fold_identity(w);
    for (size_t i = 0; i < x->rank && count == 0; i++)
        over[i] = true;
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, axes[i], x->rank));
        over[axis] = true;
    }
    const bool keep = sh_onnx_node_integer(w->node, "keepdims", 1) != 0;
    int64_t apart = 1;
    for (size_t i = x->rank; i-- > 0;) {
        stride[i] = over[i] ? 0 : apart;
        apart *= over[i] ? 1 : (int64_t)x->dim[i];
    }
    for (size_t i = 0; i < x->rank; i++)
        if (keep || !over[i])
            dim[rank++] = over[i] ? 1 : x->dim[i];
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, rank, dim));
    sh_onnx_cell *cells = w->out[0].cells;
    bool *begun = sh_arena_take(&w->store->arena, w->out[0].count + 1, sizeof *begun);
    if (begun == NULL)
        return sh_fail_memory(w->out[0].count, "a constant");
    for (size_t i = 0; i < x->count; i++) {
        int64_t at = 0;
        for (size_t j = 0; j < x->rank; j++)
            at += (int64_t)place[j] * stride[j];
        if (begun[at])
            SH_TRY(of_pair(&cells[at], f, x->real, cells[at], x->cells[i]));
        else
            cells[at] = x->cells[i];
        begun[at] = true;
        sh_fold_next_place(place, x->rank, x->dim);
    }
    for (size_t i = 0; i < w->out[0].count; i++)
        if (!begun[i])
            cells[i] = of_nothing(f, x->real);
    return SH_OK;
}
