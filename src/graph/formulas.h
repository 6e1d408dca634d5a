/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that an operator with the setting `function` chooses from. docs/arithmetic.md says
 * what each computes.
 *
 *     const sh_attributes of = {.function = SH_PAIR_DIVIDE};
 *     y = sh_graph_add(graph, SH_OP_broadcast, &of, (sh_value_id[]){a, b}, NULL);
 *
 * Threads: any; these are numbers.
 */
#ifndef SHOAL_GRAPH_FORMULAS_H
#define SHOAL_GRAPH_FORMULAS_H

/* broadcast: y from a and b. Conditions are numbers: 0 is false, and true is 1 as a result. */
typedef enum sh_pair_function {
    SH_PAIR_ADD,
    SH_PAIR_SUBTRACT,
    SH_PAIR_MULTIPLY,
    SH_PAIR_DIVIDE,
    SH_PAIR_LARGER,      /* a where they are equal: it gets the gradient */
    SH_PAIR_SMALLER,     /* likewise */
    SH_PAIR_KEEP,        /* b ? a : 0; no gradient to b */
    SH_PAIR_DROP,        /* b ? 0 : a; no gradient to b */
    SH_PAIR_GREATER,     /* a > b; no gradient */
    SH_PAIR_EQUAL,       /* a == b; no gradient */
    SH_PAIR_PRELU,       /* a > 0 ? a : a b */
    SH_PAIR_PRELU_SLOPE, /* a > 0 ? 1 : b; no gradient, nor has the next */
    SH_PAIR_PRELU_BELOW, /* b > 0 ? 0 : a b */
    SH_PAIR_COUNT
} sh_pair_function;

/* reduce. */
typedef enum sh_reduction {
    SH_REDUCE_SUM,
    SH_REDUCE_MEAN,    /* as a setting of expand: divides by the number of copies */
    SH_REDUCE_LARGEST, /* the gradient goes to the first of the largest */
    SH_REDUCE_COUNT
} sh_reduction;

#endif
