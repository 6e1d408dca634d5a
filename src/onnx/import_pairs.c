/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "graph/array_layers.h"
#include "onnx/import_constants.h"

/* `rank` is that of the result. */
static size_t batch_of(const sh_onnx_use *use, const sh_value_id *in, size_t count, size_t rank)
{
    for (size_t i = 0; i < count; i++)
        if (use->in[i]->batch != SH_NO_AXIS)
            return use->in[i]->batch + rank - sh_import_shape(use, in[i])->rank;
    return SH_NO_AXIS;
}

/* If the leading dimensions of `b` equal those of `a` and all others are 1, returns their number;
 * otherwise 0. */
static size_t leading(const sh_shape *a, const sh_shape *b)
{
    size_t same = 0, ones = 0;
    if (a->rank != b->rank)
        return 0;
    while (same < a->rank && a->dim[same] == b->dim[same])
        same++;
    for (size_t i = same; i < a->rank; i++)
        ones += b->dim[i] == 1;
    return same + ones == a->rank ? same : 0;
}

/* The factor varies only along leading dimensions. */
static sh_status scale(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, sh_value_id factor)
{
    const sh_shape of_x = *sh_import_shape(use, x), of_b = *sh_import_shape(use, factor);
    const sh_shape few = sh_shape_of(leading(&of_x, &of_b), of_b.dim);
    SH_TRY(sh_import_reshape(&factor, use, factor, &few));
    return sh_import_emit(y, use, SH_OP_scale, NULL, (sh_value_id[]){x, factor});
}

static bool is_number(double *number, sh_onnx_use *use, size_t input)
{
    const sh_onnx_entry *other = use->in[1 - input];
    const sh_onnx_constant *given;
    if (use->in[input]->kind == SH_ENTRY_VALUE || other->kind != SH_ENTRY_VALUE ||
        use->in[input]->role != SH_ONNX_CONSTANT ||
        sh_import_constant(&given, use, input) != SH_OK || !given->real || given->count != 1 ||
        given->rank > sh_import_shape(use, other->value)->rank)
        return false;
    *number = given->cells[0].real;
    return true;
}

/* Emits alpha x + beta, or alpha / x + beta if `inverse`. */
static sh_status add_line(sh_value_id *y, const sh_onnx_use *use, size_t input, double alpha,
                          double beta, bool inverse)
{
    sh_net *net = use->importer->net;
    const float numbers[2] = {(float)alpha, (float)beta};
    sh_value_id x;
    SH_TRY(sh_import_value(&x, use, input));
    if (inverse)
        x = sh_layer_unary(net, SH_UNARY_RECIPROCAL, x, NULL);
    return sh_import_made(y, use, sh_layer_unary(net, SH_UNARY_LINE, x, numbers));
}

/* `*y` stays SH_NO_VALUE if no input is a constant number. */
static sh_status with_number(sh_value_id *y, sh_onnx_use *use, sh_pair_function function)
{
    double c;
    const size_t at = is_number(&c, use, 1) ? 1 : is_number(&c, use, 0) ? 0 : SIZE_MAX;
    if (at == SIZE_MAX)
        return SH_OK;
    switch (function) {
    case SH_PAIR_ADD:
        return add_line(y, use, 1 - at, 1, c, false);
    case SH_PAIR_SUBTRACT:
        return add_line(y, use, 1 - at, at == 1 ? 1 : -1, at == 1 ? -c : c, false);
    case SH_PAIR_MULTIPLY:
        return add_line(y, use, 1 - at, c, 0, false);
    case SH_PAIR_DIVIDE:
        return at == 1 ? add_line(y, use, 0, 1 / c, 0, false) : add_line(y, use, 1, c, 0, true);
    default:
        return SH_OK;
    }
}

static sh_status import_pair(sh_onnx_use *use, sh_pair_function function)
{
    sh_value_id in[2], y = SH_NO_VALUE;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(with_number(&y, use, function));
    if (y != SH_NO_VALUE) {
        const size_t value = use->in[0]->kind == SH_ENTRY_VALUE ? 0 : 1;
        sh_import_give(use, 0, y, use->in[value]->batch);
        return SH_OK;
    }
    if (use->in[1]->stored != NULL && sh_onnx_normalises_input(use->importer->model, use->index))
        sh_import_note(use->importer,
                       "'%s' normalises the samples before the first layer: it is not trained",
                       use->in[1]->name);
    for (size_t i = 0; i < 2; i++)
        SH_TRY(sh_import_value(&in[i], use, i));
    const sh_shape a = *sh_import_shape(use, in[0]), b = *sh_import_shape(use, in[1]);
    const bool equal = sh_shape_equal(&a, &b), multiplies = function == SH_PAIR_MULTIPLY;
    if (multiplies && !equal && leading(&a, &b) > 0)
        SH_TRY(scale(&y, use, in[0], in[1]));
    else if (multiplies && !equal && leading(&b, &a) > 0)
        SH_TRY(scale(&y, use, in[1], in[0]));
    else
        SH_TRY(sh_import_made(&y, use, sh_layer_pair(use->importer->net, function, in[0], in[1])));
    sh_import_give(use, 0, y, batch_of(use, in, 2, sh_import_shape(use, y)->rank));
    return SH_OK;
}

#define PAIR(name, function)                                                                       \
    sh_status sh_import_##name(sh_onnx_use *use)                                                   \
    {                                                                                              \
        return import_pair(use, function);                                                         \
    }
PAIR(add, SH_PAIR_ADD)
PAIR(sub, SH_PAIR_SUBTRACT)
PAIR(mul, SH_PAIR_MULTIPLY)
PAIR(div, SH_PAIR_DIVIDE)
PAIR(prelu, SH_PAIR_PRELU)

static sh_status import_many(sh_onnx_use *use, sh_pair_function function, bool mean)
{
    sh_net *net = use->importer->net;
    sh_value_id y, next;
    if (use->in_count == 2 && !mean)
        return import_pair(use, function);
    SH_TRY(sh_import_arity(use, 1, SIZE_MAX));
    SH_TRY(sh_import_value(&y, use, 0));
    size_t batch = batch_of(use, &y, 1, sh_import_shape(use, y)->rank);
    for (size_t i = 1; i < use->in_count; i++) {
        const size_t rank = sh_import_shape(use, y)->rank;
        SH_TRY(sh_import_value(&next, use, i));
        const size_t of_next = sh_import_shape(use, next)->rank;
        SH_TRY(sh_import_made(&y, use, sh_layer_pair(net, function, y, next)));
        const size_t made = sh_import_shape(use, y)->rank;
        if (batch != SH_NO_AXIS)
            batch += made - rank;
        else if (use->in[i]->batch != SH_NO_AXIS)
            batch = use->in[i]->batch + made - of_next;
    }
    if (mean)
        y = sh_layer_unary(net, SH_UNARY_LINE, y, (float[]){1 / (float)use->in_count, 0});
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

sh_status sh_import_max(sh_onnx_use *use)
{
    return import_many(use, SH_PAIR_LARGER, false);
}

sh_status sh_import_min(sh_onnx_use *use)
{
    return import_many(use, SH_PAIR_SMALLER, false);
}

sh_status sh_import_sum(sh_onnx_use *use)
{
    return import_many(use, SH_PAIR_ADD, false);
}

sh_status sh_import_mean(sh_onnx_use *use)
{
    return import_many(use, SH_PAIR_ADD, true);
}

static sh_value_id to_power(sh_net *net, sh_value_id x, double p)
{
    const float numbers[2] = {(float)p, 0};
    if (p == 2)
        return sh_layer_pair(net, SH_PAIR_MULTIPLY, x, x);
    if (p == 0.5)
        return sh_layer_unary(net, SH_UNARY_SQRT, x, NULL);
    return sh_layer_unary(net, SH_UNARY_POWER, x, numbers);
}

/* Returns `most` + 1 if there are more. */
static size_t distinct(double *found, size_t most, const sh_onnx_constant *of)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++) {
        const double p = of->real ? of->cells[i].real : (double)of->cells[i].whole;
        size_t at = 0;
        while (at < count && found[at] != p)
            at++;
        if (at == most)
            return most + 1;
        if (at == count)
            found[count++] = p;
    }
    return count;
}

/* Each of `count` powers is computed where it applies, and of 1 elsewhere, so that no gradient is
 * infinite there. The parts are 0 where they do not apply, and are added. */
static sh_status to_powers(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, const double *p,
                           size_t count)
{
    sh_net *net = use->importer->net;
    sh_value_id powers, one, sum = SH_NO_VALUE;
    SH_TRY(sh_import_number(&powers, use, 1));
    SH_TRY(sh_import_frozen(&one, use, "one", (sh_shape){0}, (float[]){1}));
    for (size_t i = 0; i < count; i++) {
        const sh_value_id from = sh_layer_unary(net, SH_UNARY_LINE, powers,
                                                (float[]){1, -(float)p[i]}); /* 0 where it is p */
        const sh_value_id chosen = sh_layer_where(net, from, one, x);
        const sh_value_id part =
            sh_layer_pair(net, SH_PAIR_DROP, to_power(net, chosen, p[i]), from);
        sum = i == 0 ? part : sh_layer_pair(net, SH_PAIR_ADD, sum, part);
    }
    return sh_import_made(y, use, sum);
}

/* The formulas for a variable power share these values. Comparisons have no gradient. */
typedef struct power_parts {
    sh_net *net;
    sh_value_id power, one, zero;
} power_parts;

static sh_value_id line(const power_parts *of, sh_value_id x, float alpha, float beta)
{
    return sh_layer_unary(of->net, SH_UNARY_LINE, x, (float[]){alpha, beta});
}

/* The test is unreliable from 2^22 on. */
static sh_value_id is_whole(const power_parts *of, sh_value_id x)
{
    const float rounding = 0x1.8p23f; /* floats near it have no fraction */
    return sh_layer_pair(of->net, SH_PAIR_EQUAL, x,
                         line(of, line(of, x, 1, rounding), 1, -rounding));
}

/* Returns 1 or -1, or NaN if the power is not a whole number. */
static sh_value_id sign_below_zero(const power_parts *of)
{
    sh_net *net = of->net;
    const sh_value_id whole = is_whole(of, of->power);
    const sh_value_id even = is_whole(of, line(of, of->power, 0.5f, 0));
    const sh_value_id sign = sh_layer_pair(net, SH_PAIR_KEEP, line(of, even, 2, -1), whole);
    return sh_layer_pair(net, SH_PAIR_DIVIDE, sign, whole);
}

/* Returns 1 for power 0, infinity for negative powers, otherwise 0. */
static sh_value_id power_of_zero(const power_parts *of)
{
    sh_net *net = of->net;
    const sh_value_id above =
        line(of, sh_layer_pair(net, SH_PAIR_GREATER, of->zero, of->power), -1, 1);
    const sh_value_id infinite =
        line(of, sh_layer_unary(net, SH_UNARY_RECIPROCAL, above, NULL), 1, -1);
    return sh_layer_pair(net, SH_PAIR_ADD, sh_layer_pair(net, SH_PAIR_EQUAL, of->power, of->zero),
                         infinite);
}

/* Computes e^(power log |x|), with a sign where x is negative. There, the gradient of the power is
 * that for |x|. Where x is 0, the logarithm would make the gradient NaN, so a constant is used. */
static sh_status to_any_power(sh_value_id *y, const sh_onnx_use *use, sh_value_id x)
{
    sh_net *net = use->importer->net;
    power_parts of = {.net = net};
    SH_TRY(sh_import_number(&of.power, use, 1));
    SH_TRY(sh_import_frozen(&of.one, use, "one", (sh_shape){0}, (float[]){1}));
    SH_TRY(sh_import_frozen(&of.zero, use, "zero", (sh_shape){0}, (float[]){0}));
    const sh_value_id size =
        sh_layer_where(net, x, sh_layer_unary(net, SH_UNARY_ABS, x, NULL), of.one);
    const sh_value_id logs = sh_layer_unary(net, SH_UNARY_LOG, size, NULL);
    const sh_value_id product = sh_layer_pair(net, SH_PAIR_MULTIPLY, logs, of.power);
    const sh_value_id sign = sh_layer_where(net, sh_layer_pair(net, SH_PAIR_GREATER, of.zero, x),
                                            sign_below_zero(&of), of.one);
    const sh_value_id made = sh_layer_pair(net, SH_PAIR_MULTIPLY,
                                           sh_layer_unary(net, SH_UNARY_EXP, product, NULL), sign);
    return sh_import_made(y, use, sh_layer_where(net, x, made, power_of_zero(&of)));
}

sh_status sh_import_pow(sh_onnx_use *use)
{
    enum { MOST = 8 };
    const sh_onnx_constant *given = NULL;
    double p[MOST];
    sh_value_id x, y;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_number(&x, use, 0));
    const size_t rank = sh_import_shape(use, x)->rank;
    const bool known =
        use->in[1]->kind != SH_ENTRY_VALUE && sh_import_constant(&given, use, 1) == SH_OK;
    const size_t count = known ? distinct(p, MOST, given) : MOST + 1;
    if (count == 1 && given->count == 1 && given->rank <= rank)
        SH_TRY(sh_import_made(&y, use, to_power(use->importer->net, x, p[0])));
    else if (count <= MOST)
        SH_TRY(to_powers(&y, use, x, p, count));
    else
        SH_TRY(to_any_power(&y, use, x));
    const sh_value_id in[2] = {x, use->in[1]->value == SH_NO_VALUE ? x : use->in[1]->value};
    sh_import_give(use, 0, y, batch_of(use, in, 2, sh_import_shape(use, y)->rank));
    return SH_OK;
}

/* `swapped` exchanges a and b. `negated` inverts the result. */
static sh_status compare(sh_onnx_use *use, sh_pair_function function, bool swapped, bool negated)
{
    static const float other[2] = {-1, 1};
    sh_net *net = use->importer->net;
    sh_value_id in[2], y;
    SH_TRY(sh_import_arity(use, 2, 2));
    for (size_t i = 0; i < 2; i++)
        SH_TRY(sh_import_number(&in[i], use, i));
    y = sh_layer_pair(net, function, in[swapped ? 1 : 0], in[swapped ? 0 : 1]);
    if (negated)
        y = sh_layer_unary(net, SH_UNARY_LINE, y, other);
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, 0, y, batch_of(use, in, 2, sh_import_shape(use, y)->rank));
    return SH_OK;
}

#define COMPARE(name, function, swapped, negated)                                                  \
    sh_status sh_import_##name(sh_onnx_use *use)                                                   \
    {                                                                                              \
        return compare(use, function, swapped, negated);                                           \
    }
COMPARE(equal, SH_PAIR_EQUAL, false, false)
COMPARE(greater, SH_PAIR_GREATER, false, false)
COMPARE(less, SH_PAIR_GREATER, true, false)
COMPARE(greater_or_equal, SH_PAIR_GREATER, true, true)
COMPARE(less_or_equal, SH_PAIR_GREATER, false, true)

COMPARE(and, SH_PAIR_SMALLER, false, false)
COMPARE(or, SH_PAIR_LARGER, false, false)
COMPARE(xor, SH_PAIR_EQUAL, false, true)

sh_status sh_import_not(sh_onnx_use *use)
{
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_number(&x, use, 0));
    x = sh_layer_unary(use->importer->net, SH_UNARY_LINE, x, (float[]){-1, 1});
    SH_TRY(sh_import_made(&x, use, x));
    sh_import_give(use, 0, x, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_where(sh_onnx_use *use)
{
    sh_value_id in[3], y;
    SH_TRY(sh_import_arity(use, 3, 3));
    for (size_t i = 0; i < 3; i++)
        SH_TRY(sh_import_number(&in[i], use, i));
    SH_TRY(sh_import_made(&y, use, sh_layer_where(use->importer->net, in[0], in[1], in[2])));
    sh_import_give(use, 0, y, batch_of(use, in, 3, sh_import_shape(use, y)->rank));
    return SH_OK;
}
