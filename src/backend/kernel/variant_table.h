/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of one variant. Its file says the table's name, NAME as a string and RUNS, whether this
 * processor has what the file is compiled for, and includes this.
 */
#include "backend/kernel/depthwise_loops.h"
#include "backend/kernel/kernels.h"
#include "backend/kernel/product_loops.h"

static bool runs(void)
{
    return RUNS;
}

const sh_kernels TABLE = {
    .name = NAME,
    .runs = runs,
#if defined(VEC_EMULATES)
    .emulates = true,
#endif
    .product = product,
    .depthwise_forward = depthwise_forward,
    .depthwise_input = depthwise_input,
    .depthwise_weight = depthwise_weight,
};
