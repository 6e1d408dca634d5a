/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares results and gradients of operators with those of PyTorch (test/golden/make_ops.py), and
 * checks which elements dropout keeps.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "backend/program.h"
#include "base/random.h"
#include "base/test.h"

typedef struct machine {
    sh_graph *graph;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
} machine;

static void start(machine *m)
{
    const sh_kernels *kernels;
    assert_ok(sh_graph_verify(m->graph));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_program_compile(&m->program, m->graph, kernels));
    assert_ok(sh_block_new(&m->lane, sh_program_lane_bytes(m->program), "lane memory"));
    assert_ok(sh_block_new(&m->shared, sh_program_shared_bytes(m->program), "shared memory"));
    assert_ok(sh_execution_new(&m->execution, m->program, m->lane, m->shared, NULL));
}

static void stop(machine *m)
{
    sh_execution_free(m->execution);
    sh_program_free(m->program);
    sh_graph_free(m->graph);
    free(m->lane);
    free(m->shared);
}

/* ---- PyTorch's numbers ----------------------------------------------------------------------- */

static json_t *load(void)
{
    /* Found by this file's name, from any working directory. */
    static const char here[] = __FILE__, inner[] = "src/backend/values_test.c";
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%.*stest/golden/ops.json", (int)(sizeof here - sizeof inner),
             here);
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (file == NULL)
        fail_msg("%s: line %d: %s", path, error.line, error.text);
    return file;
}

static sh_op op_named(const char *name)
{
    for (int op = 0; op < SH_OP_COUNT; op++)
        if (strcmp(sh_op_about((sh_op)op)->name, name) == 0)
            return (sh_op)op;
    fail_msg("ops.json: operator %s is unknown", name);
    return SH_OP_COUNT;
}

static size_t whole(const json_t *number)
{
    assert_true(json_is_integer(number));
    return (size_t)json_integer_value(number);
}

static void take_list(size_t *to, size_t most, const json_t *list)
{
    assert_in_range(json_array_size(list), 0, most);
    for (size_t i = 0; i < json_array_size(list); i++)
        to[i] = whole(json_array_get(list, i));
}

static sh_attributes take_attributes(json_t *object)
{
    sh_attributes a = {0};
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (strcmp(name, "number") == 0)
            a.number = (float)json_number_value(value);
        else if (strcmp(name, "axis") == 0)
            a.axis = whole(value);
        else if (strcmp(name, "axes") == 0)
            a.axes = whole(value);
        else if (strcmp(name, "groups") == 0)
            a.groups = whole(value);
        else if (strcmp(name, "kernel") == 0)
            take_list(a.kernel, 2, value);
        else if (strcmp(name, "stride") == 0)
            take_list(a.stride, 2, value);
        else if (strcmp(name, "padding") == 0)
            take_list(a.padding, 2, value), take_list(a.end_padding, 2, value);
        else if (strcmp(name, "end_padding") == 0)
            take_list(a.end_padding, 2, value);
        else if (strcmp(name, "shape") == 0)
            take_list(a.shape.dim, SH_MAX_RANK, value), a.shape.rank = json_array_size(value);
        else if (strcmp(name, "method") == 0)
            a.method = (sh_resize_method)whole(value);
        else if (strcmp(name, "position") == 0)
            a.position = (sh_resize_position)whole(value);
        else if (strcmp(name, "scale") == 0)
            for (size_t i = 0; i < 2; i++)
                a.scale[i] = (float)json_number_value(json_array_get(value, i));
        else if (strcmp(name, "dilation") == 0)
            take_list(a.dilation, 2, value);
        else if (strcmp(name, "inside") == 0)
            a.inside = json_is_true(value);
        else if (strcmp(name, "after") == 0)
            take_list(a.after, SH_MAX_RANK, value);
        else if (strcmp(name, "order") == 0)
            for (size_t i = 0; i < json_array_size(value); i++)
                a.order[i] = (uint8_t)whole(json_array_get(value, i));
        else
            fail_msg("ops.json: attribute %s is unknown", name);
    }
    return a;
}

static sh_type type_of(const json_t *input)
{
    const json_t *shape = json_object_get(input, "shape");
    sh_type type = {json_object_get(input, "labels") == NULL ? SH_F32 : SH_I32,
                    {.rank = json_array_size(shape)}};
    take_list(type.shape.dim, SH_MAX_RANK, shape);
    return type;
}

static void fill(machine *m, size_t input, const json_t *data)
{
    const sh_type *type = sh_graph_type(m->graph, m->graph->inputs[input]);
    void *to = sh_execution_input(m->execution, input);
    assert_int_equal(json_array_size(data), sh_shape_count(&type->shape));
    for (size_t i = 0; i < json_array_size(data); i++) {
        const json_t *number = json_array_get(data, i);
        if (type->dtype == SH_I32)
            ((int32_t *)to)[i] = (int32_t)json_integer_value(number);
        else
            ((float *)to)[i] = (float)json_number_value(number);
    }
}

static void check(machine *m, size_t output, const json_t *expected, const char *op, size_t which)
{
    const float *is = sh_execution_output(m->execution, output);
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const double wanted = json_number_value(json_array_get(expected, i));
        if (!(fabs((double)is[i] - wanted) <= 2e-6 * fmax(1, fabs(wanted))))
            fail_msg("case %zu, %s: output %zu element %zu is %.9g, PyTorch has %.9g", which, op,
                     output, i, (double)is[i], wanted);
    }
}

static void run_case(json_t *object, size_t which)
{
    machine m = {0};
    const char *name = json_string_value(json_object_get(object, "op"));
    const sh_op op = op_named(name);
    const sh_attributes attributes = take_attributes(json_object_get(object, "attributes"));
    const json_t *inputs = json_object_get(object, "inputs");
    const json_t *gradients = json_object_get(object, "gradients");
    const size_t count = json_array_size(inputs);
    sh_value_id in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    assert_ok(sh_graph_new(&m.graph));
    for (size_t i = 0; i < SH_MAX_INPUTS; i++)
        in[i] =
            i < count ? sh_graph_input(m.graph, type_of(json_array_get(inputs, i))) : SH_NO_VALUE;
    const sh_value_id y = sh_graph_add(m.graph, op, &attributes, in, out);
    assert_ok(sh_graph_status(m.graph));
    const sh_value_id seed = sh_graph_input(m.graph, *sh_graph_type(m.graph, y));
    sh_graph_output(m.graph, y);
    for (size_t i = 0; i < count; i++)
        sh_graph_output(m.graph, json_array_size(json_array_get(gradients, i)) == 0
                                     ? y
                                     : sh_graph_gradient_of(m.graph, y, seed, in[i]));
    start(&m);
    for (size_t i = 0; i < count; i++) {
        const json_t *input = json_array_get(inputs, i), *labels = json_object_get(input, "labels");
        fill(&m, i, labels != NULL ? labels : json_object_get(input, "data"));
    }
    fill(&m, count, json_object_get(object, "seed"));
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    assert_int_equal(json_array_size(json_object_get(object, "result")),
                     sh_shape_count(&sh_graph_type(m.graph, y)->shape));
    check(&m, 0, json_object_get(object, "result"), name, which);
    for (size_t i = 0; i < count; i++)
        check(&m, i + 1, json_array_get(gradients, i), name, which);
    stop(&m);
}

static void operators_mean_what_pytorchs_do(void **state)
{
    (void)state;
    json_t *file = load(), *cases = json_object_get(file, "cases");
    assert_true(json_array_size(cases) > 20);
    for (size_t i = 0; i < json_array_size(cases); i++)
        run_case(json_array_get(cases, i), i);
    json_decref(file);
}

/* ---- dropout --------------------------------------------------------------------------------- */

#define ELEMENTS 150 /* two groups of 64 words and a rest */

static uint32_t key_of(uint32_t sample, uint32_t word)
{
    return 0x9E3779B9u * (2 * sample + word + 1);
}

static void drop(float *y, uint32_t first, uint32_t samples, float p, uint32_t layer)
{
    machine m = {0};
    const sh_attributes attributes = {.number = p, .layer = layer};
    sh_value_id out[SH_MAX_OUTPUTS];
    assert_ok(sh_graph_new(&m.graph));
    const sh_type x = {SH_F32, sh_shape_of(3, (size_t[]){samples, ELEMENTS / 10, 10})};
    const sh_type keys = {SH_I32, sh_shape_of(2, (size_t[]){samples, 2})};
    const sh_value_id in[] = {sh_graph_input(m.graph, x), sh_graph_input(m.graph, keys)};
    sh_graph_output(m.graph, sh_graph_add(m.graph, SH_OP_dropout, &attributes, in, out));
    assert_ok(sh_graph_status(m.graph));
    start(&m);
    float *ones = sh_execution_input(m.execution, 0);
    uint32_t *words = sh_execution_input(m.execution, 1);
    for (size_t i = 0; i < (size_t)samples * ELEMENTS; i++)
        ones[i] = 1;
    for (uint32_t i = 0; i < 2 * samples; i++)
        words[i] = key_of(first + i / 2, i % 2);
    assert_ok(sh_execution_run(m.execution, NULL, NULL));
    memcpy(y, sh_execution_output(m.execution, 0), (size_t)samples * ELEMENTS * sizeof *y);
    stop(&m);
}

/* `place` is in plain order. */
static bool is_kept(uint32_t sample, uint32_t place, double p, uint32_t layer)
{
    const uint32_t element = place % 10 * (ELEMENTS / 10) + place / 10;
    const uint32_t key[] = {key_of(sample, 0), key_of(sample, 1)};
    const uint32_t counter[] = {element / 64 * 16 + element % 16, layer, 0, 0};
    uint32_t words[4];
    sh_philox(counter, key, words);
    const uint32_t word = words[element % 64 / 16];
    return (double)word >= p * 0x1p32;
}

static void dropout_keeps_what_its_keys_say(void **state)
{
    (void)state;
    static const float probabilities[] = {0, 0.25f, 0.5f, 0.9f};
    for (uint32_t i = 0; i < 4; i++) {
        const float p = probabilities[i];
        float y[3 * ELEMENTS];
        drop(y, 5, 3, p, i);
        for (uint32_t j = 0; j < 3 * ELEMENTS; j++) {
            const bool kept = is_kept(5 + j / ELEMENTS, j % ELEMENTS, (double)p, i);
            assert_float_equal(y[j], (kept ? 1 / (1 - p) : 0), 0);
        }
    }
}

static void dropout_does_not_depend_on_the_grain(void **state)
{
    (void)state;
    float together[8 * ELEMENTS], alone[ELEMENTS];
    drop(together, 0, 8, 0.5f, 1);
    for (uint32_t i = 0; i < 8; i++) {
        drop(alone, i, 1, 0.5f, 1);
        assert_memory_equal(alone, together + (size_t)i * ELEMENTS, sizeof alone);
    }
}

static size_t kept_of(const float *y, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += y[i] != 0;
    return kept;
}

/* About n (1 - p) of n elements are kept; 4 deviations of sqrt(n p (1 - p)) are 71. */
static void dropout_keeps_as_many_as_it_should(void **state)
{
    (void)state;
    enum { SAMPLES = 11, COUNT = SAMPLES * ELEMENTS };
    float a[COUNT], b[COUNT];
    drop(a, 0, SAMPLES, 0.25f, 0);
    drop(b, 0, SAMPLES, 0.25f, 1);
    assert_in_range(kept_of(a, COUNT), COUNT * 3 / 4 - 71, COUNT * 3 / 4 + 71);
    assert_in_range(kept_of(b, COUNT), COUNT * 3 / 4 - 71, COUNT * 3 / 4 + 71);
    size_t both = 0;
    for (size_t i = 0; i < COUNT; i++)
        both += a[i] != 0 && b[i] != 0;
    assert_in_range(both, COUNT * 9 / 16 - 81, COUNT * 9 / 16 + 81);
    assert_memory_not_equal(a, a + ELEMENTS, ELEMENTS * sizeof *a);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static float wandering(size_t i, size_t count)
{
    return 1000.0f + (float)i / (float)count + (float)(i * 2654435761u >> 8 & 1023) / 512.0f;
}

/* Planes longer and shorter than a block of the sum, and no multiple of it. */
static void moments_are_exact_far_from_zero(void **state)
{
    (void)state;
    static const size_t shapes[][4] = {
        {3, 2, 45, 47}, {90, 2, 7, 1}, {33, 2, 8, 8}, {1500, 2, 1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        machine m = {0};
        const size_t N = shapes[i][0], P = shapes[i][2] * shapes[i][3];
        sh_value_id out[SH_MAX_OUTPUTS];
        assert_ok(sh_graph_new(&m.graph));
        const sh_value_id x = sh_graph_input(m.graph, (sh_type){SH_F32, sh_shape_of(4, shapes[i])});
        sh_graph_add(m.graph, SH_OP_moments, NULL, &x, out);
        sh_graph_output(m.graph, out[0]);
        sh_graph_output(m.graph, out[1]);
        start(&m);
        float *values = sh_execution_input(m.execution, 0);
        for (size_t j = 0; j < N * 2 * P; j++)
            values[j] = wandering(j, N * 2 * P);
        double mean = 0, variance = 0;
        for (size_t n = 0; n < N; n++)
            for (size_t j = 0; j < P; j++)
                mean += (double)values[(2 * n + 1) * P + j] / (double)(N * P);
        for (size_t n = 0; n < N; n++)
            for (size_t j = 0; j < P; j++)
                variance += pow((double)values[(2 * n + 1) * P + j] - mean, 2) / (double)(N * P);
        assert_ok(sh_execution_run(m.execution, NULL, NULL));
        const float *means = sh_execution_output(m.execution, 0);
        const float *variances = sh_execution_output(m.execution, 1);
        assert_true(fabs((double)means[1] - mean) <= 1.2e-7 * mean);
        assert_true(fabs((double)variances[1] - variance) <= 1e-6 * variance);
        stop(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_mean_what_pytorchs_do),
        cmocka_unit_test(dropout_keeps_what_its_keys_say),
        cmocka_unit_test(dropout_does_not_depend_on_the_grain),
        cmocka_unit_test(dropout_keeps_as_many_as_it_should),
        cmocka_unit_test(moments_are_exact_far_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
