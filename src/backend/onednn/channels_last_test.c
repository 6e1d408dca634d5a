/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators between convolutions, in the layout that these leave: the same numbers as portable's,
 * gradients included, and nothing converted on the way.
 */
#include <math.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

#include "backend/program_impl.h"
#include "base/random.h"
#include "base/test.h"

#define GRAIN 3

/* What follows a convolution of x [GRAIN, 16, side, side], with so many inputs, all the same. */
typedef struct between {
    sh_op op;
    size_t side;
    uint32_t copies;
    int more; /* instructions of its gradient beyond one */
    sh_attributes attributes;
} between;

static const between cases[] = {
    {.op = SH_OP_relu, .side = 6, .copies = 1},
    {SH_OP_concat, 6, 3, 4, {.axis = 1}}, /* three slices, and their sum */
    {SH_OP_concat, 5, 2, 2, {.axis = 2}},
    {SH_OP_concat, 5, 2, 2, {.axis = 3}},
    {SH_OP_slice, 7, 1, 0, {.before = {0, 3, 1, 0}, .after = {0, 1, 2, 3}}},
    {SH_OP_pad, 5, 1, 0, {.before = {0, 3, 1, 0}, .after = {0, 1, 2, 3}}},
    {SH_OP_dropout, 7, 1, 0, {.number = 0.25f, .layer = 1}}, /* its keys are given it */
    {SH_OP_avg_pool, 8, 1, 0, {.kernel = {2, 2}, .stride = {2, 2}}},
    {SH_OP_avg_pool, 7, 1, 0, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}},
    {SH_OP_avg_pool, 7, 1, 0, {.kernel = {1, 4}, .stride = {3, 2}, .padding = {0, 2}}},
};

#define CASES (sizeof cases / sizeof *cases)

/* It ends in a second convolution, or in the mean over the image. */
static sh_graph *build(const between *which, bool convolved, bool gradients)
{
    sh_graph *graph;
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_attributes conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
    const sh_attributes wide = {
        .stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}, .groups = 1};
    const sh_attributes whole = {.axis = 2, .axes = 2};
    assert_ok(sh_graph_new(&graph));
    const sh_type image = {SH_F32, sh_shape_of(4, (size_t[]){GRAIN, 16, which->side, which->side})};
    const sh_value_id x = sh_graph_input(graph, image);
    const sh_type first = {SH_F32, sh_shape_of(4, (size_t[]){24, 16, 3, 3})};
    const sh_value_id w = sh_graph_input(graph, first);
    const sh_value_id h =
        sh_graph_add(graph, SH_OP_conv2d, &wide, (sh_value_id[]){x, w, SH_NO_VALUE}, out);
    sh_value_id in[SH_MAX_INPUTS];
    for (uint32_t i = 0; i < SH_MAX_INPUTS; i++)
        in[i] = i < which->copies ? h : SH_NO_VALUE;
    if (which->op == SH_OP_dropout)
        in[1] = sh_graph_input(graph, (sh_type){SH_I32, sh_shape_of(2, (size_t[]){GRAIN, 2})});
    sh_value_id y = sh_graph_add(graph, which->op, &which->attributes, in, out);
    assert_ok(sh_graph_status(graph));
    if (convolved) {
        const size_t channels = sh_graph_type(graph, y)->shape.dim[1];
        const sh_type second = {SH_F32, sh_shape_of(4, (size_t[]){16, channels, 1, 1})};
        y = sh_graph_add(graph, SH_OP_conv2d, &conv,
                         (sh_value_id[]){y, sh_graph_input(graph, second), SH_NO_VALUE}, out);
    } else {
        y = sh_graph_add(graph, SH_OP_mean, &whole, &y, out);
    }
    sh_graph_output(graph, y);
    if (gradients) {
        const sh_value_id seed = sh_graph_input(graph, *sh_graph_type(graph, y));
        sh_graph_output(graph, sh_graph_gradient_of(graph, y, seed, x));
    }
    assert_ok(sh_graph_status(graph));
    return graph;
}

static sh_program *compile(const sh_graph *graph, const char *backend)
{
    sh_backend_list backends;
    sh_program *program;
    assert_ok(sh_backend_choose(&backends, backend));
    sh_backend_enter_thread(&backends);
    assert_ok(sh_program_compile(&program, graph, &backends));
    return program;
}

/* Keys are the bits of such numbers. */
static void fill(float *data, size_t count, uint32_t which)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = sh_random_unit(&random) - 0.5f;
}

/* Runs the graph and returns its outputs behind each other: owned. */
static float *results(const sh_graph *graph, const char *backend, size_t *count)
{
    sh_program *program = compile(graph, backend);
    sh_execution *execution;
    void *lane, *shared;
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, NULL));
    for (uint32_t i = 0; i < graph->input_count; i++)
        fill(sh_execution_input(execution, i),
             sh_shape_count(&sh_graph_type(graph, graph->inputs[i])->shape), i);
    assert_ok(sh_execution_run(execution, NULL, NULL));
    float *all = NULL;
    *count = 0;
    for (size_t i = 0; i < graph->output_count; i++) {
        const size_t some = sh_shape_count(&sh_graph_type(graph, graph->outputs[i])->shape);
        all = realloc(all, (*count + some) * sizeof *all);
        assert_non_null(all);
        memcpy(all + *count, sh_execution_output(execution, i), some * sizeof *all);
        *count += some;
    }
    sh_execution_free(execution);
    sh_program_free(program);
    free(lane);
    free(shared);
    return all;
}

static void numbers_are_those_of_portable(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * CASES; i++) {
        sh_graph *graph = build(&cases[i / 2], i % 2 == 0, true);
        size_t count;
        float *a = results(graph, "onednn", &count), *b = results(graph, "portable", &count);
        double scale = 1e-30, off = 0;
        for (size_t j = 0; j < count; j++) {
            scale = fmax(scale, fabs((double)b[j]));
            off = fmax(off, fabs((double)a[j] - (double)b[j]));
        }
        if (!(off <= 3e-6 * scale))
            fail_msg("case %zu (%s): %g away from portable", i, sh_op_about(cases[i / 2].op)->name,
                     off / scale);
        free(a);
        free(b);
        sh_graph_free(graph);
    }
}

static int count_work(const between *which, bool convolved, bool gradients)
{
    sh_graph *graph = build(which, convolved, gradients);
    sh_program *program = compile(graph, "onednn");
    int count = 0;
    for (size_t i = 0; i < program->instruction_count; i++)
        count += program->instructions[i].kernel != NULL;
    sh_program_free(program);
    sh_graph_free(graph);
    return count;
}

/* Has the library kernels for this processor's vectors? Below, it leaves most to portable. */
static bool has_wide_kernels(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
}

/* relu, which works in any layout, is the measure. */
static void nothing_is_converted(void **state)
{
    (void)state;
    if (!has_wide_kernels())
        skip_because("oneDNN has its wide kernels from AVX2 on");
    for (int gradients = 0; gradients < 2; gradients++) {
        const int convolved = count_work(&cases[0], true, gradients);
        const int averaged = count_work(&cases[0], false, gradients);
        for (size_t i = 1; i < CASES; i++) {
            const int more = gradients ? cases[i].more : 0;
            assert_int_equal(count_work(&cases[i], true, gradients), convolved + more);
            assert_int_equal(count_work(&cases[i], false, gradients), averaged + more);
        }
    }
    /* a convolution's operands, itself, relu, the mean: what comes out is plain already */
    assert_int_equal(count_work(&cases[0], false, false), 2 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_portable),
        cmocka_unit_test(nothing_is_converted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
