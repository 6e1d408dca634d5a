/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients against finite differences, variants against each other, and refusal of wrong shapes.
 */
#include <math.h>
#include <stdlib.h>

#include "backend/op_subject.h"
#include "backend/program.h"

#define PROBES 24

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

static void fill_inputs(const subject *s, const machine *m)
{
    for (size_t i = 0; i < s->graph->input_count; i++)
        fill_input(s, i, 0, sh_execution_input(m->execution, i));
}

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

/* d objective / d input[element] by central differences. Changes the inputs. */
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

/* The pooling that changes the layout turns -0 into +0. */
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

static bool takes_any_rank(const op_case *which)
{
    switch (which->op) {
    case SH_OP_broadcast:
        return true;
    case SH_OP_batch_norm: /* unless it has a residual */
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
