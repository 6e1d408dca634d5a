/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/op.h"

#define SH_OP(name, inputs, outputs, summary) extern const sh_op_def sh_op_##name;
#include "graph/ops.def"
#undef SH_OP

static const sh_op_entry entries[SH_OP_COUNT] = {
#define SH_OP(name, inputs, outputs, summary)                                                      \
    [SH_OP_##name] = {#name, inputs, outputs, &sh_op_##name},
#include "graph/ops.def"
#undef SH_OP
};

const sh_op_entry *sh_op_about(sh_op op)
{
    return &entries[op];
}

uint32_t sh_op_outputs(sh_op op, const sh_attributes *attributes)
{
    const sh_op_entry *about = sh_op_about(op);
    return about->output_count - (about->def->gives_bias && attributes->no_bias);
}

sh_status sh_op_infer(sh_op op, const sh_attributes *attributes, const sh_type *in, uint32_t count,
                      sh_type *out)
{
    const sh_op_entry *about = sh_op_about(op);
    return about->def->infer(&(sh_op_types){about->name, attributes, in, count, out});
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
