/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/fold.h"

#include <string.h>

#include "onnx/fold_work.h"

static const struct {
    const char *op;
    sh_status (*fold)(const sh_fold_work *w);
} folds[] = {
    {"Abs", sh_fold_one},
    {"Add", sh_fold_add},
    {"And", sh_fold_and},
    {"Cast", sh_fold_cast},
    {"Ceil", sh_fold_one},
    {"Concat", sh_fold_concat},
    {"Constant", sh_fold_constant},
    {"ConstantOfShape", sh_fold_constant_of_shape},
    {"CumSum", sh_fold_cumsum},
    {"Div", sh_fold_div},
    {"Equal", sh_fold_equal},
    {"Exp", sh_fold_one},
    {"Expand", sh_fold_expand},
    {"Flatten", sh_fold_flatten},
    {"Floor", sh_fold_one},
    {"Gather", sh_fold_gather},
    {"GatherElements", sh_fold_gather_elements},
    {"Greater", sh_fold_greater},
    {"GreaterOrEqual", sh_fold_greater_or_equal},
    {"Identity", sh_fold_identity},
    {"Less", sh_fold_less},
    {"LessOrEqual", sh_fold_less_or_equal},
    {"Log", sh_fold_one},
    {"Max", sh_fold_max},
    {"Min", sh_fold_min},
    {"Mod", sh_fold_mod},
    {"Mul", sh_fold_mul},
    {"Neg", sh_fold_one},
    {"Not", sh_fold_not},
    {"Or", sh_fold_or},
    {"Pad", sh_fold_pad},
    {"Pow", sh_fold_pow},
    {"Range", sh_fold_range},
    {"Reciprocal", sh_fold_one},
    {"ReduceMax", sh_fold_reduce},
    {"ReduceMin", sh_fold_reduce},
    {"ReduceProd", sh_fold_reduce},
    {"ReduceSum", sh_fold_reduce},
    {"Reshape", sh_fold_reshape},
    {"ScatterND", sh_fold_scatter_nd},
    {"Slice", sh_fold_slice},
    {"Sqrt", sh_fold_one},
    {"Squeeze", sh_fold_squeeze},
    {"Sub", sh_fold_sub},
    {"Sum", sh_fold_sum},
    {"Tile", sh_fold_tile},
    {"Transpose", sh_fold_transpose},
    {"Trilu", sh_fold_trilu},
    {"Unsqueeze", sh_fold_unsqueeze},
    {"Where", sh_fold_where},
    {"Xor", sh_fold_xor},
};

bool sh_onnx_folds(const char *op)
{
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (strcmp(folds[i].op, op) == 0)
            return true;
    return false;
}

sh_status sh_onnx_fold(sh_onnx_constant *out, size_t out_count, sh_onnx_node *node,
                       const sh_onnx_constant *const *in, size_t in_count, const sh_onnx *model,
                       sh_onnx_store *store)
{
    const sh_fold_work w = {node, in, in_count, out, out_count, model, store};
    if (out_count != 1 || ((in_count == 0 || in[0] == NULL) && strcmp(node->op, "Constant") != 0))
        return sh_fail(SH_INVALID, "%zu inputs and %zu outputs", in_count, out_count);
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (strcmp(folds[i].op, node->op) == 0) {
            SH_TRY(folds[i].fold(&w));
            out->derived = false;
            for (size_t j = 0; j < in_count; j++)
                out->derived |= in[j] != NULL && in[j]->derived;
            return sh_onnx_node_status(node);
        }
    return sh_fail(SH_UNSUPPORTED, "it cannot be evaluated");
}
