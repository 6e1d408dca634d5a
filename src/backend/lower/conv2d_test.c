/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares convolutions of random geometry with their definition (docs/arithmetic.md), bit by bit,
 * in every variant.
 */
#include <math.h>
#include <stdlib.h>

#include "backend/kernel/kernels.h"
#include "backend/program.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/test.h"
#include "graph/graph.h"

#define CASES 150

static sh_random numbers;

static size_t between(size_t least, size_t most)
{
    return least + (size_t)(sh_random_unit(&numbers) * (float)(most - least + 1));
}

static void fill(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = between(0, 5) == 0
                        ? 0.0f
                        : ldexpf(sh_random_unit(&numbers) - 0.5f, (int)between(0, 2) * 30 - 60);
}

/* x [N, G C, H, W], w [G O, C, R, S], y [N, G O, P, Q]. */
typedef struct problem {
    size_t N, G, C, O, in[2], kernel[2], out[2];
    sh_attributes a;
    bool depthwise;
    float *x, *w, *b, *dy;
} problem;

static size_t count_x(const problem *p)
{
    return p->N * p->G * p->C * p->in[0] * p->in[1];
}

static size_t count_w(const problem *p)
{
    return p->G * p->O * p->C * p->kernel[0] * p->kernel[1];
}

static size_t count_y(const problem *p)
{
    return p->N * p->G * p->O * p->out[0] * p->out[1];
}

static float *new_numbers(size_t count)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    fill(values, count);
    return values;
}

static problem any_problem(void)
{
    problem p = {.N = between(1, 3), .G = 1, .C = between(1, 5), .O = between(1, 40)};
    const size_t kind = between(0, 3);
    if (kind == 0)
        p.G = between(2, 3);
    if (kind == 1)
        p = (problem){.N = p.N, .G = between(2, 40), .C = 1, .O = 1, .depthwise = true};
    p.a.groups = p.G;
    for (int i = 0; i < 2; i++) {
        p.kernel[i] = between(1, 4);
        p.a.stride[i] = between(1, 3);
        p.a.dilation[i] = between(1, 2);
        const size_t reach = (p.kernel[i] - 1) * p.a.dilation[i];
        p.a.padding[i] = between(0, reach);
        p.a.end_padding[i] = between(0, reach);
        p.in[i] = reach + between(1, 14);
        p.out[i] = (p.a.padding[i] + p.in[i] + p.a.end_padding[i] - reach - 1) / p.a.stride[i] + 1;
    }
    p.x = new_numbers(count_x(&p));
    p.w = new_numbers(count_w(&p));
    p.b = new_numbers(p.G * p.O);
    p.dy = new_numbers(count_y(&p));
    return p;
}

static void release(problem *p)
{
    free(p->x);
    free(p->w);
    free(p->b);
    free(p->dy);
}

/* *seen is false outside, except in columns outside of a `framed` plane, which are +0. */
static float at(const float *plane, size_t rows, size_t columns, size_t h, size_t w, bool framed,
                bool *seen)
{
    *seen = h < rows && (w < columns || framed);
    return h < rows && w < columns ? plane[h * columns + w] : 0.0f;
}

static void expect_y(const problem *p, float *y)
{
    const sh_attributes *a = &p->a;
    for (size_t n = 0; n < p->N; n++)
        for (size_t o = 0; o < p->G * p->O; o++)
            for (size_t i = 0; i < p->out[0] * p->out[1]; i++, y++) {
                const size_t out_h = i / p->out[1], out_w = i % p->out[1];
                *y = 0.0f;
                for (size_t r = 0; r < p->kernel[0]; r++)
                    for (size_t s = 0; s < p->kernel[1]; s++)
                        for (size_t c = 0; c < p->C; c++) {
                            bool seen;
                            const size_t channel = o / p->O * p->C + c;
                            const float x = at(
                                p->x + (n * p->G * p->C + channel) * p->in[0] * p->in[1], p->in[0],
                                p->in[1], out_h * a->stride[0] + r * a->dilation[0] - a->padding[0],
                                out_w * a->stride[1] + s * a->dilation[1] - a->padding[1], false,
                                &seen);
                            const float w =
                                p->w[((o * p->C + c) * p->kernel[0] + r) * p->kernel[1] + s];
                            *y = seen ? fmaf(x, w, *y) : *y;
                        }
                *y += p->b[o];
            }
}

/* Taps descend, so that positions of dy ascend. */
static void expect_dx(const problem *p, float *dx)
{
    const sh_attributes *a = &p->a;
    for (size_t n = 0; n < p->N; n++)
        for (size_t channel = 0; channel < p->G * p->C; channel++)
            for (size_t i = 0; i < p->in[0] * p->in[1]; i++, dx++) {
                const size_t h = i / p->in[1] + a->padding[0], w = i % p->in[1] + a->padding[1];
                *dx = 0.0f;
                for (size_t r = p->kernel[0]; r-- > 0;)
                    for (size_t s = p->kernel[1]; s-- > 0;)
                        for (size_t k = 0; k < p->O; k++) {
                            const size_t back_h = h - r * a->dilation[0];
                            const size_t back_w = w - s * a->dilation[1];
                            const size_t o = channel / p->C * p->O + k;
                            bool seen;
                            /* Negative numbers wrap, so adds multiples of the stride. */
                            if ((h + a->stride[0] * p->kernel[0] * 2 - r * a->dilation[0]) %
                                        a->stride[0] !=
                                    0 ||
                                (w + a->stride[1] * p->kernel[1] * 2 - s * a->dilation[1]) %
                                        a->stride[1] !=
                                    0)
                                continue;
                            const size_t row =
                                h < r * a->dilation[0] ? SIZE_MAX : back_h / a->stride[0];
                            const size_t column =
                                w < s * a->dilation[1] ? SIZE_MAX : back_w / a->stride[1];
                            const float dy =
                                at(p->dy + (n * p->G * p->O + o) * p->out[0] * p->out[1], p->out[0],
                                   p->out[1], row, column, false, &seen);
                            const float weight =
                                p->w[((o * p->C + channel % p->C) * p->kernel[0] + r) *
                                         p->kernel[1] +
                                     s];
                            *dx = seen ? fmaf(dy, weight, *dx) : *dx;
                        }
            }
}

static void expect_dw(const problem *p, float *dw)
{
    const sh_attributes *a = &p->a;
    const size_t taps = p->kernel[0] * p->kernel[1];
    for (size_t o = 0; o < p->G * p->O; o++)
        for (size_t c = 0; c < p->C; c++)
            for (size_t tap = 0; tap < taps; tap++, dw++) {
                *dw = 0.0f;
                for (size_t n = 0; n < p->N; n++)
                    for (size_t i = 0; i < p->out[0] * p->out[1]; i++) {
                        bool seen;
                        const size_t channel = o / p->O * p->C + c;
                        const float x = at(p->x + (n * p->G * p->C + channel) * p->in[0] * p->in[1],
                                           p->in[0], p->in[1],
                                           i / p->out[1] * a->stride[0] +
                                               tap / p->kernel[1] * a->dilation[0] - a->padding[0],
                                           i % p->out[1] * a->stride[1] +
                                               tap % p->kernel[1] * a->dilation[1] - a->padding[1],
                                           !p->depthwise, &seen);
                        const float dy = p->dy[(n * p->G * p->O + o) * p->out[0] * p->out[1] + i];
                        *dw = seen ? fmaf(x, dy, *dw) : *dw;
                    }
            }
}

static void compute(const problem *p, const char *variant, float *result[3])
{
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    assert_ok(sh_graph_new(&graph));
    const sh_type x_type = {SH_F32,
                            sh_shape_of(4, (size_t[]){p->N, p->G * p->C, p->in[0], p->in[1]})};
    const sh_type w_type = {
        SH_F32, sh_shape_of(4, (size_t[]){p->G * p->O, p->C, p->kernel[0], p->kernel[1]})};
    const sh_type b_type = {SH_F32, sh_shape_of(1, (size_t[]){p->G * p->O})};
    const sh_type y_type = {SH_F32,
                            sh_shape_of(4, (size_t[]){p->N, p->G * p->O, p->out[0], p->out[1]})};
    const sh_value_id x = sh_graph_input(graph, x_type), w = sh_graph_input(graph, w_type);
    const sh_value_id b = sh_graph_input(graph, b_type), dy = sh_graph_input(graph, y_type);
    sh_attributes input = p->a, weight = p->a;
    input.shape = x_type.shape;
    weight.shape = w_type.shape;
    weight.no_bias = true;
    sh_graph_output(graph,
                    sh_graph_add(graph, SH_OP_conv2d, &p->a, (sh_value_id[]){x, w, b}, NULL));
    sh_graph_output(graph, sh_graph_add(graph, SH_OP_conv2d_grad_input, &input,
                                        (sh_value_id[]){dy, w, SH_NO_VALUE}, NULL));
    sh_graph_output(graph, sh_graph_add(graph, SH_OP_conv2d_grad_weight, &weight,
                                        (sh_value_id[]){x, dy}, NULL));
    assert_ok(sh_graph_status(graph));
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, variant));
    assert_ok(sh_program_compile(&program, graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program) + 1, "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, NULL));
    memcpy(sh_execution_input(execution, 0), p->x, count_x(p) * sizeof *p->x);
    memcpy(sh_execution_input(execution, 1), p->w, count_w(p) * sizeof *p->w);
    memcpy(sh_execution_input(execution, 2), p->b, p->G * p->O * sizeof *p->b);
    memcpy(sh_execution_input(execution, 3), p->dy, count_y(p) * sizeof *p->dy);
    assert_ok(sh_execution_prepare(execution));
    assert_ok(sh_execution_run(execution, NULL, NULL));
    const size_t counts[3] = {count_y(p), count_x(p), count_w(p)};
    for (size_t i = 0; i < 3; i++)
        memcpy(result[i], sh_execution_output(execution, i), counts[i] * sizeof *result[i]);
    sh_execution_free(execution);
    sh_program_free(program);
    sh_graph_free(graph);
    free(lane);
    free(shared);
}

static void every_variant_follows_the_definition(void **state)
{
    static const char *const names[3] = {"y", "dx", "dw"};
    (void)state;
    numbers = sh_random_for(2, SH_RANDOM_TEST, 0, 0);
    for (int i = 0; i < CASES; i++) {
        problem p = any_problem();
        const size_t counts[3] = {count_y(&p), count_x(&p), count_w(&p)};
        float *expected[3], *found[3];
        for (size_t j = 0; j < 3; j++) {
            expected[j] = new_numbers(counts[j]);
            found[j] = new_numbers(counts[j]);
        }
        expect_y(&p, expected[0]);
        expect_dx(&p, expected[1]);
        expect_dw(&p, expected[2]);
        for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
            if (!sh_variant_runs((*all)->variant))
                continue;
            compute(&p, (*all)->name, found);
            for (size_t j = 0; j < 3; j++)
                for (size_t e = 0; e < counts[j]; e++)
                    if (memcmp(&found[j][e], &expected[j][e], sizeof(float)) != 0)
                        fail_msg("%s: case %d: element %zu of %s is %a, not %a", (*all)->name, i, e,
                                 names[j], (double)found[j][e], (double)expected[j][e]);
        }
        for (size_t j = 0; j < 3; j++) {
            free(expected[j]);
            free(found[j]);
        }
        release(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_follows_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
