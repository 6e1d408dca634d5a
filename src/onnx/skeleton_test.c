/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/skeleton.h"

#include "onnx/onnx_fixture.h"
#include "onnx/roles.h"

static void make_of(sh_skeleton *skeleton, const char *name)
{
    sh_onnx *model;
    assert_ok(sh_onnx_open(&model, fixture_path(name)));
    assert_ok(sh_skeleton_make(skeleton, model));
    sh_onnx_close(model);
}

static void test_a_skeleton_is_a_model_without_what_is_trained(void **state)
{
    (void)state;
    sh_skeleton skeleton, again;
    sh_onnx *whole, *model;
    sh_onnx_role roles[16];
    assert_ok(sh_onnx_open(&whole, fixture_path("cnn.onnx")));
    assert_ok(sh_skeleton_make(&skeleton, whole));
    assert_in_range(skeleton.count, 500, 1500);
    assert_ok(sh_onnx_open_bytes(&model, "skeleton", skeleton.bytes, skeleton.count));
    assert_true(sh_onnx_is_skeleton(model));
    assert_int_equal(sh_onnx_opset(model), sh_onnx_opset(whole));
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model), *other = sh_onnx_graph(whole);
    assert_int_equal(graph->n_node, other->n_node);
    assert_int_equal(graph->n_initializer, other->n_initializer);
    assert_in_range(graph->n_initializer, 1, 16);
    assert_ok(sh_onnx_roles(roles, model));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        sh_onnx_tensor tensor, full;
        float values[4096];
        assert_ok(sh_onnx_tensor_of(&tensor, model, graph->initializer[i]));
        assert_ok(sh_onnx_tensor_of(&full, whole, other->initializer[i]));
        assert_string_equal(tensor.name, full.name);
        assert_memory_equal(tensor.dim, full.dim, sizeof tensor.dim);
        assert_int_equal(tensor.type, full.type);
        assert_int_equal(sh_onnx_has_data(model, &tensor), roles[i] == SH_ONNX_CONSTANT);
        assert_true(sh_onnx_has_data(whole, &full));
        if (roles[i] != SH_ONNX_CONSTANT)
            assert_fails(sh_onnx_floats(model, &tensor, values), SH_NOT_FOUND,
                         "its values are not in this file");
    }
    assert_ok(sh_skeleton_make(&again, model));
    assert_int_equal(again.count, skeleton.count);
    assert_memory_equal(again.bytes, skeleton.bytes, skeleton.count);
    assert_string_equal(again.digest, skeleton.digest);
    sh_skeleton_release(&again);
    sh_onnx_close(model);
    sh_onnx_close(whole);
    sh_skeleton_release(&skeleton);
}

static void test_a_skeleton_is_the_network_alone(void **state)
{
    (void)state;
    sh_skeleton skeleton, other;
    sh_onnx *opened;
    make_of(&skeleton, "mlp.onnx");
    /* The digest must be the same for all versions and platforms. */
    assert_string_equal(skeleton.digest,
                        "f80c71ea2c3c6290a808d5fa520d3f33aca46664d2dbb4375bc04e7fe5b2aa6b");
    make_of(&other, "outside.onnx");
    assert_string_equal(other.digest, skeleton.digest);
    sh_skeleton_release(&other);
    for (int i = 0; i < 6; i++) {
        Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
        if (i == 0) { /* other weights and documentation */
            model->graph->initializer[0]->raw_data.data[5] ^= 1;
            model->producer_name = fixture_text("somebody else");
            model->opset_import[0]->domain = fixture_text("ai.onnx");
            model->graph->node[1]->domain = fixture_text("ai.onnx");
        }
        if (i == 1)
            model->graph->node[0]->attribute[0]->i = 0;
        if (i == 2)
            model->opset_import[0]->version = 16;
        if (i == 3)
            model->graph->node[1]->name = fixture_text("dense");
        if (i == 4)
            model->graph->initializer[1]->data_type = SH_ONNX_INT32;
        if (i == 5)
            model->graph->input[0]->type->tensor_type->shape->dim[1]->dim_value = 3;
        assert_ok(fixture_open(&opened, model));
        assert_ok(sh_skeleton_make(&other, opened));
        assert_int_equal(strcmp(other.digest, skeleton.digest) == 0, i == 0);
        sh_onnx_close(opened);
        sh_skeleton_release(&other);
    }
    sh_skeleton_release(&skeleton);
}

static void test_constants_stay(void **state)
{
    (void)state;
    sh_skeleton skeleton;
    sh_onnx *whole, *model;
    assert_ok(sh_onnx_open(&whole, fixture_path("types.onnx")));
    assert_ok(sh_skeleton_make(&skeleton, whole));
    assert_ok(sh_onnx_open_bytes(&model, "skeleton", skeleton.bytes, skeleton.count));
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model), *other = sh_onnx_graph(whole);
    for (size_t i = 0; i <= graph->n_initializer; i++) {
        sh_onnx_tensor tensor, full;
        uint8_t raw[2][64];
        const bool is_last = i == graph->n_initializer; /* the tensor of the Constant */
        const size_t node = graph->n_node - 2;
        assert_ok(sh_onnx_tensor_of(
            &tensor, model, is_last ? graph->node[node]->attribute[0]->t : graph->initializer[i]));
        assert_ok(sh_onnx_tensor_of(
            &full, whole, is_last ? other->node[node]->attribute[0]->t : other->initializer[i]));
        assert_ok(sh_onnx_raw(model, &tensor, raw[0]));
        assert_ok(sh_onnx_raw(whole, &full, raw[1]));
        assert_memory_equal(raw[0], raw[1],
                            tensor.count * sh_onnx_type_bytes((int64_t)tensor.type));
    }
    sh_onnx_close(model);
    sh_onnx_close(whole);
    sh_skeleton_release(&skeleton);
}

static void test_what_does_not_fit_is_refused(void **state)
{
    (void)state;
    sh_skeleton skeleton;
    sh_onnx *opened;
    Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
    Sh__Onnx__TensorProto *tensor = model->graph->initializer[0];
    tensor->data_type = 8; /* texts */
    assert_ok(fixture_open(&opened, model));
    assert_fails(sh_skeleton_make(&skeleton, opened), SH_UNSUPPORTED,
                 "changed.onnx: tensor 'fc1.weight' has elements of type 8");
    sh_onnx_close(opened);
    tensor->data_type = SH_ONNX_UINT8;
    tensor->dims[0] = SH_SKELETON_MOST + 1;
    tensor->n_dims = 1;
    tensor->raw_data.len = SH_SKELETON_MOST + 1;
    tensor->raw_data.data = fixture_alloc(NULL, SH_SKELETON_MOST + 1);
    assert_ok(fixture_open(&opened, model));
    assert_fails(sh_skeleton_make(&skeleton, opened), SH_LIMIT, "more than 16 MiB");
    sh_onnx_close(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_skeleton_is_a_model_without_what_is_trained,
                                  fixture_release),
        cmocka_unit_test_teardown(test_a_skeleton_is_the_network_alone, fixture_release),
        cmocka_unit_test_teardown(test_constants_stay, fixture_release),
        cmocka_unit_test_teardown(test_what_does_not_fit_is_refused, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
