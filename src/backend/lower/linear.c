/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x [N, K], w [O, K], b [O], y [N, O]. Sums are over
 *
 *     y  K, ascending; then the bias is added      dx  O, ascending      dw  N, ascending
 *
 * Samples are fewer than weights, so the forward pass transposes the samples, and vectors run
 * across them.
 */
#include <string.h>

#include "backend/lower/lowering.h"

static size_t turned_x(size_t N, size_t K)
{
    return sh_panel_floats(K, N);
}

static size_t forward_scratch(const sh_attributes *attributes, const sh_type *in,
                              const sh_type *out)
{
    const size_t N = in[0].shape.dim[0], K = in[0].shape.dim[1], O = out[0].shape.dim[1];
    (void)attributes;
    return (turned_x(N, K) + O * N) * sizeof(float);
}

static void turn_samples(const sh_kernels *kernels, size_t N, size_t K, const float *x, float *to)
{
    const size_t panel = sh_panel_width(N);
    if (N % panel > 0)
        memset(to + N / panel * K * panel, 0, K * panel * sizeof *to);
    for (size_t n = 0; n < N; n += panel, to += K * panel)
        kernels->transpose(N - n < panel ? N - n : panel, K, x + n * K, K, to, panel);
}

static void forward(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1],
                 O = call->out_type[0].shape.dim[1], panel = sh_panel_width(N);
    const float *const b = call->in_count > 2 ? call->in[2] : NULL;
    float *const samples = call->scratch, *const y = samples + turned_x(N, K);
    turn_samples(call->kernels, N, K, call->in[0], samples);
    call->kernels->product(&(sh_matrix_product){
        .a = call->in[1],
        .a_row = K,
        .a_step = 1,
        .segments = 1,
        .length = K,
        .b = samples,
        .b_row = panel,
        .b_panel = K * panel,
        .b_padded = true,
        .c = y,
        .c_row = N,
        .lines = 1,
        .rows = O,
        .columns = N,
    });
    for (size_t o = 0; o < O && b != NULL; o++)
        for (size_t n = 0; n < N; n++)
            y[o * N + n] += b[o];
    call->kernels->transpose(O, N, y, N, call->out[0], O);
}

const sh_lowering sh_lower_linear = {.run = forward, .scratch_bytes = forward_scratch};

/* c [rows, columns] = a b; a is [rows, K], or if a_step > 0, [K, rows] with that row stride. */
static void multiply(const sh_kernels *kernels, size_t rows, size_t columns, size_t K,
                     const float *a, size_t a_step, const float *b, float *c)
{
    kernels->product(&(sh_matrix_product){
        .a = a,
        .a_row = a_step > 0 ? 1 : K,
        .a_step = a_step > 0 ? a_step : 1,
        .segments = 1,
        .length = K,
        .b = b,
        .b_row = columns,
        .b_panel = SH_PANEL,
        .c = c,
        .c_row = columns,
        .lines = 1,
        .rows = rows,
        .columns = columns,
    });
}

static void grad_input(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], O = call->in_type[0].shape.dim[1],
                 K = call->in_type[1].shape.dim[1];
    multiply(call->kernels, N, K, O, call->in[0], 0, call->in[1], call->out[0]);
}

const sh_lowering sh_lower_linear_grad_input = {.run = grad_input};

/* Computes some rows of dw, and db with the first call. */
static void grad_weight(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1],
                 O = call->in_type[1].shape.dim[1];
    const float *const dy = call->in[1];
    multiply(call->kernels, call->slab.count, K, N, dy + call->slab.first, O, call->in[0],
             call->out[0]);
    if (call->out_count > 1 && sh_call_begins(call))
        sh_sum_rows(call->kernels->variant, N, O, dy, call->out[1]);
}

const sh_lowering sh_lower_linear_grad_weight = {.run = grad_weight, .by_row = true};

/* a [B, M, K], b [B, K, N], y [B, M, N]; B is 1 for single matrices. */
typedef struct matmul {
    size_t B, M, N, K;
} matmul;

static matmul measure(const sh_attributes *attributes, const sh_type *in, const sh_type *out)
{
    const sh_shape *a = &in[0].shape, *y = &out[0].shape;
    const size_t rank = y->rank;
    return (matmul){
        .B = rank == 3 ? y->dim[0] : 1,
        .M = y->dim[rank - 2],
        .N = y->dim[rank - 1],
        .K = a->dim[attributes->transposed[0] ? rank - 2 : rank - 1],
    };
}

static size_t matmul_scratch(const sh_attributes *attributes, const sh_type *in, const sh_type *out)
{
    const matmul m = measure(attributes, in, out);
    return attributes->transposed[1] ? m.K * m.N * sizeof(float) : 0;
}

static void multiply_batch(const sh_call *call)
{
    const matmul m = measure(call->attributes, call->in_type, call->out_type);
    const float *a = call->in[0], *b = call->in[1];
    float *y = call->out[0], *const turned = call->scratch;
    for (size_t i = 0; i < m.B; i++, a += m.M * m.K, b += m.K * m.N, y += m.M * m.N) {
        if (call->attributes->transposed[1])
            call->kernels->transpose(m.N, m.K, b, m.K, turned, m.N);
        multiply(call->kernels, m.M, m.N, m.K, a, call->attributes->transposed[0] ? m.M : 0,
                 call->attributes->transposed[1] ? turned : b, y);
    }
}

const sh_lowering sh_lower_matmul = {.run = multiply_batch, .scratch_bytes = matmul_scratch};
