/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A product with weights is a dense layer, whose weights in the graph are [O, I]. Weights [I, O] of
 * a file are transposed, once a step. A following Add of a bias becomes part of the layer if no
 * other node reads the product.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/array_layers.h"
#include "onnx/importer.h"

static sh_status transpose(sh_value_id *y, const sh_onnx_use *use, sh_value_id x)
{
    const sh_attributes turned = {.order = {1, 0}};
    if (sh_import_shape(use, x)->rank != 2)
        return sh_fail(SH_INVALID, "expected a matrix");
    return sh_import_emit(y, use, SH_OP_transpose, &turned, &x);
}

static sh_status times(sh_value_id *y, const sh_onnx_use *use, float factor)
{
    if (factor == 1)
        return SH_OK;
    return sh_import_made(
        y, use, sh_layer_unary(use->importer->net, SH_UNARY_LINE, *y, (float[]){factor, 0}));
}

/* A bias that is the same for all rows becomes `*row`, [outputs]. Any other becomes `*rest`, which
 * is added to the product. SH_NO_VALUE: none. */
static sh_status read_gemm_bias(sh_value_id *row, sh_value_id *rest, const sh_onnx_use *use,
                                size_t outputs, float beta)
{
    sh_value_id b;
    *row = *rest = SH_NO_VALUE;
    if (!sh_import_given(use, 2))
        return SH_OK;
    SH_TRY(sh_import_weights(&b, use, 2, SH_IMPORT_ZERO));
    SH_TRY(times(&b, use, beta));
    const sh_shape shape = *sh_import_shape(use, b);
    if (use->in[2]->batch != SH_NO_AXIS || (shape.rank == 2 && shape.dim[0] != 1)) {
        *rest = b;
        return SH_OK;
    }
    if (shape.rank == 2) { /* [1, O] */
        const sh_shape one = sh_shape_of(1, &shape.dim[1]);
        SH_TRY(sh_import_reshape(&b, use, b, &one));
    }
    b = sh_layer_expand(use->importer->net, b, sh_shape_of(1, &outputs));
    return sh_import_made(row, use, b);
}

sh_status sh_import_gemm(sh_onnx_use *use)
{
    sh_value_id x, w, b, rest, y;
    SH_TRY(sh_import_arity(use, 2, 3));
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 1);
    const float beta = sh_onnx_node_number(&use->node, "beta", 1);
    const bool by_rows = sh_onnx_node_integer(&use->node, "transB", 0) != 0;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_weights(&w, use, 1, by_rows ? SH_IMPORT_WEIGHT : SH_IMPORT_COLUMNS));
    SH_TRY(sh_import_value(&w, use, 1));
    size_t batch = use->in[0]->batch;
    if (sh_onnx_node_integer(&use->node, "transA", 0) != 0) {
        SH_TRY(transpose(&x, use, x));
        batch = batch == SH_NO_AXIS ? batch : 1 - batch;
    }
    if (batch == 1 || use->in[1]->batch != SH_NO_AXIS)
        return sh_fail(SH_UNSUPPORTED, "it multiplies samples with each other");
    if (sh_import_shape(use, w)->rank != 2)
        return sh_fail(SH_INVALID, "expected a matrix");
    if (!by_rows)
        SH_TRY(transpose(&w, use, w));
    SH_TRY(times(&w, use, alpha));
    SH_TRY(read_gemm_bias(&b, &rest, use, sh_import_shape(use, w)->dim[0], beta));
    SH_TRY(sh_import_emit(&y, use, SH_OP_linear, NULL, (sh_value_id[]){x, w, b}));
    if (rest != SH_NO_VALUE)
        SH_TRY(sh_import_made(&y, use, sh_layer_pair(use->importer->net, SH_PAIR_ADD, y, rest)));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

/* Finds the bias that the only reader of the output adds: input `*bias` of node `adds`. False if
 * there is none. */
static bool find_bias(sh_onnx_use *adds, size_t *bias, const sh_onnx_use *use, size_t outputs)
{
    sh_onnx_importer *importer = use->importer;
    const sh_onnx_entry *y = use->out[0];
    if (y->readers != 1)
        return false;
    const Sh__Onnx__NodeProto *proto = importer->graph->node[y->last_reader];
    if (strcmp(proto->op_type, "Add") != 0 || proto->domain[0] != '\0' || proto->n_input != 2 ||
        proto->n_output != 1)
        return false;
    *bias = strcmp(proto->input[0], y->name) == 0 ? 1 : 0;
    const sh_onnx_entry *entry = sh_import_find(importer, proto->input[*bias]);
    sh_onnx_tensor tensor;
    if (entry == NULL || entry->role != SH_ONNX_TRAINED || entry->stored == NULL ||
        entry->batch != SH_NO_AXIS ||
        sh_onnx_tensor_of(&tensor, importer->model, entry->stored) != SH_OK || tensor.rank != 1)
        return false;
    const size_t count = entry->new_axis == 0 ? importer->wish->outputs : tensor.dim[0];
    adds->index = y->last_reader;
    return count == outputs;
}

/* Multiplies x [..., I] by weights [I, O]. */
static sh_status import_dense(sh_onnx_use *use)
{
    sh_onnx_importer *importer = use->importer;
    sh_value_id x, w, b = SH_NO_VALUE, y;
    sh_onnx_use adds = {.importer = importer};
    sh_onnx_entry *added;
    size_t bias = 0;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_value(&w, use, 1));
    const sh_shape of_x = *sh_import_shape(use, x);
    sh_shape of_y = of_x;
    const size_t outputs = sh_import_shape(use, w)->dim[1];
    SH_TRY(transpose(&w, use, w));
    const bool with_bias = find_bias(&adds, &bias, use, outputs);
    if (with_bias) {
        added = sh_import_find(importer, importer->graph->node[adds.index]->input[bias]);
        adds.in = &added;
        adds.in_count = 1;
        SH_TRY(sh_import_weights(&b, &adds, 0, SH_IMPORT_ZERO));
    }
    const size_t inputs = of_x.dim[of_x.rank - 1];
    const sh_shape rows = sh_shape_of(2, (size_t[]){sh_shape_count(&of_x) / inputs, inputs});
    SH_TRY(sh_import_reshape(&x, use, x, &rows));
    SH_TRY(sh_import_emit(&y, use, SH_OP_linear, NULL, (sh_value_id[]){x, w, b}));
    of_y.dim[of_y.rank - 1] = outputs;
    SH_TRY(sh_import_reshape(&y, use, y, &of_y));
    sh_import_give(use, 0, y, use->in[0]->batch);
    if (!with_bias)
        return SH_OK;
    sh_onnx_entry *sum = sh_import_find(importer, importer->graph->node[adds.index]->output[0]);
    if (sum != NULL) {
        adds.out = &sum;
        adds.out_count = 1;
        sh_import_give(&adds, 0, y, use->in[0]->batch);
        sum->outer = use->in[0]->outer;
    }
    importer->done[adds.index] = true;
    return SH_OK;
}

/* A vector becomes one row or one column. */
static sh_status as_matrices(sh_value_id *x, const sh_onnx_use *use, bool column)
{
    const sh_shape of_x = *sh_import_shape(use, *x);
    if (of_x.rank == 0)
        return sh_fail(SH_INVALID, "one of its inputs is a single number");
    if (of_x.rank > 1)
        return SH_OK;
    const size_t n = of_x.dim[0];
    const sh_shape matrix = sh_shape_of(2, column ? (size_t[]){n, 1} : (size_t[]){1, n});
    return sh_import_reshape(x, use, *x, &matrix);
}

static sh_shape in_front(const sh_shape *a, const sh_shape *b)
{
    sh_shape front = {.rank = (a->rank > b->rank ? a->rank : b->rank) - 2};
    for (size_t i = 0; i < front.rank; i++) {
        const size_t of_a = i + a->rank < front.rank + 2 ? 1 : a->dim[i + a->rank - front.rank - 2];
        const size_t of_b = i + b->rank < front.rank + 2 ? 1 : b->dim[i + b->rank - front.rank - 2];
        front.dim[i] = of_a == 1 ? of_b : of_a;
    }
    return front;
}

static sh_status repeat(sh_value_id *x, const sh_onnx_use *use, const sh_shape *front)
{
    const sh_shape of_x = *sh_import_shape(use, *x);
    sh_shape whole = *front;
    for (size_t i = 0; i < 2; i++)
        whole.dim[whole.rank++] = of_x.dim[of_x.rank - 2 + i];
    return sh_import_made(x, use, sh_layer_expand(use->importer->net, *x, whole));
}

/* Reshapes x [..., M, K] to [matrices, M, K]. */
static sh_status flatten(sh_value_id *x, const sh_onnx_use *use, size_t matrices)
{
    const sh_shape of_x = *sh_import_shape(use, *x);
    const sh_shape flat = sh_shape_of(
        3, (size_t[]){matrices, sh_shape_count(&of_x) / matrices / of_x.dim[of_x.rank - 1],
                      of_x.dim[of_x.rank - 1]});
    return sh_import_reshape(x, use, *x, &flat);
}

/* Multiplies a [..., M, K] by b [..., K, N]. If b is a single matrix, the rows of all matrices
 * of a are multiplied by it at once. */
static sh_status multiply(sh_value_id *y, const sh_onnx_use *use, sh_value_id a, sh_value_id b)
{
    const sh_shape of_a = *sh_import_shape(use, a), of_b = *sh_import_shape(use, b);
    sh_shape of_y = in_front(&of_a, &of_b);
    const size_t matrices = sh_shape_count(&of_y), K = of_b.dim[of_b.rank - 2];
    const size_t of_b_alone = sh_shape_count(&of_b) / K / of_b.dim[of_b.rank - 1];
    const size_t count = of_b_alone == 1 ? 1 : matrices;
    if (count > 1) {
        SH_TRY(repeat(&a, use, &of_y));
        SH_TRY(repeat(&b, use, &of_y));
    }
    SH_TRY(flatten(&a, use, count));
    SH_TRY(flatten(&b, use, count));
    SH_TRY(sh_import_emit(y, use, SH_OP_matmul, NULL, (sh_value_id[]){a, b}));
    of_y.dim[of_y.rank++] = of_a.dim[of_a.rank - 2];
    of_y.dim[of_y.rank++] = of_b.dim[of_b.rank - 1];
    return sh_import_reshape(y, use, *y, &of_y);
}

/* The sample dimension, counted from the end. A vector used as a column gets one more dimension. */
static size_t from_end(const sh_onnx_entry *entry, size_t rank, bool column)
{
    return entry->batch == SH_NO_AXIS ? SH_NO_AXIS : rank - 1 - entry->batch + column;
}

static sh_status import_product(sh_onnx_use *use, sh_value_id a, sh_value_id b)
{
    const size_t rank_a = sh_import_shape(use, a)->rank, rank_b = sh_import_shape(use, b)->rank;
    const size_t in_a = from_end(use->in[0], rank_a, false);
    const size_t in_b = from_end(use->in[1], rank_b, rank_b == 1);
    const size_t end = in_a == SH_NO_AXIS ? in_b : in_a;
    sh_value_id y;
    if (in_a == 0 || in_b == 1 || (in_a != in_b && in_a != SH_NO_AXIS && in_b != SH_NO_AXIS))
        return sh_fail(SH_UNSUPPORTED, "it multiplies samples with each other");
    SH_TRY(as_matrices(&a, use, false));
    SH_TRY(as_matrices(&b, use, true));
    SH_TRY(multiply(&y, use, a, b));
    const sh_shape whole = *sh_import_shape(use, y);
    size_t batch = end == SH_NO_AXIS ? SH_NO_AXIS : whole.rank - 1 - end;
    sh_shape rest = sh_shape_of(whole.rank - 2, whole.dim);
    if (rank_a > 1)
        rest.dim[rest.rank++] = whole.dim[whole.rank - 2];
    else if (end == 0) /* the samples are the columns */
        batch--;
    if (rank_b > 1)
        rest.dim[rest.rank++] = whole.dim[whole.rank - 1];
    SH_TRY(sh_import_reshape(&y, use, y, &rest));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

sh_status sh_import_matmul(sh_onnx_use *use)
{
    sh_value_id a, b;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_value(&a, use, 0));
    SH_TRY(sh_import_weights(&b, use, 1, SH_IMPORT_COLUMNS));
    SH_TRY(sh_import_value(&b, use, 1));
    const size_t rank_a = sh_import_shape(use, a)->rank, rank_b = sh_import_shape(use, b)->rank;
    if (sh_import_is_weight(use, 1) && rank_b == 2 && rank_a >= 2 &&
        use->in[0]->batch != rank_a - 1)
        return import_dense(use);
    return import_product(use, a, b);
}
