/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/fuse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/program.h"
#include "base/random.h"
#include "base/test.h"
#include "graph/layers.h"

#define SAMPLES 3
#define CHANNELS 6
#define MAX_PARAMETERS 32

typedef struct subject {
    sh_graph *graph;
    sh_net net;
    sh_value_id x;
} subject;

static subject start(void)
{
    subject s = {0};
    const sh_type pixels = {SH_F32, sh_shape_of(4, (size_t[]){SAMPLES, CHANNELS, 5, 4})};
    const sh_type per_sample = {SH_F32, sh_shape_of(1, pixels.shape.dim)};
    assert_ok(sh_graph_new(&s.graph));
    s.x = sh_graph_input(s.graph, pixels);
    s.net = (sh_net){
        .graph = s.graph, .training = true, .loss_weights = sh_graph_input(s.graph, per_sample)};
    return s;
}

static sh_value_id norm(subject *s, sh_value_id x, const char *name)
{
    return sh_layer_batch_norm(&s->net, x, name);
}

static sh_value_id relu(subject *s, sh_value_id x)
{
    return sh_layer_relu(&s->net, x);
}

static sh_value_id relu6(subject *s, sh_value_id x)
{
    return sh_net_apply(&s->net, SH_OP_relu6, NULL, x);
}

static sh_value_id add(subject *s, sh_value_id a, sh_value_id b)
{
    return sh_layer_add(&s->net, a, b);
}

#define DESCRIPTION 1024

/* Returns, for example, "moments statistic statistic batch_norm+residual+relu". */
static const char *describe(const sh_graph *graph, char text[DESCRIPTION])
{
    static const char *const activations[] = {"", "+relu", "+relu6"};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        if (node->op == SH_OP_moments || node->op == SH_OP_statistic)
            continue;
        const bool residual = node->op == SH_OP_batch_norm && node->input_count == 6;
        used += (size_t)snprintf(text + used, DESCRIPTION - used, "%s%s%s%s", used == 0 ? "" : " ",
                                 sh_op_about(node->op)->name, residual ? "+residual" : "",
                                 activations[node->attributes.activation]);
        assert_true(used < DESCRIPTION);
    }
    return text;
}

/* ---- structure ------------------------------------------------------------------------------- */

static sh_value_id activated(subject *s)
{
    return relu(s, norm(s, s->x, "a"));
}

static sh_value_id activated6(subject *s)
{
    return relu6(s, norm(s, s->x, "a"));
}

static sh_value_id residual_left(subject *s)
{
    return add(s, norm(s, s->x, "a"), s->x);
}

static sh_value_id residual_right(subject *s)
{
    return relu(s, add(s, s->x, norm(s, s->x, "a")));
}

/* The residual is computed between the normalisation and the sum. */
static sh_value_id late_residual(subject *s)
{
    const sh_value_id y = norm(s, s->x, "a");
    return relu6(s, add(s, y, relu(s, s->x)));
}

static sh_value_id two_norms(subject *s)
{
    const sh_value_id a = norm(s, s->x, "a");
    return relu(s, add(s, norm(s, relu(s, s->x), "b"), a));
}

/* The result of a block is used twice, as in residual networks. */
static sh_value_id two_blocks(subject *s)
{
    sh_value_id y = relu(s, norm(s, s->x, "stem"));
    y = relu(s, add(s, norm(s, relu(s, norm(s, y, "a")), "b"), y));
    return relu6(s, add(s, norm(s, relu6(s, norm(s, y, "c")), "d"), y));
}

static sh_value_id used_twice(subject *s)
{
    const sh_value_id y = norm(s, s->x, "a");
    return add(s, relu(s, y), y);
}

static sh_value_id with_itself(subject *s)
{
    const sh_value_id y = norm(s, s->x, "a");
    return relu(s, add(s, y, y));
}

static sh_value_id an_output(subject *s)
{
    const sh_value_id y = norm(s, s->x, "a");
    sh_graph_output(s->graph, y);
    return relu(s, y);
}

static sh_value_id two_activations(subject *s)
{
    return relu6(s, relu(s, norm(s, s->x, "a")));
}

static const struct structure {
    const char *name;
    sh_value_id (*build)(subject *s);
    const char *fused;
} structures[] = {
    {"activated", activated, "batch_norm+relu"},
    {"activated6", activated6, "batch_norm+relu6"},
    {"residual_left", residual_left, "batch_norm+residual"},
    {"residual_right", residual_right, "batch_norm+residual+relu"},
    {"late_residual", late_residual, "relu batch_norm+residual+relu6"},
    {"two_norms", two_norms, "batch_norm relu batch_norm+residual+relu"},
    {"two_blocks", two_blocks,
     "batch_norm+relu batch_norm+relu batch_norm+residual+relu batch_norm+relu6 "
     "batch_norm+residual+relu6"},
    {"used_twice", used_twice, "batch_norm relu add"},
    {"with_itself", with_itself, "batch_norm add relu"},
    {"an_output", an_output, "batch_norm relu"},
    {"two_activations", two_activations, "batch_norm+relu relu6"},
};

#define STRUCTURES (sizeof structures / sizeof *structures)

static void what_reads_a_norm_alone_is_merged(void **state)
{
    (void)state;
    for (size_t i = 0; i < STRUCTURES; i++) {
        char text[DESCRIPTION];
        subject s = start();
        const sh_value_id y = structures[i].build(&s);
        sh_graph_output(s.graph, y);
        sh_graph_fuse(s.graph);
        assert_ok(sh_graph_verify(s.graph));
        if (strcmp(describe(s.graph, text), structures[i].fused) != 0)
            fail_msg("%s: became %s", structures[i].name, text);
        sh_graph_fuse(s.graph); /* a second run changes nothing */
        assert_string_equal(describe(s.graph, text), structures[i].fused);
        sh_graph_free(s.graph);
    }
}

static void contributions_to_an_activation_are_merged(void **state)
{
    (void)state;
    char text[DESCRIPTION];
    subject s = start();
    const sh_value_id y = two_blocks(&s);
    sh_graph_output(s.graph, y);
    sh_graph_fuse(s.graph);
    sh_graph_differentiate(s.graph, y, sh_graph_input(s.graph, *sh_graph_type(s.graph, y)));
    sh_graph_fuse(s.graph);
    assert_ok(sh_graph_verify(s.graph));
    /* The last gradient comes from the seed. The stem's activation is fused with its norm. */
    assert_non_null(
        strstr(describe(s.graph, text),
               "relu6_grad batch_norm_sums batch_norm_grad batch_norm_sums+relu6 "
               "batch_norm_grad+relu6 relu_sum_grad+relu batch_norm_sums batch_norm_grad "
               "batch_norm_sums+relu batch_norm_grad+relu add batch_norm_sums+relu"));
    sh_graph_free(s.graph);
}

static void a_sum_that_is_read_elsewhere_stays(void **state)
{
    (void)state;
    char text[DESCRIPTION];
    subject s = start();
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_value_id sum = add(&s, s.x, relu(&s, s.x));
    sh_graph_output(s.graph,
                    sh_graph_add(s.graph, SH_OP_relu_grad, NULL, (sh_value_id[]){sum, s.x}, out));
    sh_graph_output(s.graph, sum);
    sh_graph_fuse(s.graph);
    assert_string_equal(describe(s.graph, text), "relu add relu_grad");
    sh_graph_free(s.graph);
}

static void a_failed_graph_is_left_alone(void **state)
{
    (void)state;
    subject s = start();
    sh_graph_failed(s.graph, sh_fail(SH_INVALID, "first"));
    sh_graph_fuse(s.graph);
    assert_fails(sh_graph_status(s.graph), SH_INVALID, "first");
    sh_graph_free(s.graph);
    assert_ok(sh_graph_new(&s.graph));
    sh_graph_fuse(s.graph);
    assert_ok(sh_graph_status(s.graph));
    sh_graph_free(s.graph);
}

/* ---- bits ------------------------------------------------------------------------------------ */

typedef struct machine {
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    float *weights[MAX_PARAMETERS];
} machine;

static void fill(float *data, size_t count, uint32_t which)
{
    sh_random random = sh_random_for(3, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = 4.0f * sh_random_unit(&random) - 2.0f;
}

static void run(machine *m, const sh_graph *graph)
{
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_program_compile(&m->program, graph, kernels));
    assert_ok(sh_block_new(&m->lane, sh_program_lane_bytes(m->program), "lane memory"));
    assert_ok(sh_block_new(&m->shared, sh_program_shared_bytes(m->program), "shared memory"));
    assert_true(graph->parameter_count <= MAX_PARAMETERS);
    for (uint32_t i = 0; i < graph->parameter_count; i++) {
        m->weights[i] = malloc(CHANNELS * sizeof **m->weights);
        fill(m->weights[i], CHANNELS, 100 + i);
    }
    assert_ok(sh_execution_new(&m->execution, m->program, m->lane, m->shared,
                               (float *const *)m->weights));
    for (uint32_t i = 0; i < graph->input_count; i++)
        fill(sh_execution_input(m->execution, i),
             sh_shape_count(&sh_graph_type(graph, graph->inputs[i])->shape), i);
    assert_ok(sh_execution_prepare(m->execution));
    assert_ok(sh_execution_run(m->execution, NULL, NULL));
}

static void stop(machine *m)
{
    sh_execution_free(m->execution);
    sh_program_free(m->program);
    free(m->lane);
    free(m->shared);
    for (size_t i = 0; i < MAX_PARAMETERS; i++)
        free(m->weights[i]);
}

/* The result and the gradients of all parameters are outputs. */
static subject differentiated(const struct structure *of, bool fused)
{
    subject s = start();
    const sh_value_id y = of->build(&s);
    sh_graph_output(s.graph, y);
    if (fused)
        sh_graph_fuse(s.graph);
    sh_graph_differentiate(s.graph, y, sh_graph_input(s.graph, *sh_graph_type(s.graph, y)));
    for (size_t i = 0; i < s.graph->parameter_count; i++)
        sh_graph_output(s.graph, s.graph->parameters[i].gradient);
    if (fused)
        sh_graph_fuse(s.graph);
    assert_ok(sh_graph_verify(s.graph));
    return s;
}

static void bits_are_those_of_the_single_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < STRUCTURES; i++) {
        subject single = differentiated(&structures[i], false);
        subject fused = differentiated(&structures[i], true);
        machine a = {0}, b = {0};
        run(&a, single.graph);
        run(&b, fused.graph);
        assert_int_equal(single.graph->output_count, fused.graph->output_count);
        for (size_t j = 0; j < single.graph->output_count; j++) {
            const sh_type *type = sh_graph_type(single.graph, single.graph->outputs[j]);
            if (memcmp(sh_execution_output(a.execution, j), sh_execution_output(b.execution, j),
                       sh_type_bytes(type)) != 0)
                fail_msg("%s: output %zu differs", structures[i].name, j);
        }
        stop(&a);
        stop(&b);
        sh_graph_free(single.graph);
        sh_graph_free(fused.graph);
    }
}

/* Values of y are at the activations' limits. */
static subject gated_sum(sh_op op, bool fused)
{
    subject s = start();
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_type type = *sh_graph_type(s.graph, s.x);
    const sh_value_id y = sh_graph_input(s.graph, type), b = sh_graph_input(s.graph, type);
    const sh_value_id sum = add(&s, s.x, b);
    sh_graph_output(s.graph, sh_graph_add(s.graph, op, NULL, (sh_value_id[]){sum, y}, out));
    if (fused)
        sh_graph_fuse(s.graph);
    assert_int_equal(s.graph->node_count, fused ? 1 : 2);
    return s;
}

static void sums_are_gated_at_the_same_edges(void **state)
{
    (void)state;
    static const float edges[] = {-INFINITY,     -1, -0.0f, 0,   0x1p-140f, 3,
                                  0x1.7ffffep2f, 6,  7,     NAN, INFINITY};
    static const sh_op ops[] = {SH_OP_relu_grad, SH_OP_relu6_grad};
    for (size_t i = 0; i < 2; i++) {
        subject single = gated_sum(ops[i], false), fused = gated_sum(ops[i], true);
        machine m[2] = {{0}};
        run(&m[0], single.graph);
        run(&m[1], fused.graph);
        for (size_t j = 0; j < 2; j++) {
            float *a = sh_execution_input(m[j].execution, 0);
            float *y = sh_execution_input(m[j].execution, 2);
            float *b = sh_execution_input(m[j].execution, 3);
            for (size_t k = 0; k < SAMPLES * CHANNELS * 20; k++) {
                y[k] = edges[k % (sizeof edges / sizeof *edges)];
                a[k] = (float)k;
                b[k] = k % 7 == 0 ? NAN : 0.5f;
            }
            assert_ok(sh_execution_run(m[j].execution, NULL, NULL));
        }
        assert_memory_equal(sh_execution_output(m[0].execution, 0),
                            sh_execution_output(m[1].execution, 0),
                            SAMPLES * CHANNELS * 20 * sizeof(float));
        for (size_t j = 0; j < 2; j++)
            stop(&m[j]);
        sh_graph_free(single.graph);
        sh_graph_free(fused.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_reads_a_norm_alone_is_merged),
        cmocka_unit_test(contributions_to_an_activation_are_merged),
        cmocka_unit_test(a_sum_that_is_read_elsewhere_stays),
        cmocka_unit_test(a_failed_graph_is_left_alone),
        cmocka_unit_test(bits_are_those_of_the_single_nodes),
        cmocka_unit_test(sums_are_gated_at_the_same_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
