/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum of one operand is a sum and a transposition. That of two is a matrix product. Labels are
 * divided into groups:
 *
 *     - *both*: labels of both operands and the result; they number the matrices
 *     - *inner*: labels of both operands only; they are summed over
 *     - rows and columns: labels of one operand and the result
 *
 *     a [both, rows, inner] b [both, inner, columns] -> y [both, rows, columns]
 *
 * Labels of one operand only are summed over first.
 */
#include <string.h>

#include "graph/array_layers.h"
#include "onnx/importer.h"

typedef struct labels {
    size_t count;
    char at[2 * SH_MAX_RANK]; /* the label of each dimension */
} labels;

static bool has(const labels *of, char label)
{
    return memchr(of->at, label, of->count) != NULL;
}

static size_t place_of(const labels *of, char label)
{
    return (size_t)((const char *)memchr(of->at, label, of->count) - of->at);
}

/* Parses "ab,bc->ac" or "ab->a" into `*count` terms and the result, which is term 2. Without "->"
 * the result has the labels that occur once, sorted. */
static sh_status parse(labels term[3], size_t *count, const char *text, size_t length)
{
    size_t which = 0;
    bool arrow = false;
    *count = 1;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];
        if (c == ' ')
            continue;
        if (c == ',' && which == 0) {
            which = 1;
            *count = 2;
        } else if (c == '-' && i + 1 < length && text[i + 1] == '>' && which < 2) {
            which = 2;
            arrow = true;
            i++;
        } else if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
                   term[which].count < SH_MAX_RANK && !has(&term[which], c)) {
            term[which].at[term[which].count++] = c;
        } else {
            return sh_fail(SH_UNSUPPORTED,
                           "its equation is not a product of two matrices; write it with MatMul");
        }
    }
    for (int c = 'A'; c <= 'z' && !arrow; c++)
        if (has(&term[0], (char)c) != has(&term[1], (char)c) && term[2].count < SH_MAX_RANK)
            term[2].at[term[2].count++] = (char)c;
    for (size_t i = 0; i < term[2].count; i++)
        if (!has(&term[0], term[2].at[i]) && !has(&term[1], term[2].at[i]))
            return sh_fail(SH_INVALID, "its result has a label that no input has");
    return SH_OK;
}

typedef struct operand {
    sh_value_id value;
    labels of;
    char batch; /* label of the sample dimension, or 0 */
} operand;

static sh_status read_operand(operand *x, const sh_onnx_use *use, size_t input, const labels *of)
{
    SH_TRY(sh_import_value(&x->value, use, input));
    x->of = *of;
    if (sh_import_shape(use, x->value)->rank != of->count)
        return sh_fail(SH_INVALID, "input %zu has %zu dimensions, its equation %zu", input,
                       sh_import_shape(use, x->value)->rank, of->count);
    const size_t batch = use->in[input]->batch;
    x->batch = batch == SH_NO_AXIS ? 0 : of->at[batch];
    return SH_OK;
}

static sh_status drop_own(operand *x, const sh_onnx_use *use, const labels *other,
                          const labels *result)
{
    labels rest = {0};
    uint32_t axes = 0;
    for (size_t i = 0; i < x->of.count; i++)
        if (has(other, x->of.at[i]) || has(result, x->of.at[i]))
            rest.at[rest.count++] = x->of.at[i];
        else
            axes |= SH_AXIS(i);
    x->of = rest;
    return sh_import_made(
        &x->value, use, sh_layer_reduce(use->importer->net, SH_REDUCE_SUM, x->value, axes, false));
}

static sh_status turn(operand *x, const sh_onnx_use *use, const labels *to)
{
    sh_attributes a = {0};
    bool same = true;
    for (size_t i = 0; i < to->count; i++) {
        a.order[i] = (uint8_t)place_of(&x->of, to->at[i]);
        same &= a.order[i] == i;
    }
    x->of = *to;
    return same ? SH_OK : sh_import_emit(&x->value, use, SH_OP_transpose, &a, &x->value);
}

static void append(labels *to, const labels *from, const labels *other, const labels *result,
                   bool in_other, bool in_result)
{
    for (size_t i = 0; i < from->count; i++)
        if (has(other, from->at[i]) == in_other && has(result, from->at[i]) == in_result)
            to->at[to->count++] = from->at[i];
}

static size_t span(const sh_shape *shape, size_t first, size_t count)
{
    size_t all = 1;
    for (size_t i = 0; i < count; i++)
        all *= shape->dim[first + i];
    return all;
}

/* Sets the labels of `y`. */
static sh_status multiply(operand *y, const sh_onnx_use *use, operand *a, operand *b,
                          const labels *result)
{
    labels both = {0}, rows = {0}, inner = {0}, columns = {0};
    append(&both, &a->of, &b->of, result, true, true);
    append(&inner, &a->of, &b->of, result, true, false);
    append(&rows, &a->of, &b->of, result, false, true);
    append(&columns, &b->of, &a->of, result, false, true);
    labels of_a = both, of_b = both;
    append(&of_a, &a->of, &b->of, result, false, true);
    append(&of_a, &a->of, &b->of, result, true, false);
    append(&of_b, &a->of, &b->of, result, true, false);
    append(&of_b, &b->of, &a->of, result, false, true);
    SH_TRY(turn(a, use, &of_a));
    SH_TRY(turn(b, use, &of_b));
    const sh_shape sa = *sh_import_shape(use, a->value), sb = *sh_import_shape(use, b->value);
    const size_t M = span(&sa, both.count, rows.count);
    const size_t N = span(&sb, both.count + inner.count, columns.count);
    const size_t K = span(&sa, both.count + rows.count, inner.count);
    const size_t matrices = span(&sa, 0, both.count);
    if (span(&sb, 0, both.count) != matrices || span(&sb, both.count, inner.count) != K)
        return sh_fail(SH_INVALID, "dimensions of one label differ");
    const sh_shape ma = sh_shape_of(3, (size_t[]){matrices, M, K});
    const sh_shape mb = sh_shape_of(3, (size_t[]){matrices, K, N});
    SH_TRY(sh_import_reshape(&a->value, use, a->value, &ma));
    SH_TRY(sh_import_reshape(&b->value, use, b->value, &mb));
    SH_TRY(sh_import_emit(&y->value, use, SH_OP_matmul, NULL, (sh_value_id[]){a->value, b->value}));
    sh_shape whole = {.rank = result->count};
    y->of = both;
    for (size_t i = 0; i < both.count + rows.count; i++)
        whole.dim[i] = sa.dim[i];
    for (size_t i = 0; i < rows.count; i++)
        y->of.at[y->of.count++] = rows.at[i];
    for (size_t i = 0; i < columns.count; i++) {
        whole.dim[y->of.count] = sb.dim[both.count + inner.count + i];
        y->of.at[y->of.count++] = columns.at[i];
    }
    return sh_import_reshape(&y->value, use, y->value, &whole);
}

static sh_status rearrange(sh_onnx_use *use, const labels term[3])
{
    const labels none = {0};
    operand x;
    SH_TRY(read_operand(&x, use, 0, &term[0]));
    if (x.batch != 0 && !has(&term[2], x.batch))
        return sh_fail(SH_UNSUPPORTED, "it sums over the samples");
    SH_TRY(drop_own(&x, use, &none, &term[2]));
    SH_TRY(turn(&x, use, &term[2]));
    sh_import_give(use, 0, x.value, x.batch == 0 ? SH_NO_AXIS : place_of(&term[2], x.batch));
    return SH_OK;
}

sh_status sh_import_einsum(sh_onnx_use *use)
{
    labels term[3] = {{0}};
    operand a, b, y;
    const char *text;
    size_t count;
    SH_TRY(sh_import_arity(use, 1, 2));
    const size_t length = sh_onnx_node_text(&use->node, "equation", &text);
    SH_TRY(parse(term, &count, text, length));
    if (count != use->in_count)
        return sh_fail(SH_INVALID, "%zu inputs for %zu terms of its equation", use->in_count,
                       count);
    if (count == 1)
        return rearrange(use, term);
    SH_TRY(read_operand(&a, use, 0, &term[0]));
    SH_TRY(read_operand(&b, use, 1, &term[1]));
    const char batch = a.batch != 0 ? a.batch : b.batch;
    if (batch != 0 && (!has(&term[2], batch) || (b.batch != 0 && b.batch != batch)))
        return sh_fail(SH_UNSUPPORTED, "it sums over the samples or multiplies one by another");
    if (batch != 0 &&
        ((has(&term[0], batch) && a.batch == 0) || (has(&term[1], batch) && b.batch == 0)))
        return sh_fail(SH_UNSUPPORTED, "it multiplies each sample by weights of its own");
    SH_TRY(drop_own(&a, use, &term[1], &term[2]));
    SH_TRY(drop_own(&b, use, &term[0], &term[2]));
    SH_TRY(multiply(&y, use, &a, &b, &term[2]));
    SH_TRY(turn(&y, use, &term[2]));
    sh_import_give(use, 0, y.value, batch == 0 ? SH_NO_AXIS : place_of(&term[2], batch));
    return SH_OK;
}
