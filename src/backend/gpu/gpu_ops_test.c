/* SPDX-License-Identifier: Apache-2.0 */
/* Each case of op_cases.h with several grains at once gives the processor's bits. */
#include "backend/gpu/gpu_call.h"
#include "backend/gpu/gpu_fixture.h"
#include "backend/gpu/gpu_kernels.h"
#include "backend/op_subject.h"
#include "backend/program.h"

#define GRAINS 3

typedef void filler(const subject *s, size_t index, uint32_t grain, void *data);

static void compute(const subject *s, filler *fill_one, uint32_t grain,
                    unsigned char *const *outputs)
{
    const sh_kernels *kernels;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    assert_ok(sh_kernels_choose(&kernels, "plain"));
    assert_ok(sh_program_compile(&program, s->graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, NULL));
    for (size_t i = 0; i < s->graph->input_count; i++)
        fill_one(s, i, grain, sh_execution_input(execution, i));
    assert_ok(sh_execution_run(execution, NULL, NULL));
    for (size_t i = 0; i < s->graph->output_count; i++) {
        const size_t bytes = sh_type_bytes(sh_graph_type(s->graph, s->graph->outputs[i]));
        memcpy(outputs[i] + grain * bytes, sh_execution_output(execution, i), bytes);
    }
    sh_execution_free(execution);
    sh_program_free(program);
    free(lane);
    free(shared);
}

static unsigned char *room_for(const subject *s, sh_value_id value)
{
    return calloc(GRAINS, sh_type_bytes(sh_graph_type(s->graph, value)));
}

/* The same bits, or both NaN, whose bits are undefined. */
static bool are_equal(const unsigned char *a, const unsigned char *b)
{
    float x, y;
    memcpy(&x, a, 4);
    memcpy(&y, b, 4);
    return memcmp(a, b, 4) == 0 || (isnan(x) && isnan(y));
}

static void compare(const subject *s, filler *fill_one, size_t number, uint32_t grains)
{
    unsigned char *in[SH_MAX_INPUTS + 2], *out[32], *expected[32];
    sh_gpu_program *program;
    assert_true(s->graph->input_count <= SH_MAX_INPUTS + 2 && s->graph->output_count <= 32);
    assert_ok(sh_gpu_program_new(&program, s->graph, gpu_kernels, GRAINS));
    for (size_t i = 0; i < s->graph->input_count; i++) {
        in[i] = room_for(s, s->graph->inputs[i]);
        for (uint32_t g = 0; g < grains; g++)
            fill_one(s, i, g,
                     in[i] + g * sh_type_bytes(sh_graph_type(s->graph, s->graph->inputs[i])));
        assert_ok(sh_gpu_program_set_input(program, i, grains, in[i]));
    }
    for (size_t i = 0; i < s->graph->output_count; i++) {
        out[i] = room_for(s, s->graph->outputs[i]);
        expected[i] = room_for(s, s->graph->outputs[i]);
    }
    assert_ok(sh_gpu_program_run(program, grains, NULL));
    for (size_t i = 0; i < s->graph->output_count; i++)
        assert_ok(sh_gpu_program_read_output(program, i, grains, out[i]));
    assert_ok(sh_gpu_finish(gpu));
    for (uint32_t g = 0; g < grains; g++)
        compute(s, fill_one, g, expected);
    for (size_t i = 0; i < s->graph->output_count; i++) {
        const size_t bytes = grains * sh_type_bytes(sh_graph_type(s->graph, s->graph->outputs[i]));
        for (size_t at = 0; at < bytes; at += 4)
            if (!are_equal(out[i] + at, expected[i] + at)) {
                float got, right;
                memcpy(&got, out[i] + at, 4);
                memcpy(&right, expected[i] + at, 4);
                fail_msg("case %zu, %s: output %zu of %u grains: element %zu of %zu is %a, not %a",
                         number, s->about->name, i, grains, at / 4, bytes / 4, (double)got,
                         (double)right);
            }
    }
    sh_gpu_program_free(program);
    for (size_t i = 0; i < s->graph->input_count; i++)
        free(in[i]);
    for (size_t i = 0; i < s->graph->output_count; i++) {
        free(out[i]);
        free(expected[i]);
    }
}

static void each_operator_has_the_bits_of_the_processor(void **state)
{
    (void)state;
    need_gpu();
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        subject s = build(&op_cases[i]);
        compare(&s, fill_input, i, i % 2 == 0 ? GRAINS : 2);
        sh_graph_free(s.graph);
    }
}

/*
 * x, w and dy of a convolution so small that each product is a signed 0. The third grain has an
 * infinite weight and gradient. Places outside of the image must neither change a sign nor make a
 * NaN.
 */
static void fill_tiny(const subject *s, size_t index, uint32_t grain, void *data)
{
    static const float values[GRAINS][3] = {
        {0x1p-100f, -0x1p-60f, 0x1p-100f},
        {-0x1p-100f, -0x1p-60f, 0x1p-100f},
        {1, 1, -1},
    };
    const size_t count = sh_shape_count(&sh_graph_type(s->graph, s->graph->inputs[index])->shape);
    for (size_t i = 0; i < count; i++)
        ((float *)data)[i] = values[grain][index];
    if (grain == 2 && index > 0)
        ((float *)data)[0] = INFINITY;
}

static void what_lies_beside_an_image_has_no_influence(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(2, 3, 5, 6), F32(4, 3, 3, 3)}},
        {SH_OP_conv2d, {CONV(2, 1, 1, 1)}, .in = {F32(2, 3, 7, 8), F32(17, 3, 3, 3)}},
        {SH_OP_conv2d, {CONV(1, 2, 1, 2)}, .in = {F32(2, 18, 4, 6), F32(80, 9, 5, 3)}},
        {SH_OP_conv2d, {CONV(1, 1, 1, 3)}, .in = {F32(2, 3, 5, 6), F32(3, 1, 3, 3)}},
    };
    need_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subject s = build(&cases[i]);
        compare(&s, fill_tiny, i, GRAINS);
        sh_graph_free(s.graph);
    }
}

static void every_tile_has_the_bits_of_the_processor(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {SH_OP_conv2d, {CONV(1, 1, 1, 1)}, .in = {F32(2, 18, 13, 12), F32(140, 18, 3, 3)}},
        {SH_OP_conv2d, {CONV(2, 1, 1, 1)}, .in = {F32(2, 11, 23, 20), F32(70, 11, 3, 3)}},
        {SH_OP_conv2d, {CONV(3, 2, 1, 1)}, .in = {F32(1, 5, 31, 17), F32(20, 5, 2, 3)}},
        {SH_OP_conv2d, {CONV(2, 0, 1, 2)}, .in = {F32(2, 36, 15, 15), F32(34, 18, 1, 1)}},
        {SH_OP_linear, .in = {F32(70, 150), F32(130, 150)}},
    };
    need_gpu();
    for (uint32_t tile = 0; tile < SH_GPU_TILES; tile++) {
        sh_gpu_kernels_force_tile(gpu_kernels, tile);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            subject s = build(&cases[i]);
            compare(&s, fill_input, i, 2);
            compare(&s, fill_tiny, i, 2);
            sh_graph_free(s.graph);
        }
    }
    sh_gpu_kernels_force_tile(gpu_kernels, SH_GPU_BEST_TILE);
}

static void long_depthwise_chains_have_the_bits_of_the_processor(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {SH_OP_conv2d, {CONV(1, 1, 1, 3)}, .in = {F32(2, 3, 25, 24), F32(3, 1, 3, 3)}},
        {SH_OP_conv2d, {CONV(2, 2, 1, 2)}, .in = {F32(3, 2, 41, 30), F32(2, 1, 5, 5)}},
    };
    need_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        subject s = build(&cases[i]);
        compare(&s, fill_input, i, GRAINS);
        compare(&s, fill_tiny, i, GRAINS);
        sh_graph_free(s.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_beside_an_image_has_no_influence),
        cmocka_unit_test(each_operator_has_the_bits_of_the_processor),
        cmocka_unit_test(every_tile_has_the_bits_of_the_processor),
        cmocka_unit_test(long_depthwise_chains_have_the_bits_of_the_processor),
    };
    return cmocka_run_group_tests(tests, open_any_gpu, close_gpu);
}
