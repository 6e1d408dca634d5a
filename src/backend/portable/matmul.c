/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by CBLAS. a [B, M, K], b [B, K, N], y [B, M, N]; B is 1 for single matrices. */
#include <cblas.h>

#include "backend/portable/portable.h"

static void matmul(const sh_portable_call *call)
{
    const bool ta = call->attributes->transposed[0], tb = call->attributes->transposed[1];
    const sh_shape *a_shape = &call->in_type[0].shape, *y_shape = &call->out_type[0].shape;
    const size_t rank = y_shape->rank, B = rank == 3 ? y_shape->dim[0] : 1;
    const size_t M = y_shape->dim[rank - 2], N = y_shape->dim[rank - 1];
    const size_t K = a_shape->dim[ta ? rank - 2 : rank - 1];
    const float *a = call->in[0], *b = call->in[1];
    float *y = call->out[0];
    for (size_t i = 0; i < B; i++, a += M * K, b += K * N, y += M * N)
        cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                    (int)M, (int)N, (int)K, 1.0f, a, (int)(ta ? M : K), b, (int)(tb ? K : N), 0.0f,
                    y, (int)N);
}

const sh_portable_def sh_portable_matmul = {.run = matmul};
