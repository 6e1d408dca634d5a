/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/from_file.h"

#include <stdlib.h>

#include "onnx/import.h"
#include "onnx/onnx_fixture.h"
#include "onnx/skeleton.h"

static const struct network {
    const char *name;
    size_t sample[3], outputs;
} networks[] = {
    {"mlp", {1, 3, 4}, 3},         {"lenet_like", {1, 16, 16}, 4},
    {"resnet_like", {3, 8, 8}, 5}, {"mobilenet_like", {3, 12, 12}, 5},
    {"option_a", {2, 7, 6}, 3},    {"pieces", {2, 6, 6}, 3},
    {"attention", {1, 4, 4}, 3},   {"gates", {2, 5, 4}, 3},
    {"digits", {1, 28, 28}, 10},   {"line", {3, 1, 24}, 4},
};

#define NETWORKS (sizeof networks / sizeof *networks)

/* The weights are 1, 2, 3, ... */
typedef struct rewritten {
    sh_onnx *file, *back;
    sh_graph *graph;
    float **weights; /* by parameter */
    sh_arena arena;
    Sh__Onnx__ModelProto *model;
    uint8_t bytes[1 << 17];
    size_t count;
} rewritten;

static sh_status append(void *context, const void *bytes, size_t count)
{
    rewritten *r = context;
    assert_in_range(count, 0, sizeof r->bytes - r->count);
    if (count > 0)
        memcpy(r->bytes + r->count, bytes, count);
    r->count += count;
    return SH_OK;
}

static sh_graph *import(const sh_onnx *file, const struct network *n, size_t outputs)
{
    sh_net net = {0};
    const sh_onnx_wish wish = {.outputs = outputs, .target = SH_TARGET_CLASS};
    const sh_shape shape = sh_shape_of(4, (size_t[]){5, n->sample[0], n->sample[1], n->sample[2]});
    assert_ok(sh_graph_new(&net.graph));
    const sh_value_id x = sh_graph_input(net.graph, (sh_type){SH_F32, shape});
    sh_graph_output(net.graph, sh_onnx_build(&net, x, file, &wish));
    assert_ok(sh_graph_status(net.graph));
    return net.graph;
}

static size_t elements_of(const sh_graph *graph, size_t parameter)
{
    return sh_shape_count(&sh_graph_type(graph, graph->parameters[parameter].value)->shape);
}

static sh_from_file begin(rewritten *r, const struct network *n, size_t outputs)
{
    r->graph = import(r->file, n, outputs);
    r->weights = calloc(r->graph->parameter_count, sizeof *r->weights);
    for (size_t i = 0; i < r->graph->parameter_count; i++) {
        const size_t count = elements_of(r->graph, i);
        r->weights[i] = malloc(count * sizeof(float));
        for (size_t k = 0; k < count; k++)
            r->weights[i][k] = (float)(i * 1000 + k);
    }
    sh_arena_init(&r->arena);
    return (sh_from_file){
        .file = r->file,
        .sample = sh_shape_of(3, n->sample),
        .outputs = outputs,
        .target = SH_TARGET_CLASS,
        .graph = r->graph,
        .weights = (const float *const *)r->weights,
    };
}

static void open_file(rewritten *r, const char *name, const char *end)
{
    char path[64];
    memset(r, 0, sizeof *r);
    snprintf(path, sizeof path, "networks/%s%s.onnx", name, end);
    assert_ok(sh_onnx_open(&r->file, fixture_path(path)));
}

static void write_again(rewritten *r, const sh_from_file *of)
{
    assert_ok(sh_onnx_from_file(&r->model, of, &r->arena));
    assert_ok(sh_onnx_pack(r->model, append, r));
    assert_ok(sh_onnx_open_bytes(&r->back, "back", r->bytes, r->count));
}

static void release(rewritten *r)
{
    for (size_t i = 0; i < r->graph->parameter_count; i++)
        free(r->weights[i]);
    free(r->weights);
    sh_graph_free(r->graph);
    sh_arena_release(&r->arena);
    sh_onnx_close(r->file);
    sh_onnx_close(r->back);
}

static void compare_graphs(const sh_graph *a, const sh_graph *b)
{
    assert_int_equal(a->node_count, b->node_count);
    for (size_t i = 0; i < a->node_count; i++) {
        assert_int_equal(a->nodes[i].op, b->nodes[i].op);
        assert_true(sh_type_equal(sh_graph_type(a, a->nodes[i].out[0]),
                                  sh_graph_type(b, b->nodes[i].out[0])));
    }
    assert_int_equal(a->parameter_count, b->parameter_count);
    for (size_t i = 0; i < a->parameter_count; i++) {
        assert_string_equal(a->parameters[i].name, b->parameters[i].name);
        assert_int_equal(a->parameters[i].role, b->parameters[i].role);
        assert_true(a->parameters[i].momentum == b->parameters[i].momentum);
    }
}

/* Trained tensors have the values of the replica, all others those of the file. */
static void compare_values(const rewritten *r)
{
    for (size_t i = 0; i < r->graph->parameter_count; i++) {
        const sh_parameter *parameter = &r->graph->parameters[i];
        static float found[1 << 14];
        const Sh__Onnx__TensorProto *stored = sh_onnx_initializer(r->back, parameter->name);
        sh_onnx_tensor tensor;
        if (parameter->role == SH_ROLE_FROZEN)
            continue;
        assert_non_null(stored);
        assert_ok(sh_onnx_tensor_of(&tensor, r->back, stored));
        assert_int_equal(tensor.count, elements_of(r->graph, i));
        assert_in_range(tensor.count, 1, sizeof found / sizeof *found);
        assert_ok(sh_onnx_floats(r->back, &tensor, found));
        assert_memory_equal(found, r->weights[i], tensor.count * sizeof(float));
    }
}

/* Nodes of the file keep their names and order. Omitted nodes only computed a shape. */
static void compare_nodes(const rewritten *r)
{
    const Sh__Onnx__GraphProto *old = sh_onnx_graph(r->file), *fresh = sh_onnx_graph(r->back);
    size_t at = 0;
    for (size_t i = 0; i < fresh->n_node; i++) {
        const Sh__Onnx__NodeProto *node = fresh->node[i];
        if (strncmp(node->output[0], "value:", 6) == 0)
            continue;
        while (at < old->n_node && strcmp(old->node[at]->output[0], node->output[0]) != 0)
            at++;
        assert_in_range(at, 0, old->n_node - 1);
        assert_string_equal(old->node[at]->op_type, node->op_type);
        assert_string_equal(old->node[at]->name, node->name);
    }
    assert_string_equal(fresh->output[0]->name, old->output[0]->name);
    assert_string_equal(fresh->input[0]->name, old->input[0]->name);
}

static void test_what_is_written_is_the_network(void **state)
{
    (void)state;
    static const char *const ends[] = {"", "_new"};
    static rewritten r, again;
    for (size_t n = 0; n < 2 * NETWORKS; n++) {
        const struct network *network = &networks[n / 2];
        open_file(&r, network->name, ends[n % 2]);
        sh_from_file of = begin(&r, network, network->outputs);
        write_again(&r, &of);
        sh_graph *graph = import(r.back, network, network->outputs);
        compare_graphs(r.graph, graph);
        compare_values(&r);
        compare_nodes(&r);
        const Sh__Onnx__ValueInfoProto *ends_of[] = {sh_onnx_graph(r.back)->input[0],
                                                     sh_onnx_graph(r.back)->output[0]};
        for (size_t i = 0; i < 2; i++)
            assert_string_equal(ends_of[i]->type->tensor_type->shape->dim[0]->dim_param, "N");

        memset(&again, 0, sizeof again);
        sh_arena_init(&again.arena);
        of.file = r.back;
        write_again(&again, &of);
        assert_int_equal(again.count, r.count);
        assert_memory_equal(again.bytes, r.bytes, r.count);
        sh_onnx_close(again.back);
        sh_arena_release(&again.arena);
        sh_graph_free(graph);
        release(&r);
    }
}

static void test_a_new_last_layer_has_its_own_shape(void **state)
{
    (void)state;
    static rewritten r;
    open_file(&r, "digits", "_new");
    const sh_from_file of = begin(&r, &networks[8], 3);
    write_again(&r, &of);
    sh_graph *graph = import(r.back, &networks[8], 3);
    compare_graphs(r.graph, graph);
    const Sh__Onnx__GraphProto *back = sh_onnx_graph(r.back);
    assert_string_equal(back->node[back->n_node - 1]->op_type, "Softmax");
    assert_int_equal(back->output[0]->type->tensor_type->shape->dim[1]->dim_value, 3);
    sh_graph_free(graph);
    release(&r);
}

/* BatchNormalization and Dropout would give other results in training mode. */
static void test_training_is_left_out(void **state)
{
    (void)state;
    static rewritten r;
    open_file(&r, "digits", "");
    const sh_from_file of = begin(&r, &networks[8], 10);
    write_again(&r, &of);
    size_t seen = 0;
    for (size_t i = 0; i < sh_onnx_graph(r.back)->n_node; i++) {
        const Sh__Onnx__NodeProto *node = sh_onnx_graph(r.back)->node[i];
        const bool norm = strcmp(node->op_type, "BatchNormalization") == 0;
        if (!norm && strcmp(node->op_type, "Dropout") != 0)
            continue;
        seen++;
        assert_int_equal(node->n_output, 1);
        assert_int_equal(node->n_input, norm ? 5 : 2);
        for (size_t k = 0; k < node->n_attribute; k++)
            assert_string_not_equal(node->attribute[k]->name, "training_mode");
    }
    assert_int_equal(seen, 2);
    release(&r);
}

static void test_pixels_can_be_normalised_inside(void **state)
{
    (void)state;
    static const float numbers[] = {0.25f, 0.5f, 0.75f};
    static const struct {
        const char *name;
        size_t network;
    } cases[] = {{"resnet_like", 2}, {"mlp", 0}};
    static rewritten r;
    for (size_t i = 0; i < 2; i++) {
        open_file(&r, cases[i].name, "_new");
        sh_from_file of =
            begin(&r, &networks[cases[i].network], networks[cases[i].network].outputs);
        of.mean = of.deviation = numbers;
        write_again(&r, &of);
        const Sh__Onnx__GraphProto *back = sh_onnx_graph(r.back);
        assert_string_equal(back->node[0]->op_type, "Div");
        assert_string_equal(back->node[0]->input[0], back->input[0]->name);
        assert_string_equal(back->node[2]->op_type, "Div");
        size_t readers = 0;
        for (size_t k = 3; k < back->n_node; k++) {
            if (back->node[k]->n_input == 0)
                continue;
            assert_string_not_equal(back->node[k]->input[0], back->input[0]->name);
            readers += strcmp(back->node[k]->input[0], back->node[2]->output[0]) == 0;
        }
        assert_int_equal(readers, 1);
        release(&r);
    }
    open_file(&r, "line", "");
    sh_from_file of = begin(&r, &networks[9], 4);
    of.mean = of.deviation = numbers;
    assert_fails(sh_onnx_from_file(&r.model, &of, &r.arena), SH_UNSUPPORTED,
                 "72 numbers, not an image");
    release(&r);
}

static void test_what_cannot_be_written_is_said(void **state)
{
    (void)state;
    static rewritten r, other;
    open_file(&r, "mlp", "");
    sh_from_file of = begin(&r, &networks[0], 3);
    open_file(&other, "digits", "");
    const sh_from_file digits = begin(&other, &networks[8], 10);
    of.graph = digits.graph;
    assert_fails(sh_onnx_from_file(&r.model, &of, &r.arena), SH_NOT_FOUND,
                 "there are no values for the tensor");
    release(&other);
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_is_written_is_the_network, fixture_release),
        cmocka_unit_test_teardown(test_a_new_last_layer_has_its_own_shape, fixture_release),
        cmocka_unit_test_teardown(test_training_is_left_out, fixture_release),
        cmocka_unit_test_teardown(test_pixels_can_be_normalised_inside, fixture_release),
        cmocka_unit_test_teardown(test_what_cannot_be_written_is_said, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
