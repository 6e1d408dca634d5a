/* SPDX-License-Identifier: Apache-2.0 */
/* Dense layer by CBLAS. x [N, K], w [O, K], b [O], y [N, O]. */
#include <cblas.h>
#include <string.h>

#include "backend/portable/portable.h"

static void forward(const sh_portable_call *call)
{
    const float *x = call->in[0], *w = call->in[1], *b = call->in_count > 2 ? call->in[2] : NULL;
    float *y = call->out[0];
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1],
                 O = call->out_type[0].shape.dim[1];
    for (size_t n = 0; n < N && b != NULL; n++)
        memcpy(y + n * O, b, O * sizeof *b);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)N, (int)O, (int)K, 1.0f, x, (int)K, w,
                (int)K, b != NULL ? 1.0f : 0.0f, y, (int)O);
}

const sh_portable_def sh_portable_linear = {.run = forward};

static void grad_input(const sh_portable_call *call)
{
    const float *dy = call->in[0], *w = call->in[1];
    const size_t N = call->in_type[0].shape.dim[0], O = call->in_type[0].shape.dim[1],
                 K = call->in_type[1].shape.dim[1];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)N, (int)K, (int)O, 1.0f, dy, (int)O,
                w, (int)K, 0.0f, call->out[0], (int)K);
}

const sh_portable_def sh_portable_linear_grad_input = {.run = grad_input};

static void grad_weight(const sh_portable_call *call)
{
    const float *x = call->in[0], *dy = call->in[1];
    float *db = call->out_count > 1 ? call->out[1] : NULL;
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1],
                 O = call->in_type[1].shape.dim[1];
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)O, (int)K, (int)N, 1.0f, dy, (int)O,
                x, (int)K, 0.0f, call->out[0], (int)K);
    if (db == NULL)
        return;
    memset(db, 0, O * sizeof *db);
    for (size_t n = 0; n < N; n++)
        for (size_t o = 0; o < O; o++)
            db[o] += dy[n * O + o];
}

const sh_portable_def sh_portable_linear_grad_weight = {.run = grad_weight};
