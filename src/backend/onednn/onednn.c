/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend's table. The library spreads a primitive over as many threads as OpenMP grants the
 * calling one, both when it generates the primitive (which decides its blocking, and so its bits)
 * and when it runs it. Lanes are the parallelism here, so both happen with one thread.
 */
#include "backend/onednn/onednn.h"

#include <omp.h>

#include "backend/onednn/primitive.h"

typedef sh_status compile_op(sh_compiler *compiler, const sh_node *node, bool *taken);

static compile_op *const compilers[SH_OP_COUNT] = {
    [SH_OP_conv2d] = sh_onednn_conv2d,
    [SH_OP_conv2d_grad_input] = sh_onednn_conv2d,
    [SH_OP_conv2d_grad_weight] = sh_onednn_conv2d,
    [SH_OP_linear] = sh_onednn_linear,
    [SH_OP_linear_grad_input] = sh_onednn_linear,
    [SH_OP_linear_grad_weight] = sh_onednn_linear,
    [SH_OP_moments] = sh_onednn_norm,
    [SH_OP_batch_norm] = sh_onednn_norm,
    [SH_OP_batch_norm_grad] = sh_onednn_norm,
    [SH_OP_max_pool] = sh_onednn_max_pool,
    [SH_OP_max_pool_grad] = sh_onednn_max_pool_grad,
    [SH_OP_avg_pool] = sh_onednn_average,
    [SH_OP_avg_pool_grad] = sh_onednn_average_grad,
    [SH_OP_mean] = sh_onednn_average,
    [SH_OP_mean_grad] = sh_onednn_average_grad,
    [SH_OP_dropout] = sh_onednn_dropout,
    [SH_OP_concat] = sh_onednn_move,
    [SH_OP_slice] = sh_onednn_move,
    [SH_OP_pad] = sh_onednn_move,
};

static sh_status compile(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    *taken = false;
    if (compilers[node->op] == NULL)
        return SH_OK;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const sh_status status = compilers[node->op](compiler, node, taken);
    omp_set_num_threads(threads);
    return status;
}

static sh_status convert(sh_compiler *compiler, sh_value_id value, sh_buffer_id from,
                         const sh_layout *from_layout, sh_buffer_id to, const sh_layout *to_layout)
{
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const sh_status status = sh_onednn_convert(compiler, value, from, from_layout, to, to_layout);
    omp_set_num_threads(threads);
    return status;
}

static bool available(void)
{
    return sh_onednn_engine() != NULL;
}

static void enter_thread(void)
{
    omp_set_num_threads(1);
}

const sh_backend sh_onednn_backend = {
    .name = "onednn",
    .available = available,
    .enter_thread = enter_thread,
    .compile = compile,
    .same_layout = sh_onednn_same_layout,
    .convert = convert,
};
