/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks that PyTorch's exporters wrote (test/onnx/networks/make_networks.py) must compute what
 * PyTorch computed, in grains of any size.
 */
#include "onnx/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/program.h"
#include "base/random.h"
#include "onnx/onnx_fixture.h"

#define SAMPLES 5
#define TOLERANCE 1e-4
#define DAMAGED 100 /* files of each network */

static sh_onnx *open_network(const char *name)
{
    char file[64];
    sh_onnx *model;
    snprintf(file, sizeof file, "networks/%s.onnx", name);
    assert_ok(sh_onnx_open(&model, fixture_path(file)));
    return model;
}

/* The caller owns them. */
static float *read_values(const char *name, size_t count)
{
    char file[64];
    snprintf(file, sizeof file, "networks/%s.values", name);
    FILE *stream = fopen(fixture_path(file), "rb");
    float *values = malloc((count + 1) * sizeof *values);
    assert_non_null(stream);
    assert_int_equal(fread(values, sizeof *values, count + 1, stream), count);
    fclose(stream);
    return values;
}

static const struct network {
    const char *name;
    size_t sample[3], outputs;
    size_t trained; /* tensors, as PyTorch counts parameters */
    size_t more;    /* additional ones that its new exporter makes of constants */
    char last;      /* final function that the loss contains: softmax, log-softmax or none */
} networks[] = {
    {"mlp", {1, 3, 4}, 3, 4, 0, 0},          {"lenet_like", {1, 16, 16}, 4, 8, 0, 'l'},
    {"resnet_like", {3, 8, 8}, 5, 20, 0, 0}, {"mobilenet_like", {3, 12, 12}, 5, 25, 0, 0},
    {"option_a", {2, 7, 6}, 3, 4, 0, 0},     {"pieces", {2, 6, 6}, 3, 10, 0, 's'},
    {"attention", {1, 4, 4}, 3, 18, 0, 0},   {"gates", {2, 5, 4}, 3, 15, 2, 0},
    {"digits", {1, 28, 28}, 10, 8, 0, 's'},  {"line", {3, 1, 24}, 4, 8, 0, 0},
    {"turned", {1, 5, 3}, 3, 16, 0, 0},      {"recurrent", {3, 1, 6}, 3, 11, 2, 0},
    {"sizes", {2, 6, 4}, 3, 6, 0, 0},        {"rarer", {1, 3, 10}, 3, 4, 0, 0},
    {"words", {1, 1, 6}, 3, 8, 1, 0},        {"untrained", {2, 6, 6}, 3, 12, 0, 0},
    {"heads", {3, 1, 5}, 3, 7, 0, 0},        {"chunks", {2, 5, 4}, 3, 8, 0, 0},
};

#define NETWORKS (sizeof networks / sizeof *networks)

typedef struct built {
    sh_net net;
    sh_value_id given;
    char notes[1024];
} built;

static void keep_note(void *context, const char *text)
{
    built *b = context;
    const size_t used = strlen(b->notes);
    snprintf(b->notes + used, sizeof b->notes - used, "%s\n", text);
}

static void build(built *b, const sh_onnx *model, size_t samples, const size_t *sample,
                  size_t outputs, sh_target target, bool training)
{
    *b = (built){.net = {.training = training}};
    assert_ok(sh_graph_new(&b->net.graph));
    const sh_shape shape = sh_shape_of(4, (size_t[]){samples, sample[0], sample[1], sample[2]});
    const sh_value_id x = sh_graph_input(b->net.graph, (sh_type){SH_F32, shape});
    if (training) {
        b->net.loss_weights =
            sh_graph_input(b->net.graph, (sh_type){SH_F32, sh_shape_of(1, &samples)});
        b->net.keys =
            sh_graph_input(b->net.graph, (sh_type){SH_I32, sh_shape_of(2, (size_t[]){samples, 2})});
    }
    const sh_onnx_wish wish = {
        .outputs = outputs, .target = target, .note = keep_note, .context = b};
    b->given = sh_onnx_build(&b->net, x, model, &wish);
}

/* In the order of the graph's parameters. The caller owns the array and its rows. */
static float **load_weights(const sh_graph *graph, const sh_onnx *model)
{
    float **weights = calloc(graph->parameter_count + 1, sizeof *weights);
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        const size_t count = sh_shape_count(&sh_graph_type(graph, parameter->value)->shape);
        const Sh__Onnx__TensorProto *stored = sh_onnx_initializer(model, parameter->name);
        sh_onnx_tensor tensor;
        weights[i] = aligned_alloc(64, sh_align_up(count * sizeof(float)));
        if (parameter->role == SH_ROLE_FROZEN) {
            for (size_t j = 0; j < count; j++)
                weights[i][j] = parameter->initial.kind == SH_INITIAL_VALUES
                                    ? parameter->initial.values[j]
                                    : parameter->initial.size;
            continue;
        }
        assert_non_null(stored);
        assert_ok(sh_onnx_tensor_of(&tensor, model, stored));
        assert_int_equal(tensor.count, count);
        assert_ok(sh_onnx_floats(model, &tensor, weights[i]));
    }
    return weights;
}

/* The graph omits the final function that PyTorch computed. */
static double finished(char last, const float *row, size_t outputs, size_t i)
{
    double sum = 0;
    for (size_t j = 0; j < outputs; j++)
        sum += exp((double)row[j]);
    return last == 's'   ? exp((double)row[i]) / sum
           : last == 'l' ? (double)row[i] - log(sum)
                         : (double)row[i];
}

/* Returns the largest difference to the results of PyTorch. */
static double difference(const built *b, const sh_onnx *model, const struct network *n,
                         size_t samples, const float *x, const float *y)
{
    const size_t inputs = n->sample[0] * n->sample[1] * n->sample[2];
    const sh_kernels *kernels;
    sh_program *program;
    sh_execution *execution;
    void *lane, *shared;
    double largest = 0;
    float **weights = load_weights(b->net.graph, model);
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_program_compile(&program, b->net.graph, kernels));
    assert_ok(sh_block_new(&lane, sh_program_lane_bytes(program), "lane memory"));
    assert_ok(sh_block_new(&shared, sh_program_shared_bytes(program), "shared memory"));
    assert_ok(sh_execution_new(&execution, program, lane, shared, weights));
    memcpy(sh_execution_input(execution, 0), x, samples * inputs * sizeof *x);
    assert_ok(sh_execution_prepare(execution));
    assert_ok(sh_execution_run(execution, NULL, NULL));
    const float *given = sh_execution_output(execution, 0);
    for (size_t j = 0; j < samples; j++)
        for (size_t i = 0; i < n->outputs; i++) {
            const double is = finished(n->last, given + j * n->outputs, n->outputs, i);
            largest = fmax(largest, fabs(is - (double)y[j * n->outputs + i]));
        }
    sh_execution_free(execution);
    sh_program_free(program);
    free(lane);
    free(shared);
    for (size_t i = 0; i < b->net.graph->parameter_count; i++)
        free(weights[i]);
    free(weights);
    return largest;
}

static void they_compute_what_pytorch_did(void **state)
{
    (void)state;
    static const size_t grains[] = {1, 2, SAMPLES};
    for (size_t i = 0; i < 2 * NETWORKS; i++) {
        const struct network *n = &networks[i / 2];
        char name[64];
        snprintf(name, sizeof name, "%s%s", n->name, i % 2 == 0 ? "" : "_new");
        sh_onnx *model = open_network(name);
        const size_t inputs = n->sample[0] * n->sample[1] * n->sample[2];
        float *x = read_values(n->name, SAMPLES * (inputs + n->outputs));
        for (size_t g = 0; g < sizeof grains / sizeof *grains; g++) {
            built b;
            build(&b, model, grains[g], n->sample, n->outputs, SH_TARGET_CLASS, false);
            assert_ok(sh_fail_in(sh_graph_status(b.net.graph), "%s", name));
            sh_graph_output(b.net.graph, b.given);
            assert_ok(sh_graph_verify(b.net.graph));
            const double off = difference(&b, model, n, grains[g], x, x + SAMPLES * inputs);
            if (!(off <= TOLERANCE))
                fail_msg("%s, grains of %zu: off by %g", name, grains[g], off);
            sh_graph_free(b.net.graph);
        }
        free(x);
        sh_onnx_close(model);
    }
}

/* The parameters are those that PyTorch trains. */
static void they_can_be_trained(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * NETWORKS; i++) {
        const struct network *n = &networks[i / 2];
        char name[64];
        built b;
        size_t trained = 0;
        snprintf(name, sizeof name, "%s%s", n->name, i % 2 == 0 ? "" : "_new");
        sh_onnx *model = open_network(name);
        build(&b, model, 4, n->sample, n->outputs, SH_TARGET_CLASS, true);
        sh_graph *graph = b.net.graph;
        assert_ok(sh_fail_in(sh_graph_status(graph), "%s", name));
        const sh_value_id seed = sh_graph_input(graph, *sh_graph_type(graph, b.given));
        sh_graph_differentiate(graph, b.given, seed);
        assert_ok(sh_fail_in(sh_graph_verify(graph), "%s", name));
        for (size_t p = 0; p < graph->parameter_count; p++)
            trained += graph->parameters[p].role == SH_ROLE_TRAINED;
        if (trained != n->trained + (i % 2 == 0 ? 0 : n->more))
            fail_msg("%s: %zu are trained", name, trained);
        assert_int_equal(strstr(b.notes, "is left out: the loss includes it") != NULL,
                         n->last != 0);
        sh_graph_free(graph);
        sh_onnx_close(model);
    }
}

static void the_last_layer_follows_the_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * NETWORKS; i++) {
        const struct network *n = &networks[i / 2];
        char name[64];
        built b;
        snprintf(name, sizeof name, "%s%s", n->name, i % 2 == 0 ? "" : "_new");
        sh_onnx *model = open_network(name);
        build(&b, model, 2, n->sample, 11, SH_TARGET_CLASS, true);
        assert_ok(sh_fail_in(sh_graph_status(b.net.graph), "%s", name));
        const sh_shape expected = sh_shape_of(2, (size_t[]){2, 11});
        assert_true(sh_shape_equal(&sh_graph_type(b.net.graph, b.given)->shape, &expected));
        assert_non_null(strstr(b.notes, "it is replaced;"));
        sh_graph_free(b.net.graph);
        sh_onnx_close(model);
    }
}

static void samples_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t sample[3];
        const char *part;
    } bad[] = {
        {"mlp", {3, 8, 8}, "is 1x1x3x4, the data's samples are 3x8x8"},
        {"mlp", {1, 4, 4}, "node '"},
        {"line", {2, 4, 24}, "is 1x3x24, the data's samples are 2x4x24"},
        {"lenet_like", {1, 4, 4}, "the kernel of weights 3x1x5x5 does not fit into input"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        built b;
        sh_onnx *model = open_network(bad[i].name);
        build(&b, model, 2, bad[i].sample, 3, SH_TARGET_CLASS, true);
        assert_int_equal(b.given, SH_NO_VALUE);
        const sh_status status = sh_graph_status(b.net.graph);
        assert_true(status == SH_INVALID || status == SH_UNSUPPORTED);
        if (strstr(sh_message(), bad[i].part) == NULL)
            fail_msg("'%s' does not say '%s'", sh_message(), bad[i].part);
        sh_graph_free(b.net.graph);
        sh_onnx_close(model);
    }
}

/* Each refused node is reported with its own cause. */
static void all_that_is_wrong_is_told(void **state)
{
    (void)state;
    static const size_t sample[] = {1, 16, 16};
    Sh__Onnx__ModelProto *changed = fixture_unpack("networks/lenet_like.onnx");
    Sh__Onnx__GraphProto *graph = changed->graph;
    sh_onnx *model;
    built b;
    size_t convolutions = 0;
    for (size_t i = 0; i < graph->n_node; i++) {
        Sh__Onnx__NodeProto *node = graph->node[i];
        if (strcmp(node->op_type, "Conv") == 0 && convolutions++ == 0)
            for (size_t j = 0; j < node->n_attribute; j++)
                if (strcmp(node->attribute[j]->name, "strides") == 0)
                    node->attribute[j]->ints[0] = -3;
        if (strcmp(node->op_type, "Gemm") == 0)
            node->op_type = "Determinant";
    }
    assert_ok(fixture_open(&model, changed));
    build(&b, model, 2, sample, 4, SH_TARGET_CLASS, true);
    const sh_status status = sh_graph_status(b.net.graph);
    assert_int_equal(status, SH_UNSUPPORTED);
    static const char *const parts[] = {"(Conv): strides has -3; node ",
                                        "(Determinant): this operator cannot be trained through"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(sh_message(), parts[i]) == NULL)
            fail_msg("'%s' does not say '%s'", sh_message(), parts[i]);
    assert_null(strstr(sh_message(), "MaxPool")); /* only its input is missing */
    sh_graph_free(b.net.graph);
    sh_onnx_close(model);
}

/* A damaged file is refused or becomes a valid graph. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    sh_random random = sh_random_for(16, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < 2 * NETWORKS; i++) {
        const struct network *n = &networks[i / 2];
        char file[64];
        size_t count, opened = 0;
        snprintf(file, sizeof file, "networks/%s%s.onnx", n->name, i % 2 == 0 ? "" : "_new");
        const uint8_t *bytes = fixture_bytes(file, &count);
        uint8_t *damaged = fixture_alloc(NULL, count);
        for (size_t j = 0; j < DAMAGED; j++) {
            sh_onnx *model;
            built b;
            memcpy(damaged, bytes, count);
            for (uint32_t k = sh_random_below(&random, 3) + 1; k > 0; k--)
                damaged[sh_random_below(&random, (uint32_t)count)] =
                    (uint8_t)sh_random_below(&random, 256);
            if (sh_onnx_open_bytes(&model, "damaged.onnx", damaged, count) != SH_OK)
                continue;
            opened++;
            build(&b, model, 3, n->sample, n->outputs + j % 2, SH_TARGET_CLASS, true);
            if (sh_graph_status(b.net.graph) == SH_OK)
                assert_ok(sh_graph_verify(b.net.graph));
            sh_graph_free(b.net.graph);
            sh_onnx_close(model);
        }
        assert_true(opened > 0);
    }
}

static void try_changed(const Sh__Onnx__ModelProto *changed, const struct network *n)
{
    sh_onnx *model;
    built b;
    if (fixture_open(&model, changed) != SH_OK)
        return;
    build(&b, model, 3, n->sample, n->outputs, SH_TARGET_CLASS, true);
    if (sh_graph_status(b.net.graph) == SH_OK)
        assert_ok(sh_graph_verify(b.net.graph));
    sh_graph_free(b.net.graph);
    sh_onnx_close(model);
}

/* `number` may be unaligned. */
static void try_numbers(void *number, const Sh__Onnx__ModelProto *changed, const struct network *n)
{
    static const int64_t extreme[] = {INT64_MIN, 0, 1 << 20, INT32_MAX, INT64_MAX};
    int64_t kept;
    memcpy(&kept, number, sizeof kept);
    for (size_t i = 0; i < sizeof extreme / sizeof *extreme; i++) {
        memcpy(number, &extreme[i], sizeof kept);
        try_changed(changed, n);
    }
    memcpy(number, &kept, sizeof kept);
}

static void hostile_integers_do_no_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < NETWORKS; i++) {
        const struct network *n = &networks[i];
        char file[64];
        snprintf(file, sizeof file, "networks/%s%s.onnx", n->name, i % 2 == 0 ? "" : "_new");
        Sh__Onnx__ModelProto *model = fixture_unpack(file);
        const Sh__Onnx__GraphProto *graph = model->graph;
        for (size_t j = 0; j < graph->n_node; j++)
            for (size_t k = 0; k < graph->node[j]->n_attribute; k++) {
                Sh__Onnx__AttributeProto *attribute = graph->node[j]->attribute[k];
                if (attribute->has_i)
                    try_numbers(&attribute->i, model, n);
                for (size_t m = 0; m < attribute->n_ints; m++)
                    try_numbers(&attribute->ints[m], model, n);
                if (attribute->t != NULL && attribute->t->data_type == SH_ONNX_INT64)
                    for (size_t m = 0; m + 8 <= attribute->t->raw_data.len; m += 8)
                        try_numbers(attribute->t->raw_data.data + m, model, n);
            }
        for (size_t j = 0; j < graph->n_initializer; j++) {
            Sh__Onnx__TensorProto *tensor = graph->initializer[j];
            for (size_t m = 0; m < tensor->n_dims; m++)
                try_numbers(&tensor->dims[m], model, n);
            if (tensor->data_type == SH_ONNX_INT64)
                for (size_t m = 0; m + 8 <= tensor->raw_data.len; m += 8)
                    try_numbers(tensor->raw_data.data + m, model, n);
        }
        sh_arena_release(&fixture_arena);
    }
}

static void other_types_do_no_harm(void **state)
{
    (void)state;
    static const int32_t types[] = {
        SH_ONNX_INT32, SH_ONNX_UINT8, SH_ONNX_INT64, SH_ONNX_DOUBLE, SH_ONNX_BOOL, 0, 99};
    for (size_t i = 0; i < NETWORKS; i++) {
        const struct network *n = &networks[i];
        char file[64];
        snprintf(file, sizeof file, "networks/%s%s.onnx", n->name, i % 2 == 0 ? "" : "_new");
        Sh__Onnx__ModelProto *model = fixture_unpack(file);
        for (size_t j = 0; j < model->graph->n_initializer; j++) {
            Sh__Onnx__TensorProto *tensor = model->graph->initializer[j];
            const Sh__Onnx__TensorProto kept = *tensor;
            size_t count = 1;
            for (size_t k = 0; k < tensor->n_dims; k++)
                count *= (size_t)tensor->dims[k];
            tensor->raw_data.data = fixture_alloc(NULL, 8 * count);
            memset(tensor->raw_data.data, 0, 8 * count);
            for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
                tensor->data_type = types[k];
                tensor->raw_data.len = count * sh_onnx_type_bytes(types[k]);
                try_changed(model, n);
            }
            *tensor = kept;
        }
        sh_arena_release(&fixture_arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_compute_what_pytorch_did),
        cmocka_unit_test(they_can_be_trained),
        cmocka_unit_test(the_last_layer_follows_the_data),
        cmocka_unit_test(samples_that_do_not_fit_are_refused),
        cmocka_unit_test(all_that_is_wrong_is_told),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(hostile_integers_do_no_harm),
        cmocka_unit_test(other_types_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, fixture_release);
}
