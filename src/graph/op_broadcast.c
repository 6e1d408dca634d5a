/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a repeated value is the sum over its copies. For equal shapes add, subtract and
 * multiply are faster.
 */
#include "graph/formulas.h"
#include "graph/graph.h"

static sh_status infer(const sh_op_types *t)
{
    const sh_shape *a = &t->in[0].shape, *b = &t->in[1].shape;
    char a_text[SH_SHAPE_TEXT], b_text[SH_SHAPE_TEXT];
    SH_TRY(sh_op_expect(t->op, "a", &t->in[0], SH_F32, a->rank));
    SH_TRY(sh_op_expect(t->op, "b", &t->in[1], SH_F32, b->rank));
    if (t->attributes->function >= SH_PAIR_COUNT)
        return sh_fail(SH_INVALID, "broadcast: function %u is unknown", t->attributes->function);
    t->out[0] = a->rank < b->rank ? t->in[1] : t->in[0];
    for (size_t i = 1; i <= a->rank && i <= b->rank; i++) { /* from the last dimension */
        const size_t m = a->dim[a->rank - i], n = b->dim[b->rank - i];
        if (m != n && m != 1 && n != 1)
            return sh_fail(
                SH_INVALID,
                "broadcast: %s and %s do not fit: dimensions must be equal, or one of them 1",
                sh_shape_print(a, a_text), sh_shape_print(b, b_text));
        t->out[0].shape.dim[t->out[0].shape.rank - i] = m == 1 ? n : m;
    }
    return sh_shape_check(&t->out[0].shape);
}

static sh_value_id pair(sh_graph *graph, sh_pair_function function, sh_value_id a, sh_value_id b)
{
    const sh_attributes attributes = {.function = function};
    return sh_graph_add(graph, SH_OP_broadcast, &attributes, (sh_value_id[]){a, b}, NULL);
}

/* The gradient of a, before the sum over copies. SH_NO_VALUE if there is none. */
static sh_value_id part_of_a(sh_graph *g, const sh_node *node, sh_value_id dy)
{
    const sh_value_id a = node->in[0], b = node->in[1];
    switch ((sh_pair_function)node->attributes.function) {
    case SH_PAIR_ADD:
    case SH_PAIR_SUBTRACT:
        return dy;
    case SH_PAIR_LARGER:
        return pair(g, SH_PAIR_DROP, dy, pair(g, SH_PAIR_GREATER, b, a));
    case SH_PAIR_SMALLER:
        return pair(g, SH_PAIR_DROP, dy, pair(g, SH_PAIR_GREATER, a, b));
    case SH_PAIR_MULTIPLY:
    case SH_PAIR_DIVIDE:
    case SH_PAIR_KEEP:
    case SH_PAIR_DROP:
        return pair(g, node->attributes.function, dy, b);
    case SH_PAIR_PRELU:
        return pair(g, SH_PAIR_MULTIPLY, dy, pair(g, SH_PAIR_PRELU_SLOPE, a, b));
    default:
        return SH_NO_VALUE;
    }
}

/* The same for b. For subtract and divide the sign is inverted. */
static sh_value_id part_of_b(sh_graph *g, const sh_node *node, sh_value_id dy)
{
    const sh_value_id a = node->in[0], b = node->in[1];
    switch ((sh_pair_function)node->attributes.function) {
    case SH_PAIR_ADD:
    case SH_PAIR_SUBTRACT:
        return dy;
    case SH_PAIR_LARGER:
        return pair(g, SH_PAIR_KEEP, dy, pair(g, SH_PAIR_GREATER, b, a));
    case SH_PAIR_SMALLER:
        return pair(g, SH_PAIR_KEEP, dy, pair(g, SH_PAIR_GREATER, a, b));
    case SH_PAIR_MULTIPLY:
        return pair(g, SH_PAIR_MULTIPLY, dy, a);
    case SH_PAIR_DIVIDE:
        return pair(g, SH_PAIR_DIVIDE, pair(g, SH_PAIR_MULTIPLY, dy, node->out[0]), b);
    case SH_PAIR_PRELU:
        return pair(g, SH_PAIR_PRELU_BELOW, dy, a);
    default:
        return SH_NO_VALUE;
    }
}

static void grad(const sh_op_backward *b)
{
    const uint32_t function = b->node->attributes.function;
    for (int i = 1; i >= 0; i--) { /* b first: it is more likely a parameter */
        sh_value_id part = SH_NO_VALUE;
        if (b->wanted[i])
            part = (i == 0 ? part_of_a : part_of_b)(b->graph, b->node, b->dout[0]);
        if (part == SH_NO_VALUE)
            continue;
        const sh_attributes to = {.function = SH_REDUCE_SUM,
                                  .shape = sh_graph_type(b->graph, b->node->in[i])->shape};
        if (!sh_shape_equal(&sh_graph_type(b->graph, part)->shape, &to.shape))
            part = sh_graph_add(b->graph, SH_OP_reduce, &to, &part, NULL);
        if (i == 1 && (function == SH_PAIR_SUBTRACT || function == SH_PAIR_DIVIDE))
            part = sh_graph_add(b->graph, SH_OP_negate, NULL, &part, NULL);
        b->din[i] = part;
    }
}

const sh_op_def sh_op_broadcast = {
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer,
    .grad = grad,
    .each_flops = 1,
};
