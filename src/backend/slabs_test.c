/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/slabs.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/test.h"
#include "graph/layers.h"
#include "graph/recompute.h"
#include "model/model.h"

#define SAMPLES 5
#define TEXT 4096

#define FORWARD "conv2d moments; batch_norm conv2d moments"
#define BACKWARD "batch_norm_grad conv2d_grad_weight"

/* ---- groups ---------------------------------------------------------------------------------- */

static sh_program *compile(const sh_graph *graph, bool on_demand, size_t slab_bytes)
{
    const sh_kernels *kernels;
    sh_prepared *prepared;
    sh_program *program;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_prepared_new(&prepared, on_demand));
    assert_ok(sh_program_compile_in_slabs(&program, graph, kernels, prepared, slab_bytes));
    sh_prepared_free(prepared);
    return program;
}

/* The operators of each group: "conv2d moments; ...". */
static const char *describe(const sh_program *program, const sh_graph *graph, char text[TEXT])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < program->instruction_count; i++)
        for (size_t m = i; m < i + program->instructions[i].group.members; m++) {
            const sh_work *work = &program->instructions[m].work;
            assert_int_equal(work->kind, SH_WORK_NODE);
            used += (size_t)snprintf(text + used, TEXT - used, "%s%s",
                                     used == 0 ? ""
                                     : m == i  ? "; "
                                               : " ",
                                     sh_op_about(graph->nodes[work->node].op)->name);
            assert_true(used < TEXT);
        }
    return text;
}

static sh_graph *network(const char *model, size_t side, uint32_t segments)
{
    const sh_model_options options = {.spec = model, .problem = {3, side, side, 10}};
    sh_graph *graph;
    assert_ok(sh_model_build(&graph, &options, SAMPLES, SH_MODEL_TRAIN));
    sh_graph_recompute(graph, segments);
    assert_ok(sh_graph_status(graph));
    return graph;
}

/* A normalisation needs the moments of all samples, so no group spans it. */
static void groups_end_where_all_samples_are_needed(void **state)
{
    (void)state;
    char text[TEXT];
    sh_graph *graph = network("resnet:8", 32, 1);
    sh_program *program = compile(graph, false, 1 << 18);
    describe(program, graph, text);
    assert_memory_equal(text, FORWARD, strlen(FORWARD));
    assert_string_equal(text + strlen(text) - strlen(BACKWARD), BACKWARD);
    sh_program_free(program);
    program = compile(graph, false, SIZE_MAX);
    assert_string_equal(describe(program, graph, text), "");
    sh_program_free(program);
    sh_graph_free(graph);
}

/* ---- results --------------------------------------------------------------------------------- */

static void add_to_digest(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    if (gradient->first == 0)
        sh_digest_add(context, &parameter, sizeof parameter);
    sh_digest_add(context, gradient->values, gradient->count * sizeof *gradient->values);
}

static void run(const sh_graph *graph, const sh_program *program, char hex[SH_DIGEST_TEXT])
{
    void *lane, *shared;
    sh_execution *execution;
    float *const weights = malloc(sh_model_weights(graph) * sizeof *weights);
    float **const parameters = calloc(graph->parameter_count, sizeof *parameters);
    assert_true(weights != NULL && parameters != NULL);
    sh_model_initialise(graph, 1, weights);
    for (size_t i = 0, at = 0; i < graph->parameter_count; i++) {
        parameters[i] = weights + at;
        at += sh_shape_count(&sh_graph_type(graph, graph->parameters[i].value)->shape);
    }
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "a test"));
    memset(lane, 0xff, sh_program_lane_bytes(program)); /* NaN, if it is read too early */
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "a test"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, parameters));
    sh_random random = sh_random_for(3, SH_RANDOM_TEST, 0, 0);
    float *const pixels = sh_execution_input(execution, SH_MODEL_SAMPLES);
    const sh_shape *shape = &sh_graph_type(graph, graph->inputs[SH_MODEL_SAMPLES])->shape;
    for (size_t i = 0; i < sh_shape_count(shape); i++)
        pixels[i] = sh_random_unit(&random) - 0.5f;
    for (int32_t i = 0; i < SAMPLES; i++) {
        ((int32_t *)sh_execution_input(execution, SH_MODEL_TARGETS))[i] = i;
        ((float *)sh_execution_input(execution, SH_MODEL_LOSS_WEIGHTS))[i] = 1.0f / SAMPLES;
    }
    memset(sh_execution_input(execution, SH_MODEL_KEYS), 0, 2 * SAMPLES * sizeof(uint32_t));
    sh_digest *digest;
    assert_ok(sh_digest_new(&digest));
    assert_ok(sh_execution_prepare(execution));
    assert_ok(sh_execution_run(execution, add_to_digest, digest));
    sh_digest_add(digest, sh_execution_output(execution, 0), SAMPLES * sizeof(float));
    assert_ok(sh_digest_finish(digest, hex));
    sh_execution_free(execution);
    free(lane);
    free(shared);
    free(parameters);
    free(weights);
}

static void check(const char *model, size_t side, uint32_t segments, bool on_demand)
{
    static const size_t slabs[] = {1, 100000, SH_SLAB_BYTES};
    char expected[SH_DIGEST_TEXT], found[SH_DIGEST_TEXT];
    sh_graph *graph = network(model, side, segments);
    sh_program *whole = compile(graph, on_demand, SIZE_MAX);
    run(graph, whole, expected);
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
        sh_program *program = compile(graph, on_demand, slabs[i]);
        run(graph, program, found);
        if (strcmp(found, expected) != 0)
            fail_msg("%s, %u segments, slabs of %zu bytes: %s, not %s", model, segments, slabs[i],
                     found, expected);
        sh_program_free(program);
    }
    sh_program_free(whole);
    sh_graph_free(graph);
}

static void slabs_do_not_show(void **state)
{
    (void)state;
    for (uint32_t segments = 0; segments < 3; segments++)
        check("resnet:8", 32, segments, segments == 2);
    check("mobilenetv2:0.25", 64, 1, false);
    check("mobilenetv2:0.25", 32, 1, true);
    check("dscnn", 32, 1, false);
    check("lenet", 28, 1, false);
}

/* ---- products -------------------------------------------------------------------------------- */

#define PARTS 2
#define INPUTS 3
#define OUTPUTS 4

typedef struct gradients {
    float of[2 * PARTS][INPUTS * OUTPUTS];
    unsigned parts[2 * PARTS];
} gradients;

static void keep(void *context, uint32_t parameter, const sh_gradient *gradient)
{
    gradients *all = context;
    memcpy(all->of[parameter] + gradient->first, gradient->values,
           gradient->count * sizeof *gradient->values);
    all->parts[parameter]++;
}

static void products_are_found_in_a_group(void **state)
{
    (void)state;
    static const float seed[OUTPUTS] = {1, 2, -3, 5}, x[PARTS][INPUTS] = {{7, 11, 13}, {-1, 4, 9}};
    static float weights[2 * PARTS][INPUTS * OUTPUTS];
    sh_graph *graph = NULL;
    assert_ok(sh_graph_new(&graph));
    sh_net net = {.graph = graph};
    const sh_value_id in[] = {
        sh_graph_input(graph, (sh_type){SH_F32, {2, {1, INPUTS}}}),
        sh_graph_input(graph, (sh_type){SH_F32, {2, {1, INPUTS}}}),
        sh_graph_input(graph, (sh_type){SH_F32, {2, {1, OUTPUTS}}}),
    };
    const sh_value_id first = sh_layer_linear(&net, in[0], "a", OUTPUTS);
    const sh_value_id y = sh_layer_add(&net, first, sh_layer_linear(&net, in[1], "b", OUTPUTS));
    sh_graph_output(graph, y);
    sh_graph_differentiate(graph, y, in[2]);
    sh_program *program = compile(graph, false, 1);
    void *lane;
    sh_execution *execution;
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "a test"));
    assert_ok(sh_execution_new(&execution, program, lane, NULL,
                               (float *const[]){weights[0], weights[1], weights[2], weights[3]}));
    memcpy(sh_execution_input(execution, 0), x[0], sizeof x[0]);
    memcpy(sh_execution_input(execution, 1), x[1], sizeof x[1]);
    memcpy(sh_execution_input(execution, 2), seed, sizeof seed);
    gradients all = {0};
    assert_ok(sh_execution_run(execution, keep, &all));
    for (uint32_t layer = 0; layer < PARTS; layer++) {
        gradients again = {0};
        sh_product product;
        assert_int_equal(all.parts[2 * layer], OUTPUTS);
        for (size_t o = 0; o < OUTPUTS; o++)
            for (size_t i = 0; i < INPUTS; i++)
                assert_true(all.of[2 * layer][o * INPUTS + i] == seed[o] * x[layer][i]);
        assert_true(sh_execution_product(execution, 2 * layer, &product));
        memcpy(product.x, x[layer], product.x_bytes);
        memcpy(product.dy, seed, product.dy_bytes);
        assert_ok(sh_execution_multiply(execution, 2 * layer, keep, &again));
        assert_int_equal(again.parts[2 * layer], OUTPUTS);
        assert_memory_equal(again.of[2 * layer], all.of[2 * layer], sizeof all.of[0]);
    }
    sh_execution_free(execution);
    sh_program_free(program);
    free(lane);
    sh_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_end_where_all_samples_are_needed),
        cmocka_unit_test(slabs_do_not_show),
        cmocka_unit_test(products_are_found_in_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
