/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that the setting `function` of an operator selects. docs/arithmetic.md defines each
 * of them.
 *
 *     const sh_attributes of = {.function = SH_PAIR_DIVIDE};
 *     y = sh_graph_add(graph, SH_OP_broadcast, &of, (sh_value_id[]){a, b}, NULL);
 *
 * Threads: any.
 */
#ifndef SHOAL_GRAPH_FORMULAS_H
#define SHOAL_GRAPH_FORMULAS_H

/* unary: y = f(x). Names in brackets are the settings `numbers`. */
typedef enum sh_unary {
    SH_UNARY_EXP,
    SH_UNARY_LOG,
    SH_UNARY_SQRT,
    SH_UNARY_RECIPROCAL,
    SH_UNARY_ABS,
    SH_UNARY_SOFTPLUS, /* log(1 + e^x) */
    SH_UNARY_ELU,      /* [alpha] x > 0 ? x : alpha (e^x - 1) */
    SH_UNARY_MISH,     /* x tanh(softplus x) */
    SH_UNARY_ERF,
    SH_UNARY_POWER,        /* [p] x^p */
    SH_UNARY_CLIP,         /* [low, high] */
    SH_UNARY_HARD_SIGMOID, /* [alpha, beta] alpha x + beta, clipped to [0, 1] */
    SH_UNARY_LINE,         /* [alpha, beta] alpha x + beta */
    SH_UNARY_COUNT
} sh_unary;

/* broadcast: y = f(a, b). Conditions are numbers: 0 is false; results are 0 or 1. */
typedef enum sh_pair_function {
    SH_PAIR_ADD,
    SH_PAIR_SUBTRACT,
    SH_PAIR_MULTIPLY,
    SH_PAIR_DIVIDE,
    SH_PAIR_LARGER,      /* if equal: a, which then gets the gradient */
    SH_PAIR_SMALLER,     /* likewise */
    SH_PAIR_KEEP,        /* b ? a : 0; no gradient to b */
    SH_PAIR_DROP,        /* b ? 0 : a; no gradient to b */
    SH_PAIR_GREATER,     /* a > b; no gradient */
    SH_PAIR_EQUAL,       /* a == b; no gradient */
    SH_PAIR_PRELU,       /* a > 0 ? a : a b */
    SH_PAIR_PRELU_SLOPE, /* a > 0 ? 1 : b; no gradient */
    SH_PAIR_PRELU_BELOW, /* b > 0 ? 0 : a b; no gradient */
    SH_PAIR_COUNT
} sh_pair_function;

/* reduce: a function over dimensions. */
typedef enum sh_reduction {
    SH_REDUCE_SUM,
    SH_REDUCE_MEAN,    /* for expand: divides by the number of copies */
    SH_REDUCE_LARGEST, /* the gradient goes to the first maximum */
    SH_REDUCE_COUNT
} sh_reduction;

#endif
