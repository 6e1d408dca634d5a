/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention: softmax(q k^T scale + mask) v for each head, of values [N, heads, length, D] or
 * [N, length, heads D]. Heads of k and v that are fewer are repeated for the queries' heads.
 *
 * With L the length of q and S that of k, all products are of [N heads, L or S, D].
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/array_layers.h"
#include "onnx/importer.h"

#define MASKED (-1e30f) /* added to what is not looked at: its part is 0 then */

enum { Q, K, V, MASK };

/* One of q, k, v. */
typedef struct heads {
    sh_value_id value; /* [N, heads, length, D] */
    size_t N, heads, length, D;
} heads;

static sh_status read_heads(heads *of, sh_onnx_use *use, size_t input, const char *attribute)
{
    const sh_attributes turned = {.order = {0, 2, 1, 3}};
    SH_TRY(sh_import_value(&of->value, use, input));
    sh_shape shape = *sh_import_shape(use, of->value);
    if (use->in[input]->batch != 0)
        return sh_fail(SH_UNSUPPORTED, "the samples are not in dimension 0 of input %zu", input);
    if (shape.rank == 3) {
        const int64_t count = sh_onnx_node_integer(&use->node, attribute, 0);
        if (count < 1 || shape.dim[2] % (uint64_t)count != 0)
            return sh_fail(SH_INVALID, "%s is %lld for %zu numbers", attribute, (long long)count,
                           shape.dim[2]);
        const size_t n = (size_t)count;
        shape = sh_shape_of(4, (size_t[]){shape.dim[0], shape.dim[1], n, shape.dim[2] / n});
        SH_TRY(sh_import_reshape(&of->value, use, of->value, &shape));
        SH_TRY(sh_import_emit(&of->value, use, SH_OP_transpose, &turned, &of->value));
        shape = *sh_import_shape(use, of->value);
    }
    if (shape.rank != 4)
        return sh_fail(SH_INVALID, "input %zu has %zu dimensions, expected 3 or 4", input,
                       shape.rank);
    of->N = shape.dim[0];
    of->heads = shape.dim[1];
    of->length = shape.dim[2];
    of->D = shape.dim[3];
    return SH_OK;
}

/* As [N heads, length, D], each head `copies` times. */
static sh_status as_matrices(heads *of, const sh_onnx_use *use, size_t copies)
{
    const size_t each = of->length * of->D;
    if (copies > 1) {
        const sh_shape one = sh_shape_of(4, (size_t[]){of->N, of->heads, 1, each});
        const sh_shape all = sh_shape_of(4, (size_t[]){of->N, of->heads, copies, each});
        SH_TRY(sh_import_reshape(&of->value, use, of->value, &one));
        SH_TRY(
            sh_import_made(&of->value, use, sh_layer_expand(use->importer->net, of->value, all)));
        of->heads *= copies;
    }
    const sh_shape flat = sh_shape_of(3, (size_t[]){of->N * of->heads, of->length, of->D});
    return sh_import_reshape(&of->value, use, of->value, &flat);
}

/* A frozen parameter with these values. */
static sh_status add_frozen(sh_value_id *value, const sh_onnx_use *use, const char *what,
                            sh_shape shape, const float *values)
{
    const sh_initial initial = {.kind = SH_INITIAL_VALUES, .values = values};
    char name[96];
    snprintf(name, sizeof name, "%.80s.%s", use->out[0]->name, what);
    return sh_import_made(value, use,
                          sh_net_tensor(use->importer->net, name, shape, SH_ROLE_FROZEN, initial));
}

/* Nothing is looked at that comes later. */
static sh_status add_causal(sh_value_id *mask, const sh_onnx_use *use, size_t L, size_t S)
{
    float *values = calloc(L * S, sizeof *values);
    if (values == NULL)
        return sh_fail_memory(L * S * sizeof *values, "a mask");
    for (size_t i = 0; i < L; i++)
        for (size_t j = i + 1; j < S; j++)
            values[i * S + j] = MASKED;
    const sh_status status =
        add_frozen(mask, use, "causal", sh_shape_of(2, (size_t[]){L, S}), values);
    free(values);
    return status;
}

/* The mask as what is added: of truth values 0 or MASKED. */
static sh_status read_mask(sh_value_id *mask, sh_onnx_use *use)
{
    const sh_onnx_constant *given;
    if (use->in[MASK]->kind == SH_ENTRY_VALUE || sh_import_constant(&given, use, MASK) != SH_OK)
        return sh_fail(SH_UNSUPPORTED,
                       "its mask depends on the samples; export it with a constant or is_causal");
    if (given->rank < 2 || given->rank > 4 || (given->rank == 4 && given->dim[0] != 1))
        return sh_fail(SH_UNSUPPORTED, "its mask is not one for all samples");
    float *values = calloc(given->count, sizeof *values);
    if (values == NULL)
        return sh_fail_memory(given->count * sizeof *values, "a mask");
    for (size_t i = 0; i < given->count; i++)
        values[i] = !given->real ? given->cells[i].whole != 0 ? 0 : MASKED
                    : given->cells[i].real < (double)MASKED ? MASKED
                                                            : (float)given->cells[i].real;
    const sh_status status =
        add_frozen(mask, use, "mask", sh_shape_of(given->rank, given->dim), values);
    free(values);
    return status;
}

/* What each query makes of each key, [N heads, L, S], before the softmax. */
static sh_status compare(sh_value_id *scores, sh_onnx_use *use, const heads *q, const heads *k)
{
    const sh_attributes by_rows = {.transposed = {false, true}};
    sh_net *net = use->importer->net;
    const float scale = sh_onnx_node_number(&use->node, "scale", 1 / sqrtf((float)q->D));
    const float cap = sh_onnx_node_number(&use->node, "softcap", 0);
    const bool causal = sh_onnx_node_integer(&use->node, "is_causal", 0) != 0;
    const bool masked = sh_import_given(use, MASK);
    sh_value_id y, mask;
    SH_TRY(sh_import_emit(&y, use, SH_OP_matmul, &by_rows, (sh_value_id[]){q->value, k->value}));
    y = sh_layer_unary(net, SH_UNARY_LINE, y, (float[]){cap > 0 ? scale / cap : scale, 0});
    if (cap > 0 && (causal || masked))
        return sh_fail(SH_UNSUPPORTED, "softcap together with a mask is not supported");
    if (cap > 0)
        y = sh_layer_unary(net, SH_UNARY_LINE, sh_net_apply(net, SH_OP_tanh, NULL, y),
                           (float[]){cap, 0});
    const sh_shape flat = sh_shape_of(3, (size_t[]){q->N * q->heads, q->length, k->length});
    if (masked) {
        const sh_shape apart = sh_shape_of(4, (size_t[]){q->N, q->heads, q->length, k->length});
        SH_TRY(read_mask(&mask, use));
        y = sh_layer_pair(net, SH_PAIR_ADD, sh_layer_reshape(net, y, apart), mask);
        SH_TRY(sh_import_made(&y, use, y));
        SH_TRY(sh_import_reshape(&y, use, y, &flat));
    }
    if (causal) {
        SH_TRY(add_causal(&mask, use, q->length, k->length));
        y = sh_layer_pair(net, SH_PAIR_ADD, y, mask);
    }
    return sh_import_made(scores, use, y);
}

static sh_status check(const sh_onnx_use *use, const heads *q, const heads *k, const heads *v)
{
    for (size_t i = 1; i < use->out_count; i++)
        if (use->out[i] != NULL && use->out[i]->readers > 0)
            return sh_fail(SH_UNSUPPORTED, "its output %zu is used, only the first is there", i);
    for (size_t i = MASK + 1; i < use->in_count; i++)
        if (sh_import_given(use, i))
            return sh_fail(SH_UNSUPPORTED, "it has caches; export it without");
    if (k->heads == 0 || q->heads % k->heads != 0 || k->heads != v->heads || q->D != k->D ||
        k->length != v->length)
        return sh_fail(SH_INVALID, "queries, keys and values do not fit together");
    return SH_OK;
}

sh_status sh_import_attention(sh_onnx_use *use)
{
    const sh_attributes along = {.axis = 2}, turned = {.order = {0, 2, 1, 3}};
    heads q, k, v;
    sh_value_id y;
    SH_TRY(sh_import_arity(use, 3, 6));
    SH_TRY(read_heads(&q, use, Q, "q_num_heads"));
    SH_TRY(read_heads(&k, use, K, "kv_num_heads"));
    SH_TRY(read_heads(&v, use, V, "kv_num_heads"));
    SH_TRY(check(use, &q, &k, &v));
    const bool joined = sh_onnx_node_has(&use->node, "q_num_heads");
    SH_TRY(as_matrices(&k, use, q.heads / k.heads));
    SH_TRY(as_matrices(&v, use, q.heads / v.heads));
    SH_TRY(as_matrices(&q, use, 1));
    SH_TRY(compare(&y, use, &q, &k));
    SH_TRY(sh_import_emit(&y, use, SH_OP_softmax, &along, &y));
    SH_TRY(sh_import_emit(&y, use, SH_OP_matmul, NULL, (sh_value_id[]){y, v.value}));
    const sh_shape apart = sh_shape_of(4, (size_t[]){q.N, q.heads, q.length, v.D});
    SH_TRY(sh_import_reshape(&y, use, y, &apart));
    if (joined) {
        const sh_shape rows = sh_shape_of(3, (size_t[]){q.N, q.length, q.heads * v.D});
        SH_TRY(sh_import_emit(&y, use, SH_OP_transpose, &turned, &y));
        SH_TRY(sh_import_reshape(&y, use, y, &rows));
    }
    sh_import_give(use, 0, y, 0);
    return SH_OK;
}
