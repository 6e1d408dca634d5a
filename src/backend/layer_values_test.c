/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares results and gradients of general layers with those of ONNX Runtime and PyTorch
 * (test/golden/make_layers.py), in all variants.
 */
#include <jansson.h>
#include <math.h>

#include "backend/program.h"
#include "base/test.h"
#include "graph/general_layers.h"
#include "graph/recurrent_layers.h"

#define MOST 8
#define RESULT 64

static json_t *load(void)
{
    static const char here[] = __FILE__, inner[] = "src/backend/layer_values_test.c";
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%.*stest/golden/layers.json", (int)(sizeof here - sizeof inner),
             here);
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (file == NULL)
        fail_msg("%s: line %d: %s", path, error.line, error.text);
    return file;
}

/* ---- layers by name -------------------------------------------------------------------------- */

static sh_value_id flattened(sh_net *net, const sh_value_id *out, size_t count)
{
    sh_value_id rows[3];
    for (size_t i = 0; i < count; i++) {
        const size_t elements =
            out[i] == SH_NO_VALUE ? 1 : sh_shape_count(&sh_graph_type(net->graph, out[i])->shape);
        rows[i] = sh_layer_reshape(net, out[i], sh_shape_of(1, &elements));
    }
    return sh_layer_concat(net, rows, count, 0);
}

static sh_value_id recurrent(sh_net *net, sh_cell cell, const json_t *settings,
                             const sh_value_id *in)
{
    const sh_recurrent of = {
        .cell = cell,
        .w = in[1],
        .r = in[2],
        .b = in[3],
        .h = in[4],
        .c = in[5],
        .p = SH_NO_VALUE,
        .reverse = json_is_true(json_object_get(settings, "reverse")),
        .reset_after = json_is_true(json_object_get(settings, "reset_after")),
        .relu = json_is_true(json_object_get(settings, "relu")),
        .wants = {true, true, true},
    };
    sh_value_id out[3];
    sh_net_recur(net, in[0], &of, out);
    return flattened(net, out, cell == SH_CELL_LSTM ? 3 : 2);
}

static size_t setting(const json_t *settings, const char *name)
{
    return (size_t)json_integer_value(json_object_get(settings, name));
}

static sh_value_id resized(sh_net *net, const json_t *settings, sh_value_id x)
{
    sh_resize of = {.position = (sh_resize_position)setting(settings, "position"),
                    .method = (sh_resize_method)setting(settings, "method")};
    for (size_t i = 0; i < 2; i++)
        of.scale[i] =
            (float)json_number_value(json_array_get(json_object_get(settings, "scale"), i));
    return sh_net_resize(net, x, &of);
}

static sh_value_id pooled(sh_net *net, const json_t *settings, sh_value_id x)
{
    const bool largest = json_is_true(json_object_get(settings, "max"));
    sh_attributes a = {.inside = json_is_true(json_object_get(settings, "inside"))};
    for (size_t i = 0; i < 2; i++) {
        const json_t *before = json_object_get(settings, "padding");
        const json_t *after = json_object_get(settings, "end_padding");
        a.kernel[i] = setting(settings, "kernel");
        a.stride[i] = setting(settings, "stride");
        a.padding[i] = (size_t)json_integer_value(json_array_get(before, i));
        a.end_padding[i] = (size_t)json_integer_value(json_array_get(after, i));
    }
    return sh_net_pool(net, largest ? SH_OP_max_pool : SH_OP_avg_pool, x, &a,
                       json_is_true(json_object_get(settings, "ceil")));
}

static sh_value_id make(sh_net *net, const char *name, const json_t *settings,
                        const sh_value_id *in)
{
    static const char *const cells[] = {
        [SH_CELL_LSTM] = "lstm", [SH_CELL_GRU] = "gru", [SH_CELL_RNN] = "rnn"};
    for (int cell = SH_CELL_LSTM; cell <= SH_CELL_RNN; cell++)
        if (strcmp(name, cells[cell]) == 0)
            return recurrent(net, (sh_cell)cell, settings, in);
    sh_value_id y = SH_NO_VALUE;
    if (strcmp(name, "depth_to_space") == 0)
        y = sh_net_depth_to_space(net, in[0], 2, json_is_true(json_object_get(settings, "crd")));
    else if (strcmp(name, "resize") == 0)
        y = resized(net, settings, in[0]);
    else if (strcmp(name, "pool") == 0)
        y = pooled(net, settings, in[0]);
    else if (strcmp(name, "space_to_depth") == 0)
        y = sh_net_space_to_depth(net, in[0], 2);
    else if (strcmp(name, "global_max_pool") == 0)
        y = sh_net_global_max_pool(net, in[0]);
    else if (strcmp(name, "layer_norm") == 0)
        y = sh_net_layer_norm(net, in[0], in[1], in[2], 1, 1e-2f);
    else if (strcmp(name, "conv_transposed") == 0)
        y = sh_net_convolve_transposed(
            net, in[0], in[1], in[2],
            &(sh_attributes){.stride = {0, 2}, .padding = {0, 1}, .end_padding = {0, 1}},
            (size_t[]){0, 1});
    else
        fail_msg("layers.json: layer %s is unknown", name);
    return flattened(net, &y, 1);
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct subject {
    const char *name;
    json_t *object;
    sh_graph *graph;
    size_t given[MOST], count; /* the layer's input, by input of the graph */
} subject;

static subject build(json_t *object)
{
    subject s = {.name = json_string_value(json_object_get(object, "layer")), .object = object};
    const json_t *inputs = json_object_get(object, "inputs");
    sh_value_id in[MOST];
    assert_ok(sh_graph_new(&s.graph));
    for (size_t i = 0; i < MOST; i++) {
        const json_t *shape = json_object_get(json_array_get(inputs, i), "shape");
        sh_type type = {SH_F32, {.rank = json_array_size(shape)}};
        in[i] = SH_NO_VALUE;
        if (type.shape.rank == 0)
            continue;
        for (size_t j = 0; j < type.shape.rank; j++)
            type.shape.dim[j] = (size_t)json_integer_value(json_array_get(shape, j));
        in[i] = sh_graph_input(s.graph, type);
        s.given[s.count++] = i;
    }
    sh_net net = {.graph = s.graph};
    const sh_value_id y = make(&net, s.name, json_object_get(object, "settings"), in);
    if (y == SH_NO_VALUE)
        fail_msg("%s: %s", s.name, s.graph->message);
    const sh_value_id seed = sh_graph_input(s.graph, *sh_graph_type(s.graph, y));
    sh_graph_output(s.graph, y);
    for (size_t i = 0; i < s.count; i++)
        sh_graph_output(s.graph, sh_graph_gradient_of(s.graph, y, seed, in[s.given[i]]));
    assert_ok(sh_graph_verify(s.graph));
    return s;
}

static void fill(float *to, const json_t *data)
{
    for (size_t i = 0; i < json_array_size(data); i++)
        to[i] = (float)json_number_value(json_array_get(data, i));
}

static void check(const subject *s, size_t which, const float *is, const json_t *expected,
                  const char *what)
{
    for (size_t i = 0; i < json_array_size(expected); i++) {
        const double wanted = json_number_value(json_array_get(expected, i));
        if (!(fabs((double)is[i] - wanted) <= 5e-6 * fmax(1, fabs(wanted))))
            fail_msg("case %zu, %s: %s element %zu is %.9g, expected %.9g", which, s->name, what, i,
                     (double)is[i], wanted);
    }
}

static size_t run(const subject *s, size_t which, const sh_kernels *kernels, float *outputs)
{
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    size_t used = 0;
    assert_ok(sh_program_compile(&program, s->graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, NULL));
    const json_t *inputs = json_object_get(s->object, "inputs");
    const json_t *gradients = json_object_get(s->object, "gradients");
    for (size_t i = 0; i < s->count; i++)
        fill(sh_execution_input(execution, i),
             json_object_get(json_array_get(inputs, s->given[i]), "data"));
    const sh_type *seed = sh_graph_type(s->graph, s->graph->inputs[s->count]);
    memset(sh_execution_input(execution, s->count), 0, sh_type_bytes(seed));
    fill(sh_execution_input(execution, s->count), json_object_get(s->object, "seed"));
    assert_ok(sh_execution_run(execution, NULL, NULL));
    for (size_t i = 0; i <= s->count; i++) {
        const float *is = sh_execution_output(execution, i);
        const json_t *expected = i == 0 ? json_object_get(s->object, "result")
                                        : json_array_get(gradients, s->given[i - 1]);
        const size_t count = sh_shape_count(&sh_graph_type(s->graph, s->graph->outputs[i])->shape);
        if (i == 0 || json_array_size(expected) > 0)
            assert_int_equal(json_array_size(expected), count);
        check(s, which, is, expected, i == 0 ? "the result's" : "a gradient's");
        assert_true(used + count <= (size_t)MOST * RESULT);
        memcpy(outputs + used, is, count * sizeof *is);
        used += count;
    }
    sh_execution_free(execution);
    sh_program_free(program);
    free(lane);
    free(shared);
    return used;
}

static void layers_mean_what_they_do_elsewhere(void **state)
{
    (void)state;
    json_t *file = load(), *cases = json_object_get(file, "cases");
    assert_true(json_array_size(cases) > 20);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const subject s = build(json_array_get(cases, i));
        float first[MOST * RESULT], other[MOST * RESULT];
        size_t used = 0;
        for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++) {
            if (!sh_variant_runs((*all)->variant))
                continue;
            const size_t count = run(&s, i, *all, used == 0 ? first : other);
            if (used > 0)
                assert_memory_equal(other, first, count * sizeof *first);
            used = count;
        }
        sh_graph_free(s.graph);
    }
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_mean_what_they_do_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
