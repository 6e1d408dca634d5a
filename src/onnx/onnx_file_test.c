/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_file.h"

#include <stdbool.h>

#include "base/random.h"
#include "base/scratch.h"
#include "onnx/onnx_fixture.h"

/* The values called eighths in test/onnx/make_fixtures.py. */
static float eighth(size_t index)
{
    return (float)((int)(index % 17) - 8) / 8;
}

static void check_mlp(const sh_onnx *model)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    static const char *const operators[] = {"Flatten", "Gemm", "Relu", "Gemm"};
    assert_int_equal(sh_onnx_opset(model), 17);
    assert_false(sh_onnx_is_skeleton(model));
    assert_int_equal(graph->n_node, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(graph->node[i]->op_type, operators[i]);
    assert_string_equal(graph->node[1]->input[1], "fc1.weight");
    assert_string_equal(graph->node[1]->domain, "");
    assert_int_equal(graph->n_input, 1);
    const Sh__Onnx__TensorShapeProto *shape = graph->input[0]->type->tensor_type->shape;
    assert_int_equal(shape->n_dim, 4);
    assert_false(shape->dim[0]->has_dim_value);
    assert_string_equal(shape->dim[0]->dim_param, "N");
    assert_int_equal(shape->dim[2]->dim_value, 4);
    assert_int_equal(graph->n_initializer, 4);
    for (size_t i = 0; i < 4; i++) {
        sh_onnx_tensor tensor;
        float values[128];
        assert_ptr_equal(sh_onnx_initializer(model, graph->initializer[i]->name),
                         graph->initializer[i]);
        assert_ok(sh_onnx_tensor_of(&tensor, model, graph->initializer[i]));
        assert_int_equal(tensor.type, SH_ONNX_FLOAT);
        assert_true(sh_onnx_has_data(model, &tensor));
        assert_in_range(tensor.count, 3, 128);
        assert_ok(sh_onnx_floats(model, &tensor, values));
        for (size_t k = 0; k < tensor.count; k++)
            assert_true(values[k] == eighth(k));
    }
    assert_null(sh_onnx_initializer(model, "fc3.weight"));
}

static void test_a_model_is_opened(void **state)
{
    (void)state;
    sh_onnx *model;
    size_t count;
    const uint8_t *bytes = fixture_bytes("mlp.onnx", &count);
    assert_ok(sh_onnx_open(&model, fixture_path("mlp.onnx")));
    check_mlp(model);
    sh_onnx_close(model);
    assert_ok(sh_onnx_open_bytes(&model, "mlp", bytes, count));
    check_mlp(model);
    assert_string_equal(sh_onnx_path(model), "mlp");
    sh_onnx_close(model);
    assert_ok(sh_onnx_open(&model, fixture_path("outside.onnx")));
    check_mlp(model);
    sh_onnx_close(model);
    assert_ok(sh_onnx_open(&model, fixture_path("cnn.onnx")));
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    assert_string_equal(graph->node[1]->op_type, "BatchNormalization");
    assert_int_equal(graph->input[0]->type->tensor_type->shape->dim[0]->dim_value, 2);
    sh_onnx_close(model);
    sh_onnx_close(NULL);
}

static void test_all_types_in_all_encodings_are_read(void **state)
{
    (void)state;
    sh_onnx *model;
    assert_ok(sh_onnx_open(&model, fixture_path("types.onnx")));
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    assert_int_equal(graph->n_initializer, 26);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        sh_onnx_tensor tensor;
        float floats[4] = {0};
        int64_t integers[4] = {0};
        assert_ok(sh_onnx_tensor_of(&tensor, model, graph->initializer[i]));
        assert_int_equal(tensor.rank, 2);
        assert_int_equal(tensor.dim[0], 2);
        assert_int_equal(tensor.count, 4);
        const bool is_bool = tensor.type == SH_ONNX_BOOL;
        const bool is_signed = tensor.name[0] != 'u' && !is_bool;
        const int expected[4] = {is_bool ? 1 : is_signed ? -2 : 2, 0, 1, is_bool ? 1 : 3};
        if (sh_onnx_type_is_float((int64_t)tensor.type)) {
            assert_ok(sh_onnx_floats(model, &tensor, floats));
            assert_fails(sh_onnx_integers(model, &tensor, integers), SH_INVALID, tensor.name);
        } else {
            assert_ok(sh_onnx_integers(model, &tensor, integers));
            assert_fails(sh_onnx_floats(model, &tensor, floats), SH_INVALID, tensor.name);
        }
        for (size_t k = 0; k < 4; k++)
            if (floats[k] != (float)expected[k] && integers[k] != expected[k])
                fail_msg("%s[%zu]: %g, %lld", tensor.name, k, (double)floats[k],
                         (long long)integers[k]);
    }
    for (size_t i = 0; i < graph->n_initializer; i += 2) {
        sh_onnx_tensor tensors[2];
        uint8_t raw[2][32];
        for (size_t k = 0; k < 2; k++) {
            assert_ok(sh_onnx_tensor_of(&tensors[k], model, graph->initializer[i + k]));
            assert_ok(sh_onnx_raw(model, &tensors[k], raw[k]));
        }
        assert_memory_equal(raw[0], raw[1], 4 * sh_onnx_type_bytes((int64_t)tensors[0].type));
    }
    sh_onnx_close(model);
}

static void test_what_is_no_onnx_file_says_what_it_looks_like(void **state)
{
    (void)state;
    sh_onnx *model;
    assert_fails(sh_onnx_open_bytes(&model, "photo.onnx", "\x89PNG\r\n", 6), SH_FORMAT,
                 "photo.onnx: is not an ONNX file but looks like a PNG picture");
    assert_fails(sh_onnx_open_bytes(&model, "empty.onnx", "", 0), SH_FORMAT, "an empty file");
    assert_fails(sh_onnx_open_bytes(&model, "net.onnx", "PK\3\4abcdefgh", 12), SH_FORMAT,
                 "torch.onnx.export()");
    assert_fails(sh_onnx_open_bytes(&model, "odd.onnx", "\xff\xff\xff\xff\xff\xff", 6), SH_CORRUPT,
                 "odd.onnx: is not an ONNX file, or damaged: is cut short");
    assert_fails(sh_onnx_open(&model, "/nowhere/a.onnx"), SH_NOT_FOUND, "/nowhere/a.onnx");
    assert_fails(sh_onnx_open(&model, "/"), SH_INVALID, "is not a file");
}

typedef void change(Sh__Onnx__ModelProto *model);

static void take_nothing(Sh__Onnx__ModelProto *model)
{
    model->graph->node[2]->input[0] = fixture_text("nowhere");
}
static void take_own_output(Sh__Onnx__ModelProto *model)
{
    model->graph->node[2]->input[0] = fixture_text("active");
}
static void make_a_circle(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->input[0] = fixture_text("hidden");
}
static void lose_an_initialiser(Sh__Onnx__ModelProto *model)
{
    model->graph->n_initializer--;
}
static void name_twice(Sh__Onnx__ModelProto *model)
{
    model->graph->node[2]->output[0] = fixture_text("flat");
}
static void name_as_an_initialiser(Sh__Onnx__ModelProto *model)
{
    model->graph->node[2]->output[0] = fixture_text("fc1.bias");
}
static void name_initialisers_alike(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[3]->name = fixture_text("fc1.bias");
}
static void name_no_initialiser(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[3]->name = NULL;
}
static void say_no_operator(Sh__Onnx__ModelProto *model)
{
    model->graph->node[1]->op_type = NULL;
    model->graph->node[1]->name = NULL;
}
static void have_no_nodes(Sh__Onnx__ModelProto *model)
{
    model->graph->n_node = 0;
}
static void have_no_outputs(Sh__Onnx__ModelProto *model)
{
    model->graph->n_output = 0;
}
static void miss_the_output(Sh__Onnx__ModelProto *model)
{
    model->graph->output[0]->name = fixture_text("classes");
}
static void have_no_graph(Sh__Onnx__ModelProto *model)
{
    model->graph = NULL;
}
static void have_an_input_without_type(Sh__Onnx__ModelProto *model)
{
    model->graph->input[0]->type = NULL;
}
static void have_an_input_of_rank_9(Sh__Onnx__ModelProto *model)
{
    Sh__Onnx__TensorShapeProto *shape = model->graph->input[0]->type->tensor_type->shape;
    Sh__Onnx__TensorShapeProto__Dimension **dim = fixture_alloc(NULL, 9 * sizeof *dim);
    for (size_t i = 0; i < 9; i++)
        dim[i] = shape->dim[1];
    shape->dim = dim;
    shape->n_dim = 9;
}
static void have_a_vast_input(Sh__Onnx__ModelProto *model)
{
    model->graph->input[0]->type->tensor_type->shape->dim[1]->dim_value = INT64_MAX;
}
static void use_opset_6(Sh__Onnx__ModelProto *model)
{
    model->opset_import[0]->version = 6;
}
static void use_opset_24(Sh__Onnx__ModelProto *model)
{
    model->opset_import[0]->version = 24;
}
static void use_another_domain(Sh__Onnx__ModelProto *model)
{
    model->opset_import[0]->domain = fixture_text("com.microsoft");
}
static void use_no_opset(Sh__Onnx__ModelProto *model)
{
    model->n_opset_import = 0;
}
static void use_two_opsets(Sh__Onnx__ModelProto *model)
{
    static Sh__Onnx__OperatorSetIdProto other = SH__ONNX__OPERATOR_SET_ID_PROTO__INIT;
    static Sh__Onnx__OperatorSetIdProto *both[2] = {NULL, &other};
    other.domain = fixture_text("ai.onnx");
    other.has_version = 1;
    other.version = 18;
    both[0] = model->opset_import[0];
    model->opset_import = both;
    model->n_opset_import = 2;
}
static void have_a_subgraph(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->attribute[0]->type = 5;
}
static void have_a_sparse_attribute(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->attribute[0]->type = 11;
}
static void have_an_attribute_of_no_type(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->attribute[0]->has_type = 0;
}
static void have_an_attribute_without_tensor(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->attribute[0]->type = SH_ONNX_ATTRIBUTE_TENSOR;
}
static void have_an_attribute_without_name(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->attribute[0]->name = NULL;
}
static void have_an_attribute_of_a_function(Sh__Onnx__ModelProto *model)
{
    model->graph->node[0]->attribute[0]->ref_attr_name = fixture_text("axis");
}
static void have_an_attribute_twice(Sh__Onnx__ModelProto *model)
{
    Sh__Onnx__NodeProto *node = model->graph->node[0];
    Sh__Onnx__AttributeProto **both = fixture_alloc(NULL, 2 * sizeof *both);
    both[0] = both[1] = node->attribute[0];
    node->attribute = both;
    node->n_attribute = 2;
}
static void have_65_attributes(Sh__Onnx__ModelProto *model)
{
    Sh__Onnx__NodeProto *node = model->graph->node[0];
    Sh__Onnx__AttributeProto **all = fixture_alloc(NULL, 65 * sizeof *all);
    for (size_t i = 0; i < 65; i++)
        all[i] = node->attribute[0];
    node->attribute = all;
    node->n_attribute = 65;
}
static void have_a_vast_tensor(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->dims[0] = INT64_C(1) << 61;
}
static void have_a_tensor_of_2_to_63(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->dims[0] = INT64_MAX;
}
static void have_a_negative_tensor(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->dims[0] = INT64_MIN;
}
static void have_a_larger_tensor(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->dims[0] = 9;
}
static void have_a_double_tensor(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->data_type = SH_ONNX_DOUBLE;
}
static void have_no_values(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->has_raw_data = 0;
}
static void have_values_in_two_files(Sh__Onnx__ModelProto *model)
{
    model->graph->initializer[0]->has_data_location = 1;
    model->graph->initializer[0]->data_location = 1;
}
static void have_values_outside_a_model_in_memory(Sh__Onnx__ModelProto *model)
{
    Sh__Onnx__TensorProto *tensor = model->graph->initializer[0];
    static Sh__Onnx__StringStringEntryProto entry = SH__ONNX__STRING_STRING_ENTRY_PROTO__INIT;
    static Sh__Onnx__StringStringEntryProto *entries[1] = {&entry};
    tensor->has_data_location = 1;
    tensor->data_location = 1;
    tensor->has_raw_data = 0;
    entry.key = fixture_text("location");
    entry.value = fixture_text("data");
    tensor->external_data = entries;
    tensor->n_external_data = 1;
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    const struct {
        change *change;
        sh_status status;
        const char *text;
    } cases[] = {
        {take_nothing, SH_FORMAT, "node 'relu1' (Relu) takes 'nowhere', which is not an input"},
        {take_own_output, SH_FORMAT,
         "takes 'active', made by node 'relu1' (Relu), the node itself"},
        {make_a_circle, SH_FORMAT, "takes 'hidden', made by node 'fc1' (Gemm), a later node"},
        {lose_an_initialiser, SH_FORMAT, "takes 'fc2.bias', which is not an input"},
        {name_twice, SH_FORMAT,
         "'flat' is made twice, by node 'flatten' (Flatten) and by node 'relu1'"},
        {name_as_an_initialiser, SH_FORMAT,
         "'fc1.bias' is made twice, by the graph's initialisers"},
        {name_initialisers_alike, SH_FORMAT, "'fc1.bias' is made twice"},
        {name_no_initialiser, SH_FORMAT, "one of the graph's initialisers has no name"},
        {say_no_operator, SH_FORMAT, "node 2 (): it names no operator"},
        {have_no_nodes, SH_FORMAT, "no nodes"},
        {have_no_outputs, SH_FORMAT, "no outputs"},
        {miss_the_output, SH_FORMAT, "nothing makes its output 'classes'"},
        {have_no_graph, SH_FORMAT, "no graph"},
        {have_an_input_without_type, SH_UNSUPPORTED, "input 'image' is not a tensor"},
        {have_an_input_of_rank_9, SH_UNSUPPORTED, "'image' has 9 dimensions"},
        {have_a_vast_input, SH_LIMIT, "'image' has a dimension of 9223372036854775807"},
        {use_opset_6, SH_VERSION, "operator set 6, and 7 to 23 are known"},
        {use_opset_24, SH_VERSION, "operator set 24"},
        {use_another_domain, SH_VERSION, "does not say which operator set"},
        {use_no_opset, SH_VERSION, "does not say which operator set"},
        {use_two_opsets, SH_FORMAT, "two operator sets, 17 and 18"},
        {have_a_subgraph, SH_UNSUPPORTED,
         "node 'flatten' (Flatten): its attribute 'axis' is a graph"},
        {have_a_sparse_attribute, SH_UNSUPPORTED, "'axis' is of type 11"},
        {have_an_attribute_of_no_type, SH_FORMAT, "'axis' has no type"},
        {have_an_attribute_without_tensor, SH_FORMAT, "'axis' has no tensor"},
        {have_an_attribute_without_name, SH_FORMAT, "an attribute has no name"},
        {have_an_attribute_of_a_function, SH_FORMAT, "'axis' refers to a function's attribute"},
        {have_an_attribute_twice, SH_FORMAT, "two attributes 'axis'"},
        {have_65_attributes, SH_LIMIT, "65 attributes"},
        {have_a_vast_tensor, SH_LIMIT,
         "tensor 'fc1.weight' has more elements than fit into memory"},
        {have_a_tensor_of_2_to_63, SH_LIMIT, "tensor 'fc1.weight' has more elements"},
        {have_a_negative_tensor, SH_FORMAT, "tensor 'fc1.weight' has a dimension of -922337"},
        {have_a_larger_tensor, SH_FORMAT, "its shape needs 144 values, and it has 512 bytes"},
        {have_a_double_tensor, SH_FORMAT, "its shape needs 128 values, and it has 512 bytes"},
        {have_no_values, SH_FORMAT, "tensor 'fc1.weight': it has no values"},
        {have_values_in_two_files, SH_FORMAT, "in this file and in another"},
        {have_values_outside_a_model_in_memory, SH_UNSUPPORTED, "another file, 'data'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_onnx *opened;
        Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
        cases[i].change(model);
        assert_fails(fixture_open(&opened, model), cases[i].status, cases[i].text);
        assert_non_null(strstr(sh_message(), "changed.onnx: "));
    }
}

static void test_what_is_left_out_is_written_in_one_way(void **state)
{
    (void)state;
    Sh__Onnx__ModelProto *model = fixture_unpack("mlp.onnx");
    sh_onnx *opened;
    model->graph->node[0]->attribute[0]->has_i = 0; /* as protobuf 3 writes a 0 */
    model->graph->node[1]->domain = fixture_text("ai.onnx");
    model->graph->input[0]->type->tensor_type->shape->dim[1]->dim_value = -1;
    model->graph->output[0]->type = NULL;
    model->graph->initializer[0]->data_type = 8; /* strings: only readers of this tensor fail */
    assert_ok(fixture_open(&opened, model));
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(opened);
    assert_true(graph->node[0]->attribute[0]->has_i);
    assert_int_equal(graph->node[0]->attribute[0]->i, 0);
    assert_string_equal(graph->node[1]->domain, "");
    assert_false(graph->input[0]->type->tensor_type->shape->dim[1]->has_dim_value);
    sh_onnx_tensor tensor;
    assert_fails(sh_onnx_tensor_of(&tensor, opened, graph->initializer[0]), SH_UNSUPPORTED,
                 "'fc1.weight' has elements of type 8");
    sh_onnx_close(opened);
}

/* The first tensor gets another location, offset or length. */
static sh_status open_outside(sh_onnx **opened, const char *key, const char *value)
{
    char path[SCRATCH_BYTES + 64];
    Sh__Onnx__ModelProto *model = fixture_unpack("outside.onnx");
    Sh__Onnx__TensorProto *tensor = model->graph->initializer[0];
    for (size_t i = 0; i < tensor->n_external_data; i++)
        if (strcmp(tensor->external_data[i]->key, key) == 0)
            tensor->external_data[i]->value = fixture_text(value);
    size_t count;
    const uint8_t *bytes = fixture_pack(model, &count);
    snprintf(path, sizeof path, "%s/model/outside.onnx", scratch_folder);
    scratch_write(path, bytes, count);
    return sh_onnx_open(opened, path);
}

static void test_values_outside_are_taken_from_the_folder_alone(void **state)
{
    (void)state;
    char path[SCRATCH_BYTES + 64];
    size_t count;
    const uint8_t *bytes = fixture_bytes("outside.onnx.data", &count);
    snprintf(path, sizeof path, "%s/secret", scratch_folder);
    scratch_write(path, bytes, count);
    snprintf(path, sizeof path, "%s/model", scratch_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/model/link", scratch_folder);
    assert_int_equal(symlink("../secret", path), 0);
    snprintf(path, sizeof path, "%s/model/outside.onnx.data", scratch_folder);
    scratch_write(path, bytes, count);

    sh_onnx *opened;
    assert_ok(open_outside(&opened, "none", ""));
    check_mlp(opened);
    sh_onnx_tensor tensor;
    float values[128];
    assert_ok(sh_onnx_tensor_of(&tensor, opened, sh_onnx_graph(opened)->initializer[0]));
    assert_int_equal(truncate(path, 100), 0);
    assert_fails(sh_onnx_floats(opened, &tensor, values), SH_CORRUPT, "'fc1.weight': is cut short");
    assert_int_equal(unlink(path), 0);
    assert_fails(sh_onnx_floats(opened, &tensor, values), SH_NOT_FOUND, "'outside.onnx.data'");
    sh_onnx_close(opened);
    scratch_write(path, bytes, count);

    char secret[SCRATCH_BYTES + 64];
    snprintf(secret, sizeof secret, "%s/secret", scratch_folder);
    const struct {
        const char *key, *value;
        sh_status status;
        const char *text;
    } cases[] = {
        {"location", "../secret", SH_INVALID, "'../secret': is not a plain path"},
        {"location", "../../../../../etc/passwd", SH_INVALID, "is not a plain path"},
        {"location", secret, SH_INVALID, "is not a plain path"},
        {"location", "link", SH_INVALID, "symbolic link"},
        {"location", "", SH_INVALID, "is not a plain path"},
        {"location", "other.data", SH_NOT_FOUND, "'other.data': cannot be opened"},
        {"offset", "-1", SH_FORMAT, "the offset of its values in another file is not a number"},
        {"offset", "1e3", SH_FORMAT, "not a number"},
        {"offset", "18446744073709551616", SH_FORMAT, "not a number"},
        {"offset", "18446744073709551615", SH_CORRUPT, "begin at byte 18446744073709551615"},
        {"offset", "200", SH_CORRUPT, "'outside.onnx.data', which has only 652"},
        {"length", "511", SH_FORMAT, "need 512 bytes, but have 511"},
        {"length", "9223372036854775808", SH_FORMAT, "have 9223372036854775808"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(open_outside(&opened, cases[i].key, cases[i].value), cases[i].status,
                     cases[i].text);
        assert_non_null(strstr(sh_message(), "tensor 'fc1.weight': "));
    }
}

static void open_and_read(const uint8_t *bytes, size_t count, size_t *opened)
{
    static int64_t values[1 << 12];
    sh_onnx *model;
    if (sh_onnx_open_bytes(&model, "mutant", bytes, count) != SH_OK) {
        assert_non_null(strstr(sh_message(), "mutant: "));
        return;
    }
    ++*opened;
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        sh_onnx_tensor tensor;
        if (sh_onnx_tensor_of(&tensor, model, graph->initializer[i]) != SH_OK)
            continue;
        assert_in_range(tensor.count, 0, sizeof values / sizeof *values);
        if (sh_onnx_type_is_float((int64_t)tensor.type))
            assert_ok(sh_onnx_floats(model, &tensor, (float *)values));
        else if (tensor.type == SH_ONNX_UINT64)
            (void)(sh_onnx_integers(model, &tensor, values) == SH_OK); /* below 2^63 only */
        else
            assert_ok(sh_onnx_integers(model, &tensor, values));
    }
    sh_onnx_close(model);
}

static void test_truncated_and_changed_files_are_refused_or_opened(void **state)
{
    (void)state;
    static const char *const names[] = {"mlp.onnx", "cnn.onnx", "types.onnx"};
    enum { MUTATIONS = 10000 };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        size_t count, opened = 0;
        const uint8_t *bytes = fixture_bytes(names[n], &count);
        for (size_t cut = 0; cut < count; cut++) {
            /* An exact copy on the heap, so that a sanitizer detects reads beyond the end. */
            uint8_t *copy = malloc(cut + 1);
            assert_non_null(copy);
            memcpy(copy, bytes, cut);
            uint8_t *exact = realloc(copy, cut > 0 ? cut : 1);
            open_and_read(exact, cut, &opened);
            free(exact);
        }
        assert_in_range(opened, 0, 4); /* cut before the last field, which is optional */
        opened = 0;
        uint8_t *changed = malloc(count);
        assert_non_null(changed);
        for (uint32_t i = 0; i < MUTATIONS; i++) {
            sh_random random = sh_random_for(17, SH_RANDOM_TEST, (uint32_t)n, i);
            memcpy(changed, bytes, count);
            const uint32_t changes = 1 + sh_random_below(&random, 4);
            for (uint32_t k = 0; k < changes; k++) {
                const uint32_t at = sh_random_below(&random, (uint32_t)count);
                if (sh_random_below(&random, 2) == 0)
                    changed[at] = (uint8_t)sh_random_below(&random, 256);
                else
                    changed[at] ^= (uint8_t)(1u << sh_random_below(&random, 8));
            }
            open_and_read(changed, count, &opened);
        }
        free(changed);
        assert_in_range(opened, 1, MUTATIONS - 1); /* some bits only change values or names */
    }
}

static int remove_all(void **state)
{
    fixture_release(state);
    return scratch_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_model_is_opened, fixture_release),
        cmocka_unit_test_teardown(test_all_types_in_all_encodings_are_read, fixture_release),
        cmocka_unit_test(test_what_is_no_onnx_file_says_what_it_looks_like),
        cmocka_unit_test_teardown(test_what_is_wrong_is_named, fixture_release),
        cmocka_unit_test_teardown(test_what_is_left_out_is_written_in_one_way, fixture_release),
        cmocka_unit_test_setup_teardown(test_values_outside_are_taken_from_the_folder_alone,
                                        scratch_set_up, remove_all),
        cmocka_unit_test_teardown(test_truncated_and_changed_files_are_refused_or_opened,
                                  fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
