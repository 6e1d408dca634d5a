/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_writer.h"

#include "onnx/onnx_fixture.h"
#include "onnx/roles.h"
#include "onnx/skeleton.h"

/* A file in memory, and the model that values are taken from. */
typedef struct written_file {
    const sh_onnx *source;
    const char *missing; /* a tensor that has no values */
    size_t count, most;
    float values[4096];
    uint8_t bytes[16384];
} written_file;

static const float *take_values(void *context, const sh_onnx_tensor *tensor)
{
    written_file *file = context;
    sh_onnx_tensor own;
    if (file->missing != NULL && strcmp(tensor->name, file->missing) == 0)
        return NULL;
    assert_ok(
        sh_onnx_tensor_of(&own, file->source, sh_onnx_initializer(file->source, tensor->name)));
    assert_in_range(own.count, 1, 4096);
    assert_ok(sh_onnx_floats(file->source, &own, file->values));
    return file->values;
}

static sh_status append(void *context, const void *bytes, size_t count)
{
    written_file *file = context;
    if (count > file->most - file->count)
        return sh_fail(SH_NO_SPACE, "the disk is full");
    memcpy(file->bytes + file->count, bytes, count);
    file->count += count;
    return SH_OK;
}

/* The tensor's bytes in both models are the same. */
static void compare(const sh_onnx *a, const sh_onnx *b, const Sh__Onnx__TensorProto *in_a,
                    const Sh__Onnx__TensorProto *in_b)
{
    static uint8_t raw[2][16384];
    sh_onnx_tensor x, y;
    assert_ok(sh_onnx_tensor_of(&x, a, in_a));
    assert_ok(sh_onnx_tensor_of(&y, b, in_b));
    assert_string_equal(x.name, y.name);
    assert_int_equal(x.type, y.type);
    assert_int_equal(x.count, y.count);
    assert_ok(sh_onnx_raw(a, &x, raw[0]));
    assert_ok(sh_onnx_raw(b, &y, raw[1]));
    assert_memory_equal(raw[0], raw[1], x.count * sh_onnx_type_bytes((int64_t)x.type));
}

static void test_what_is_written_is_the_model(void **state)
{
    (void)state;
    static const char *const names[] = {"mlp.onnx", "cnn.onnx", "types.onnx", "outside.onnx"};
    static written_file files[2];
    for (size_t n = 0; n < 4; n++) {
        sh_skeleton skeleton, again;
        sh_onnx *whole, *bare, *back;
        assert_ok(sh_onnx_open(&whole, fixture_path(names[n])));
        assert_ok(sh_skeleton_make(&skeleton, whole));
        assert_ok(sh_onnx_open_bytes(&bare, "skeleton", skeleton.bytes, skeleton.count));
        const sh_onnx_pair pairs[2] = {{"names", "cat\ndog"}, {"task", "classify"}};
        for (int i = 0; i < 2; i++) { /* of the skeleton and of the whole model */
            files[i] = (written_file){.source = whole, .most = sizeof files[i].bytes};
            const sh_onnx_writing writing = {.model = i == 0 ? bare : whole,
                                             .values = take_values,
                                             .write = append,
                                             .context = &files[i],
                                             .pairs = pairs,
                                             .pair_count = 2};
            assert_ok(sh_onnx_write(&writing));
        }
        assert_int_equal(files[0].count, files[1].count);
        assert_memory_equal(files[0].bytes, files[1].bytes, files[0].count);
        assert_ok(sh_onnx_open_bytes(&back, "back", files[0].bytes, files[0].count));
        assert_false(sh_onnx_is_skeleton(back));
        assert_int_equal(sh_onnx_model(back)->ir_version, sh_onnx_model(whole)->ir_version);
        assert_string_equal(sh_onnx_model(back)->producer_name, "shoal");
        assert_int_equal(sh_onnx_model(back)->n_metadata_props, 2);
        assert_string_equal(sh_onnx_model(back)->metadata_props[0]->value, "cat\ndog");
        const Sh__Onnx__GraphProto *graph = sh_onnx_graph(back), *other = sh_onnx_graph(whole);
        assert_int_equal(graph->n_initializer, other->n_initializer);
        for (size_t i = 0; i < graph->n_initializer; i++)
            compare(back, whole, graph->initializer[i], other->initializer[i]);
        assert_ok(sh_skeleton_make(&again, back));
        assert_string_equal(again.digest, skeleton.digest);
        sh_skeleton_release(&again);
        sh_skeleton_release(&skeleton);
        sh_onnx_close(back);
        sh_onnx_close(bare);
        sh_onnx_close(whole);
    }
}

static void test_what_cannot_be_written_is_said(void **state)
{
    (void)state;
    static written_file file;
    sh_onnx *model;
    assert_ok(sh_onnx_open(&model, fixture_path("mlp.onnx")));
    sh_onnx_writing writing = {
        .model = model, .values = take_values, .write = append, .context = &file};
    for (size_t most = 0; most < 900; most += 13) {
        file = (written_file){.source = model, .most = most};
        assert_fails(sh_onnx_write(&writing), SH_NO_SPACE, "the disk is full");
    }
    file = (written_file){.source = model, .most = sizeof file.bytes, .missing = "fc2.bias"};
    assert_fails(sh_onnx_write(&writing), SH_NOT_FOUND, "no values for the tensor 'fc2.bias'");
    sh_onnx_close(model);

    Sh__Onnx__ModelProto *changed = fixture_unpack("mlp.onnx");
    changed->graph->initializer[0]->data_type = SH_ONNX_FLOAT16;
    changed->graph->initializer[0]->dims[0] *= 2;
    assert_ok(fixture_open(&model, changed));
    writing.model = model;
    file = (written_file){.source = model, .most = sizeof file.bytes};
    assert_fails(sh_onnx_write(&writing), SH_UNSUPPORTED, "'fc1.weight' is trained and not of");
    assert_int_equal(file.count, 0);
    sh_onnx_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_is_written_is_the_model, fixture_release),
        cmocka_unit_test_teardown(test_what_cannot_be_written_is_said, fixture_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
