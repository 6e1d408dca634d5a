/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/op.h"

static const sh_op_def *const definitions[SH_OP_COUNT] = {
#define SH_OP(name, summary) [SH_OP_##name] = &sh_op_##name,
#include "graph/ops.def"
#undef SH_OP
};

const sh_op_def *sh_op_about(sh_op op)
{
    return definitions[op];
}

uint32_t sh_op_outputs(sh_op op, const sh_attributes *attributes)
{
    const sh_op_def *def = sh_op_about(op);
    return def->outputs == NULL ? def->output_count : def->outputs(attributes);
}

sh_cost sh_op_cost(const sh_node *node, const sh_type *in, const sh_type *out)
{
    const sh_op_def *def = sh_op_about(node->op);
    sh_cost cost = {0};
    for (uint32_t i = 0; i < node->input_count; i++)
        cost.bytes += (double)sh_type_bytes(&in[i]);
    for (uint32_t i = 0; i < node->output_count; i++)
        cost.bytes += (double)sh_type_bytes(&out[i]);
    cost.flops = def->flops != NULL ? def->flops(&node->attributes, in, out)
                                    : def->each_flops * (double)sh_shape_count(&in[0].shape);
    return cost;
}

sh_status sh_op_expect(const char *op, const char *input, const sh_type *type, sh_dtype dtype,
                       size_t rank)
{
    char text[SH_SHAPE_TEXT];
    if (type->dtype != dtype)
        return sh_fail(SH_INVALID, "%s: %s is %s, expected %s", op, input,
                       sh_dtype_text(type->dtype), sh_dtype_text(dtype));
    if (type->shape.rank != rank)
        return sh_fail(SH_INVALID, "%s: %s is %s, expected %zu dimensions", op, input,
                       sh_shape_print(&type->shape, text), rank);
    return sh_shape_check(&type->shape);
}

sh_status sh_op_expect_same(const char *op, const char *a_name, const sh_type *a,
                            const char *b_name, const sh_type *b)
{
    char a_text[SH_SHAPE_TEXT], b_text[SH_SHAPE_TEXT];
    if (sh_type_equal(a, b))
        return SH_OK;
    return sh_fail(SH_INVALID, "%s: %s is %s %s, but %s is %s %s", op, a_name,
                   sh_dtype_text(a->dtype), sh_shape_print(&a->shape, a_text), b_name,
                   sh_dtype_text(b->dtype), sh_shape_print(&b->shape, b_text));
}
