/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense layers and products of matrices.
 *
 * A product with weights is a dense layer: the graph's has a bias of its own and weights [O, I],
 * those of a file may be [I, O] and are then transposed, which is done once a step. An Add of a
 * bias that alone reads the product belongs to it.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx/importer.h"

static sh_status transpose(sh_value_id *y, const sh_onnx_use *use, sh_value_id x)
{
    const sh_attributes turned = {.order = {1, 0}};
    if (sh_import_shape(use, x)->rank != 2)
        return sh_fail(SH_INVALID, "expected a matrix");
    return sh_import_emit(y, use, SH_OP_transpose, &turned, &x);
}

sh_status sh_import_gemm(sh_onnx_use *use)
{
    sh_value_id x, w, b = SH_NO_VALUE, y;
    SH_TRY(sh_import_arity(use, 2, 3));
    const bool has_bias = sh_import_given(use, 2);
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 1);
    const float beta = sh_onnx_node_number(&use->node, "beta", 1);
    if (alpha != 1 || (has_bias && beta != 1))
        return sh_fail(SH_UNSUPPORTED, "alpha is %g and beta %g, only 1 is supported",
                       (double)alpha, (double)beta);
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
    if (!by_rows)
        SH_TRY(transpose(&w, use, w));
    if (has_bias)
        SH_TRY(sh_import_weights(&b, use, 2, SH_IMPORT_ZERO));
    if (has_bias && sh_import_shape(use, b)->rank == 2) { /* [1, O] */
        const sh_shape row = sh_shape_of(1, &sh_import_shape(use, b)->dim[1]);
        SH_TRY(sh_import_reshape(&b, use, b, &row));
    }
    SH_TRY(sh_import_emit(&y, use, SH_OP_linear, NULL, (sh_value_id[]){x, w, b}));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

/* The bias that the one reader of the node's output adds, as a use of that node; false if there is
 * none. */
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

/* x [..., I] by weights [I, O]. */
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

/* a [..., M, K] by b [..., K, N] with the same dimensions in front. */
static sh_status import_product(sh_onnx_use *use, sh_value_id a, sh_value_id b)
{
    const sh_shape of_a = *sh_import_shape(use, a), of_b = *sh_import_shape(use, b);
    sh_shape of_y = of_a;
    sh_value_id y;
    if (of_a.rank != of_b.rank || of_a.rank < 2)
        return sh_fail(SH_UNSUPPORTED, "matrices of %zu and %zu dimensions", of_a.rank, of_b.rank);
    size_t matrices = 1;
    for (size_t i = 0; i + 2 < of_a.rank; i++) {
        matrices *= of_a.dim[i];
        if (of_a.dim[i] != of_b.dim[i])
            return sh_fail(SH_UNSUPPORTED, "%zu and %zu matrices in dimension %zu", of_a.dim[i],
                           of_b.dim[i], i);
    }
    const size_t *m = of_a.dim + of_a.rank - 2, *n = of_b.dim + of_b.rank - 2;
    of_y.dim[of_y.rank - 1] = n[1];
    if (of_a.rank > 3) {
        const sh_shape as = sh_shape_of(3, (size_t[]){matrices, m[0], m[1]});
        const sh_shape bs = sh_shape_of(3, (size_t[]){matrices, n[0], n[1]});
        SH_TRY(sh_import_reshape(&a, use, a, &as));
        SH_TRY(sh_import_reshape(&b, use, b, &bs));
    }
    SH_TRY(sh_import_emit(&y, use, SH_OP_matmul, NULL, (sh_value_id[]){a, b}));
    SH_TRY(sh_import_reshape(&y, use, y, &of_y));
    const size_t batch = use->in[0]->batch;
    sh_import_give(use, 0, y, batch == SH_NO_AXIS ? use->in[1]->batch : batch);
    return SH_OK;
}

/* The samples' dimension of a value of `rank`, from the end. */
static size_t from_end(const sh_onnx_entry *entry, size_t rank)
{
    return entry->batch == SH_NO_AXIS ? SH_NO_AXIS : rank - 1 - entry->batch;
}

/* Refuses products that add samples up, or take one with another. */
static sh_status check_apart(const sh_onnx_use *use, size_t rank_a, size_t rank_b)
{
    const size_t a = from_end(use->in[0], rank_a), b = from_end(use->in[1], rank_b);
    if (a == 0 || b == 1 || (a != b && a != SH_NO_AXIS && b != SH_NO_AXIS))
        return sh_fail(SH_UNSUPPORTED, "it multiplies samples with each other");
    return SH_OK;
}

sh_status sh_import_matmul(sh_onnx_use *use)
{
    sh_value_id a, b;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_value(&a, use, 0));
    SH_TRY(sh_import_weights(&b, use, 1, SH_IMPORT_COLUMNS));
    SH_TRY(sh_import_value(&b, use, 1));
    SH_TRY(check_apart(use, sh_import_shape(use, a)->rank, sh_import_shape(use, b)->rank));
    if (sh_import_is_weight(use, 1) && sh_import_shape(use, b)->rank == 2 &&
        sh_import_shape(use, a)->rank >= 2)
        return import_dense(use);
    return import_product(use, a, b);
}
