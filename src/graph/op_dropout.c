/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout (Srivastava et al. 2014): x [N, ...] with each element kept with probability 1 - p (the
 * attribute `number`) and then divided by it, else 0. Which ones are kept is a function of the
 * sample's keys [N, 2] (two words of 32 bits), the attribute `layer` and the element's place in the
 * sample, so every device and every grain draws the same; and the gradient is the same operator on
 * dy: no mask is stored.
 */
#include "graph/graph.h"

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    if (in[0].shape.rank == 0)
        return sh_fail(SH_INVALID, "dropout: the input is a scalar, expected [N, ...]");
    SH_TRY(sh_op_expect("dropout", "the input", &in[0], SH_F32, in[0].shape.rank));
    const sh_type keys = {SH_I32, sh_shape_of(2, (size_t[]){in[0].shape.dim[0], 2})};
    SH_TRY(sh_op_expect_same("dropout", "the keys", &in[1], "two words for each sample", &keys));
    if (!(a->number >= 0 && a->number < 1))
        return sh_fail(SH_INVALID, "dropout: the probability %g is not in [0, 1)",
                       (double)a->number);
    out[0] = in[0];
    return SH_OK;
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    if (wanted[0])
        din[0] = sh_graph_add(graph, SH_OP_dropout, &node->attributes,
                              (sh_value_id[]){dout[0], node->in[1]}, NULL);
}

const sh_op_def sh_op_dropout = {
    .name = "dropout",
    .input_count = 2,
    .output_count = 1,
    .over = SH_OVER(0),
    .infer = infer,
    .grad = grad,
    .each_flops = 12, /* Ten rounds of two products for four elements, roughly. */
};
