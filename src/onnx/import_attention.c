/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention: softmax(q k^T scale + mask) v for each head. Values are [N, heads, length, D] or
 * [N, length, heads D]. If k and v have fewer heads than q, they are repeated. Cached keys and
 * values are placed before k and v.
 *
 * Let L be the length of q and S that of k. All products are of [N heads, L or S, D]. The mask is
 * added: -inf for keys that a query must not see. The softmax of a row with only masked keys would
 * be NaN, so its mask is left out and its result is replaced by 0.
 */
#include <math.h>
#include <stdlib.h>

#include "graph/array_layers.h"
#include "onnx/import_constants.h"

enum { Q, K, V, MASK, PAST_K, PAST_V };
enum { Y, PRESENT_K, PRESENT_V, SCORES };                    /* outputs */
enum { OF_PRODUCT, OF_CAPPED, OF_MASKED, OF_PROBABILITIES }; /* content of output SCORES */

typedef struct heads {
    sh_value_id value; /* [N, heads, length, D] */
    size_t N, heads, length, D;
} heads;

static void measure(heads *of, const sh_onnx_use *use)
{
    const size_t *dim = sh_import_shape(use, of->value)->dim;
    of->N = dim[0];
    of->heads = dim[1];
    of->length = dim[2];
    of->D = dim[3];
}

static sh_status read_heads(heads *of, sh_onnx_use *use, size_t input, const char *attribute)
{
    const sh_attributes turned = {.order = {0, 2, 1, 3}};
    SH_TRY(sh_import_value(&of->value, use, input));
    sh_shape shape = *sh_import_shape(use, of->value);
    if (use->in[input]->batch != SH_NO_AXIS && use->in[input]->batch != 0)
        return sh_fail(SH_UNSUPPORTED, "the samples are not in dimension 0 of input %zu", input);
    if (shape.rank == 3 && attribute != NULL) {
        const int64_t count = sh_onnx_node_integer(&use->node, attribute, 0);
        if (count < 1 || shape.dim[2] % (uint64_t)count != 0)
            return sh_fail(SH_INVALID, "%s is %lld for %zu numbers", attribute, (long long)count,
                           shape.dim[2]);
        const size_t n = (size_t)count;
        shape = sh_shape_of(4, (size_t[]){shape.dim[0], shape.dim[1], n, shape.dim[2] / n});
        SH_TRY(sh_import_reshape(&of->value, use, of->value, &shape));
        SH_TRY(sh_import_emit(&of->value, use, SH_OP_transpose, &turned, &of->value));
    }
    if (shape.rank != 4)
        return sh_fail(SH_INVALID, "input %zu has %zu dimensions, expected 3 or 4", input,
                       shape.rank);
    measure(of, use);
    return SH_OK;
}

/* Repeats a value without samples N times. */
static sh_status repeat_samples(heads *of, const sh_onnx_use *use, size_t N)
{
    sh_shape each = *sh_import_shape(use, of->value);
    each.dim[0] = N;
    SH_TRY(sh_import_made(&of->value, use, sh_layer_expand(use->importer->net, of->value, each)));
    measure(of, use);
    return SH_OK;
}

/* Puts the cached part in front and gives the concatenation as an output. `*past` is the length of
 * the part. */
static sh_status remember(heads *of, size_t *past, sh_onnx_use *use, size_t input, size_t output,
                          size_t batch)
{
    heads before;
    *past = 0;
    if (sh_import_given(use, input)) {
        SH_TRY(read_heads(&before, use, input, NULL));
        const size_t N = before.N > of->N ? before.N : of->N;
        SH_TRY(repeat_samples(&before, use, N));
        SH_TRY(repeat_samples(of, use, N));
        const sh_value_id both[] = {before.value, of->value};
        SH_TRY(sh_import_made(&of->value, use, sh_layer_concat(use->importer->net, both, 2, 2)));
        measure(of, use);
        *past = before.length;
    }
    sh_import_give(use, output, of->value, batch);
    return SH_OK;
}

/* Reshapes to [N heads, length, D], with each head repeated `copies` times. */
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

/* ---- masks ------------------------------------------------------------------------------------
 */

/* What is added to the products. SH_NO_VALUE: nothing. */
typedef struct masking {
    sh_value_id whole; /* the complete mask, [..., L, S] */
    sh_value_id added; /* the same, but 0 in fully masked rows */
    sh_value_id sees;  /* [..., L, 1]: 0 for fully masked rows, else 1; SH_NO_VALUE: no such rows */
} masking;

/* A mask that is constant or only causal. */
typedef struct known_mask {
    const sh_onnx_constant *given; /* or NULL */
    size_t L, S, past;
    bool causal;
} known_mask;

/* Returns what is added for key j of query i in matrix m. */
static float added_at(const known_mask *of, size_t m, size_t i, size_t j)
{
    const sh_onnx_constant *given = of->given;
    if (of->causal && j > i + of->past)
        return -INFINITY;
    if (given == NULL)
        return 0;
    const size_t rows = given->rank < 2 ? 1 : given->dim[given->rank - 2];
    const size_t columns = given->dim[given->rank - 1];
    if (columns > 1 && j >= columns) /* the mask is shorter than the keys */
        return -INFINITY;
    const sh_onnx_cell cell =
        given->cells[(m * rows + (rows > 1 ? i : 0)) * columns + (columns > 1 ? j : 0)];
    if (!given->real)
        return cell.whole != 0 ? 0 : -INFINITY;
    return (float)cell.real;
}

/* True if there are fully masked rows. */
static bool fill_mask(float *whole, float *added, float *sees, const known_mask *of,
                      size_t matrices)
{
    bool any = false;
    for (size_t row = 0; row < matrices * of->L; row++) {
        float *to = whole + row * of->S;
        bool blind = true;
        for (size_t j = 0; j < of->S; j++) {
            to[j] = added_at(of, row / of->L, row % of->L, j);
            blind &= to[j] == -INFINITY;
        }
        for (size_t j = 0; j < of->S; j++)
            added[row * of->S + j] = blind ? 0 : to[j];
        sees[row] = blind ? 0 : 1;
        any |= blind;
    }
    return any;
}

static sh_status add_known(masking *mask, const sh_onnx_use *use, const known_mask *of)
{
    sh_shape shape = {0};
    for (size_t i = 0; of->given != NULL && i + 2 < of->given->rank; i++)
        shape.dim[shape.rank++] = of->given->dim[i];
    const size_t matrices = sh_shape_count(&shape), rows = matrices * of->L, count = rows * of->S;
    const size_t bytes = (2 * count + rows) * sizeof(float);
    float *whole = malloc(bytes), *added = whole + count, *sees = added + count;
    sh_status status;
    if (whole == NULL)
        return sh_fail_memory(bytes, "a mask");
    const bool any = fill_mask(whole, added, sees, of, matrices);
    shape.dim[shape.rank++] = of->L;
    shape.dim[shape.rank++] = of->S;
    SH_TRY_DONE(sh_import_frozen(&mask->whole, use, "mask", shape, whole));
    mask->added = mask->whole;
    if (any) {
        SH_TRY_DONE(sh_import_frozen(&mask->added, use, "added", shape, added));
        shape.dim[shape.rank - 1] = 1;
        SH_TRY_DONE(sh_import_frozen(&mask->sees, use, "sees", shape, sees));
    }
done:
    free(whole);
    return status;
}

/* The mask has numbers that are added, or truth values. */
static sh_status add_computed(masking *mask, const sh_onnx_use *use, const known_mask *of)
{
    sh_net *net = use->importer->net;
    sh_value_id given, nothing;
    masking causal;
    SH_TRY(sh_import_value(&given, use, MASK));
    const size_t rank = sh_import_shape(use, given)->rank, batch = use->in[MASK]->batch;
    if (rank < 2 || rank > 4 || (batch != SH_NO_AXIS && (batch != 0 || rank != 4)))
        return sh_fail(SH_UNSUPPORTED,
                       "its mask must be [N, heads or 1, queries, keys]; export it like that");
    SH_TRY(sh_import_frozen(&nothing, use, "nothing", (sh_shape){0}, (float[]){-INFINITY}));
    if (sh_import_is_truth(use, MASK))
        given = sh_layer_pair(net, SH_PAIR_DROP, nothing, given);
    if (of->causal) {
        const known_mask alone = {.L = of->L, .S = of->S, .past = of->past, .causal = true};
        SH_TRY(add_known(&causal, use, &alone));
        given = sh_layer_pair(net, SH_PAIR_ADD, given, causal.whole);
    }
    SH_TRY(sh_import_made(&mask->whole, use, given));
    const uint32_t keys = SH_AXIS(sh_import_shape(use, given)->rank - 1);
    mask->sees = sh_layer_pair(net, SH_PAIR_GREATER,
                               sh_layer_reduce(net, SH_REDUCE_LARGEST, given, keys, true), nothing);
    return sh_import_made(&mask->added, use, sh_layer_pair(net, SH_PAIR_KEEP, given, mask->sees));
}

static sh_status read_mask(masking *mask, sh_onnx_use *use, const heads *q, const heads *k,
                           size_t past)
{
    known_mask of = {.L = q->length, .S = k->length, .past = past};
    of.causal = sh_onnx_node_integer(&use->node, "is_causal", 0) != 0;
    *mask = (masking){SH_NO_VALUE, SH_NO_VALUE, SH_NO_VALUE};
    if (!sh_import_given(use, MASK))
        return of.causal ? add_known(mask, use, &of) : SH_OK;
    if (use->in[MASK]->kind == SH_ENTRY_VALUE || sh_import_constant(&of.given, use, MASK) != SH_OK)
        return add_computed(mask, use, &of);
    const size_t rank = of.given->rank, *dim = of.given->dim;
    if (rank < 1 || rank > 4 || dim[rank - 1] > of.S || dim[rank - 1] == 0 ||
        (rank > 1 && dim[rank - 2] != 1 && dim[rank - 2] != of.L))
        return sh_fail(SH_INVALID, "its mask does not fit %zu queries and %zu keys", of.L, of.S);
    if (rank == 4 && dim[0] != 1 && use->in[Q]->batch != SH_NO_AXIS)
        return sh_fail(SH_UNSUPPORTED, "its mask differs between samples");
    return add_known(mask, use, &of);
}

/* ---- products ---------------------------------------------------------------------------------
 */

static bool wants_scores(sh_onnx_use *use, int64_t which)
{
    return use->out_count > SCORES && use->out[SCORES] != NULL && use->out[SCORES]->readers > 0 &&
           sh_onnx_node_integer(&use->node, "qk_matmul_output_mode", 0) == which;
}

static sh_status give_scores(sh_onnx_use *use, int64_t which, sh_value_id y, size_t batch)
{
    if (!wants_scores(use, which))
        return SH_OK;
    SH_TRY(sh_import_made(&y, use, y));
    sh_import_give(use, SCORES, y, batch);
    return SH_OK;
}

/* Computes the scores before the mask, [N, heads, L, S]. */
static sh_status compare(sh_value_id *scores, sh_onnx_use *use, const heads *q, const heads *k,
                         size_t batch)
{
    const sh_attributes by_rows = {.transposed = {false, true}};
    sh_net *net = use->importer->net;
    const float scale = sh_onnx_node_number(&use->node, "scale", 1 / sqrtf((float)q->D));
    const float cap = sh_onnx_node_number(&use->node, "softcap", 0);
    const sh_shape apart = sh_shape_of(4, (size_t[]){q->N, q->heads, q->length, k->length});
    sh_value_id y;
    SH_TRY(sh_import_emit(&y, use, SH_OP_matmul, &by_rows, (sh_value_id[]){q->value, k->value}));
    SH_TRY(sh_import_reshape(&y, use, y, &apart));
    if (cap > 0 && wants_scores(use, OF_PRODUCT))
        SH_TRY(give_scores(use, OF_PRODUCT,
                           sh_layer_unary(net, SH_UNARY_LINE, y, (float[]){scale, 0}), batch));
    y = sh_layer_unary(net, SH_UNARY_LINE, y, (float[]){cap > 0 ? scale / cap : scale, 0});
    if (cap > 0)
        y = sh_layer_unary(net, SH_UNARY_LINE, sh_net_apply(net, SH_OP_tanh, NULL, y),
                           (float[]){cap, 0});
    else
        SH_TRY(give_scores(use, OF_PRODUCT, y, batch));
    SH_TRY(give_scores(use, OF_CAPPED, y, batch));
    return sh_import_made(scores, use, y);
}

/* Computes the weight of each key for each query, [N, heads, L, S]. */
static sh_status weigh(sh_value_id *y, sh_onnx_use *use, const masking *mask, size_t batch)
{
    const sh_attributes along = {.axis = 3};
    sh_net *net = use->importer->net;
    const bool masked = mask->added != SH_NO_VALUE;
    if (wants_scores(use, OF_MASKED))
        SH_TRY(give_scores(use, OF_MASKED,
                           masked ? sh_layer_pair(net, SH_PAIR_ADD, *y, mask->whole) : *y, batch));
    if (masked)
        SH_TRY(sh_import_made(y, use, sh_layer_pair(net, SH_PAIR_ADD, *y, mask->added)));
    SH_TRY(sh_import_emit(y, use, SH_OP_softmax, &along, y));
    if (mask->sees != SH_NO_VALUE)
        SH_TRY(sh_import_made(y, use, sh_layer_pair(net, SH_PAIR_KEEP, *y, mask->sees)));
    return give_scores(use, OF_PROBABILITIES, *y, batch);
}

static sh_status check(const sh_onnx_use *use, const heads *q, const heads *k, const heads *v)
{
    if (sh_import_given(use, PAST_K) != sh_import_given(use, PAST_V))
        return sh_fail(SH_INVALID, "it has keys or values of the past, but not both");
    if (k->heads == 0 || q->heads % k->heads != 0 || k->heads != v->heads || q->D != k->D ||
        k->length != v->length)
        return sh_fail(SH_INVALID, "queries, keys and values do not fit together");
    return SH_OK;
}

/* `*past` is the number of cached keys. */
static sh_status read_all(heads of[3], size_t *past, sh_onnx_use *use, size_t batch)
{
    static const char *const counts[] = {"q_num_heads", "kv_num_heads", "kv_num_heads"};
    size_t N = 1;
    for (size_t i = Q; i <= V; i++)
        SH_TRY(read_heads(&of[i], use, i, counts[i]));
    SH_TRY(remember(&of[K], past, use, PAST_K, PRESENT_K, batch));
    SH_TRY(remember(&of[V], past, use, PAST_V, PRESENT_V, batch));
    for (size_t i = Q; i <= V; i++)
        N = of[i].N > N ? of[i].N : N;
    for (size_t i = Q; i <= V; i++)
        SH_TRY(repeat_samples(&of[i], use, N));
    return check(use, &of[Q], &of[K], &of[V]);
}

sh_status sh_import_attention(sh_onnx_use *use)
{
    const sh_attributes turned = {.order = {0, 2, 1, 3}};
    heads of[3];
    masking mask;
    size_t batch = SH_NO_AXIS, past;
    sh_value_id y;
    SH_TRY(sh_import_arity(use, 3, 6));
    for (size_t i = 0; i < use->in_count; i++)
        batch = sh_import_given(use, i) && use->in[i]->batch != SH_NO_AXIS ? 0 : batch;
    SH_TRY(read_all(of, &past, use, batch));
    SH_TRY(read_mask(&mask, use, &of[Q], &of[K], past));
    const bool joined = sh_import_shape(use, use->in[Q]->value)->rank == 3;
    const size_t copies = of[Q].heads / of[K].heads;
    for (size_t i = Q; i <= V; i++)
        SH_TRY(as_matrices(&of[i], use, i == Q ? 1 : copies));
    const heads *q = &of[Q], *v = &of[V];
    SH_TRY(compare(&y, use, q, &of[K], batch));
    SH_TRY(weigh(&y, use, &mask, batch));
    const sh_shape flat = sh_shape_of(3, (size_t[]){q->N * q->heads, q->length, v->length});
    SH_TRY(sh_import_reshape(&y, use, y, &flat));
    SH_TRY(sh_import_emit(&y, use, SH_OP_matmul, NULL, (sh_value_id[]){y, v->value}));
    const sh_shape apart = sh_shape_of(4, (size_t[]){q->N, q->heads, q->length, v->D});
    SH_TRY(sh_import_reshape(&y, use, y, &apart));
    if (joined) {
        const sh_shape rows = sh_shape_of(3, (size_t[]){q->N, q->length, q->heads * v->D});
        SH_TRY(sh_import_emit(&y, use, SH_OP_transpose, &turned, &y));
        SH_TRY(sh_import_reshape(&y, use, y, &rows));
    }
    sh_import_give(use, Y, y, batch);
    return SH_OK;
}
