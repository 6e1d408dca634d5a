/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every operator of the list, by its cases (op_cases.h): the emitted gradient against finite
 * differences, every variant against the others, and wrong shapes refused.
 */
#include <math.h>
#include <stdlib.h>

#include "backend/op_cases.h"
#include "backend/program.h"
#include "base/random.h"
#include "base/test.h"

#define STEP 0x1p-6f
#define PROBES 24

/* A case as a graph: its inputs, then a seed for output 0 where there is a gradient. */
typedef struct subject {
    const op_case *which;
    const sh_op_entry *about;
    sh_graph *graph;
    uint32_t inputs; /* that the case gives */
    sh_value_id in[SH_MAX_INPUTS];
    sh_value_id gradient[SH_MAX_INPUTS]; /* SH_NO_VALUE where there is none */
    uint32_t gradient_output[SH_MAX_INPUTS];
    bool has_seed;
} subject;

/* Optional inputs that a case leaves out are of rank 0 there. */
static uint32_t inputs_of(const op_case *which)
{
    const sh_op_entry *about = sh_op_about(which->op);
    uint32_t inputs = about->input_count;
    while (inputs > about->input_count - about->def->optional &&
           which->in[inputs - 1].shape.rank == 0)
        inputs--;
    return inputs;
}

/* A pooling that changes nothing and leaves images as convolutions do. */
static sh_value_id lay_channels_last(sh_graph *graph, const sh_type *type, sh_value_id x)
{
    const sh_attributes one = {.kernel = {1, 1}, .stride = {1, 1}};
    if (type->dtype != SH_F32 || type->shape.rank != 4)
        return x;
    return sh_graph_add(graph, SH_OP_avg_pool, &one, &x, NULL);
}

typedef enum variation { AS_IT_IS, ACTIVATION_BEHIND, CHANNELS_LAST } variation;

/* The graph of a case; with its activation as a node behind it, or its images channels-last. */
static subject build_graph(const op_case *which, variation how)
{
    const bool behind = how == ACTIVATION_BEHIND;
    subject s = {.which = which, .about = sh_op_about(which->op)};
    sh_value_id node_in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    sh_attributes attributes = which->attributes;
    assert_ok(sh_graph_new(&s.graph));
    s.inputs = inputs_of(which);
    for (uint32_t i = 0; i < SH_MAX_INPUTS; i++)
        s.in[i] = i < s.inputs ? sh_graph_input(s.graph, which->in[i]) : SH_NO_VALUE;
    for (uint32_t i = 0; i < SH_MAX_INPUTS; i++)
        node_in[i] = i < s.inputs && how == CHANNELS_LAST
                         ? lay_channels_last(s.graph, &which->in[i], s.in[i])
                         : s.in[i];
    if (which->op == SH_OP_batch_norm && attributes.training) /* as it says: of x itself */
        sh_graph_add(s.graph, SH_OP_moments, NULL, s.in, &node_in[1]);
    if (behind)
        attributes.activation = SH_ACTIVATION_NONE;
    sh_graph_add(s.graph, which->op, &attributes, node_in, out);
    if (behind)
        sh_graph_add(s.graph,
                     which->attributes.activation == SH_ACTIVATION_RELU ? SH_OP_relu : SH_OP_relu6,
                     NULL, (sh_value_id[]){out[0]}, out);
    assert_ok(sh_graph_status(s.graph));
    for (uint32_t i = 0; i < sh_op_outputs(which->op, &which->attributes); i++)
        if (sh_graph_type(s.graph, out[i])->dtype != SH_U8) /* choices: laid out by the backend */
            sh_graph_output(s.graph, out[i]);
    s.has_seed = s.about->def->grad != NULL;
    const sh_value_id seed =
        s.has_seed ? sh_graph_input(s.graph, *sh_graph_type(s.graph, out[0])) : SH_NO_VALUE;
    for (uint32_t i = 0; i < s.inputs; i++) {
        s.gradient[i] = SH_NO_VALUE;
        if (!s.has_seed || which->in[i].dtype != SH_F32 || (which->held >> i & 1) != 0)
            continue;
        s.gradient[i] = sh_graph_gradient_of(s.graph, out[0], seed, s.in[i]);
        s.gradient_output[i] = (uint32_t)s.graph->output_count;
        assert_int_not_equal(s.gradient[i], SH_NO_VALUE);
        sh_graph_output(s.graph, s.gradient[i]);
    }
    assert_ok(sh_graph_verify(s.graph));
    return s;
}

static subject build(const op_case *which)
{
    return build_graph(which, AS_IT_IS);
}

/* A bound program with its memory. */
typedef struct machine {
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
} machine;

static machine start(const sh_graph *graph, const char *backend)
{
    machine m;
    const sh_kernels *kernels;
    assert_ok(sh_kernels_choose(&kernels, backend));
    assert_ok(sh_program_compile(&m.program, graph, kernels));
    assert_ok(sh_block_new(&m.lane, sh_program_lane_bytes(m.program), "lane memory"));
    assert_ok(sh_block_new(&m.shared, sh_program_shared_bytes(m.program), "shared memory"));
    assert_ok(sh_execution_new(&m.execution, m.program, m.lane, m.shared, NULL));
    return m;
}

static void stop(machine *m)
{
    sh_execution_free(m->execution);
    sh_program_free(m->program);
    free(m->lane);
    free(m->shared);
}

/*
 * Random values in [-1, 1). Operators with kinks get values that no step of the finite differences
 * can carry over one: distinct, at least 4 steps from each other and from zero, in an order that
 * looks random.
 */
static void fill(float *data, size_t count, uint32_t which, bool kinked)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, which, 0);
    for (size_t i = 0; i < count; i++)
        data[i] = kinked ? ((float)i - (float)(count / 2) + 0.5f) * (8 * STEP)
                         : 2.0f * sh_random_unit(&random) - 1.0f;
    for (size_t i = count; i > 1 && kinked; i--) {
        const size_t j = sh_random_below(&random, (uint32_t)i);
        const float held = data[i - 1];
        data[i - 1] = data[j];
        data[j] = held;
    }
}

static void fill_inputs(const subject *s, const machine *m)
{
    for (size_t i = 0; i < s->graph->input_count; i++) {
        const sh_type *type = sh_graph_type(s->graph, s->graph->inputs[i]);
        const size_t count = sh_shape_count(&type->shape);
        void *data = sh_execution_input(m->execution, i);
        if (type->dtype == SH_F32)
            fill(data, count, (uint32_t)i, s->which->kinked);
        for (size_t j = 0; j < count && (s->which->positive >> i & 1) != 0; j++)
            ((float *)data)[j] = fabsf(((float *)data)[j]) + 0.5f;
        if (type->dtype != SH_F32)
            for (size_t j = 0; j < count; j++)
                ((int32_t *)data)[j] = (int32_t)(j * 7 % 10);
    }
}

/* The weighted sum that the gradients are of. */
static double objective(const subject *s, machine *m, const float *seed)
{
    double sum = 0;
    assert_ok(sh_execution_run(m->execution, NULL, NULL));
    const float *y = sh_execution_output(m->execution, 0);
    const size_t count = sh_shape_count(&sh_graph_type(s->graph, s->graph->outputs[0])->shape);
    for (size_t i = 0; i < count; i++)
        sum += (double)seed[i] * (double)y[i];
    return sum;
}

static float *copy(const void *data, size_t count)
{
    float *held = malloc(count * sizeof *held);
    memcpy(held, data, count * sizeof *held);
    return held;
}

/* d objective / d input[element] by central differences; restores the inputs, which a run may
 * spoil. */
static double difference(const subject *s, machine *m, uint32_t input, size_t element,
                         const float *seed)
{
    double side[2];
    for (int i = 0; i < 2; i++) {
        fill_inputs(s, m);
        float *x = sh_execution_input(m->execution, input);
        x[element] += i == 0 ? STEP : -STEP;
        side[i] = objective(s, m, seed);
    }
    return (side[0] - side[1]) / (2 * (double)STEP);
}

static void check_gradient(const subject *s, machine *m, uint32_t input)
{
    const size_t count = sh_shape_count(&s->which->in[input].shape);
    const sh_value_id seed_value = s->graph->inputs[s->inputs];
    const size_t seeds = sh_shape_count(&sh_graph_type(s->graph, seed_value)->shape);
    sh_random random = sh_random_for(2, SH_RANDOM_TEST, input, 0);

    fill_inputs(s, m);
    float *seed = copy(sh_execution_input(m->execution, s->inputs), seeds);
    assert_ok(sh_execution_run(m->execution, NULL, NULL));
    float *gradient = copy(sh_execution_output(m->execution, s->gradient_output[input]), count);
    for (int probe = 0; probe < PROBES; probe++) {
        const size_t element = sh_random_below(&random, (uint32_t)count);
        const double expected = difference(s, m, input, element, seed);
        const double scale = fmax(1.0, fabs(expected));
        if (fabs((double)gradient[element] - expected) > 4e-3 * scale)
            fail_msg("%s: input %u element %zu: gradient %g, finite differences %g", s->about->name,
                     input, element, (double)gradient[element], expected);
    }
    free(gradient);
    free(seed);
}

static void gradients_equal_finite_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        subject s = build(&op_cases[i]);
        if (s.has_seed && op_cases[i].attributes.activation == SH_ACTIVATION_NONE) {
            machine m = start(s.graph, NULL);
            for (uint32_t input = 0; input < s.inputs; input++)
                if (s.gradient[input] != SH_NO_VALUE)
                    check_gradient(&s, &m, input);
            stop(&m);
        }
        sh_graph_free(s.graph);
    }
}

/* One node with an activation against two without; their gradients by way of the same seed. */
static void activations_within_equal_those_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        if (op_cases[i].attributes.activation == SH_ACTIVATION_NONE ||
            sh_op_about(op_cases[i].op)->def->grad == NULL)
            continue;
        subject within = build(&op_cases[i]), behind = build_graph(&op_cases[i], ACTIVATION_BEHIND);
        machine a = start(within.graph, NULL), b = start(behind.graph, NULL);
        fill_inputs(&within, &a);
        fill_inputs(&behind, &b);
        assert_ok(sh_execution_run(a.execution, NULL, NULL));
        assert_ok(sh_execution_run(b.execution, NULL, NULL));
        assert_int_equal(within.graph->output_count, behind.graph->output_count);
        for (size_t j = 0; j < within.graph->output_count; j++) {
            const sh_type *type = sh_graph_type(within.graph, within.graph->outputs[j]);
            assert_memory_equal(sh_execution_output(a.execution, j),
                                sh_execution_output(b.execution, j), sh_type_bytes(type));
        }
        stop(&a);
        stop(&b);
        sh_graph_free(within.graph);
        sh_graph_free(behind.graph);
    }
}

/* Pooling, which adds to +0, makes +0 of -0. */
static bool are_equal(const sh_type *type, const float *a, const float *b, variation how)
{
    const size_t count = sh_shape_count(&type->shape);
    if (how != CHANNELS_LAST || type->dtype != SH_F32)
        return memcmp(a, b, sh_type_bytes(type)) == 0;
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static void compare(const op_case *which, variation how, const char *variant,
                    const char *oracle_variant)
{
    subject s = build(which), varied = build_graph(which, how);
    machine oracle = start(s.graph, oracle_variant), other = start(varied.graph, variant);
    fill_inputs(&s, &oracle);
    fill_inputs(&varied, &other);
    assert_ok(sh_execution_run(oracle.execution, NULL, NULL));
    assert_ok(sh_execution_run(other.execution, NULL, NULL));
    for (size_t i = 0; i < s.graph->output_count; i++) {
        const sh_type *type = sh_graph_type(s.graph, s.graph->outputs[i]);
        if (!are_equal(type, sh_execution_output(other.execution, i),
                       sh_execution_output(oracle.execution, i), how))
            fail_msg("%s: output %zu by %s has other bits than by %s%s", s.about->name, i, variant,
                     oracle_variant, how == CHANNELS_LAST ? " where images lie otherwise" : "");
    }
    stop(&oracle);
    stop(&other);
    sh_graph_free(s.graph);
    sh_graph_free(varied.graph);
}

/* Images are read as they lie; the bits do not tell how. */
static void layouts_have_the_same_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++)
        compare(&op_cases[i], CHANNELS_LAST, "plain", "plain");
}

static void variants_have_the_same_bits(void **state)
{
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t i = 0; i < OP_CASE_COUNT && sh_variant_runs((*all)->variant); i++)
            compare(&op_cases[i], AS_IT_IS, (*all)->name, "plain");
}

/* Is there nothing that the number of dimensions of its first input must agree with? */
static bool takes_any_rank(const op_case *which)
{
    switch (which->op) {
    case SH_OP_broadcast: /* whatever fits the other */
        return true;
    case SH_OP_batch_norm: /* but with a residual */
        return inputs_of(which) == 5;
    case SH_OP_dropout:
    case SH_OP_gather:
    case SH_OP_group_norm:
    case SH_OP_scale:
        return true;
    default:
        return inputs_of(which) == 1;
    }
}

/* Each input in turn: a dimension too many, a dimension longer, another element type. */
static void wrong_types_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        const op_case *which = &op_cases[i];
        const sh_op_entry *about = sh_op_about(which->op);
        const uint32_t inputs = inputs_of(which);
        sh_type out[SH_MAX_OUTPUTS];
        assert_ok(sh_op_infer(which->op, &which->attributes, which->in, inputs, out));
        for (uint32_t input = 0; input < inputs; input++) {
            op_case bad = *which;
            bad.in[input].dtype = SH_U8;
            if (which->op != SH_OP_reshape)
                assert_fails(sh_op_infer(which->op, &bad.attributes, bad.in, inputs, out),
                             SH_INVALID, about->name);
            bad = *which;
            bad.in[input].shape.dim[bad.in[input].shape.rank++] = 2;
            if ((input > 0 && which->op != SH_OP_gather) || !takes_any_rank(which) ||
                which->op == SH_OP_reshape)
                assert_fails(sh_op_infer(which->op, &bad.attributes, bad.in, inputs, out),
                             SH_INVALID, about->name);
            bad = *which;
            bad.in[input].shape.dim[0] = 0;
            assert_true(sh_op_infer(which->op, &bad.attributes, bad.in, inputs, out) != SH_OK);
        }
    }
}

static void every_operator_has_a_case(void **state)
{
    (void)state;
    bool seen[SH_OP_COUNT] = {false};
    for (size_t i = 0; i < OP_CASE_COUNT; i++) {
        subject s = build(&op_cases[i]);
        for (size_t j = 0; j < s.graph->node_count; j++)
            seen[s.graph->nodes[j].op] = true;
        sh_graph_free(s.graph);
    }
    for (int op = 0; op < SH_OP_COUNT; op++)
        if (!seen[op])
            fail_msg("operator %s has no case in op_cases.h", sh_op_about((sh_op)op)->name);
}

static void unknown_variant_is_refused(void **state)
{
    (void)state;
    const sh_kernels *kernels;
    assert_fails(sh_kernels_choose(&kernels, "abacus"), SH_INVALID,
                 "variant 'abacus': this processor runs ");
    assert_ok(sh_kernels_choose(&kernels, "plain"));
    assert_string_equal(kernels->name, "plain");
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_true(sh_variant_runs(kernels->variant));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_equal_finite_differences),
        cmocka_unit_test(activations_within_equal_those_behind),
        cmocka_unit_test(variants_have_the_same_bits),
        cmocka_unit_test(layouts_have_the_same_bits),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(every_operator_has_a_case),
        cmocka_unit_test(unknown_variant_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
