/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/wire.h"

#include <stdbool.h>

#include "base/test.h"

typedef struct text {
    size_t count;
    uint8_t bytes[4096];
} text;

static void add_varint(text *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        out->bytes[out->count++] = (uint8_t)(value | 0x80);
    out->bytes[out->count++] = (uint8_t)value;
}

static void add_number(text *out, unsigned field, uint64_t value)
{
    add_varint(out, field << 3);
    add_varint(out, value);
}

static void add_bytes(text *out, unsigned field, const void *bytes, size_t count)
{
    add_varint(out, field << 3 | 2);
    add_varint(out, count);
    memcpy(out->bytes + out->count, bytes, count);
    out->count += count;
}

static void add_text(text *out, unsigned field, const char *bytes)
{
    add_bytes(out, field, bytes, strlen(bytes));
}

static void add_message(text *out, unsigned field, const text *inner)
{
    add_bytes(out, field, inner->bytes, inner->count);
}

enum {
    MODEL_PRODUCER = 2,
    MODEL_DOC = 6,
    MODEL_GRAPH = 7,
    MODEL_METADATA = 14,
    MODEL_FUNCTIONS = 25,
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE = 15,
    NODE_NAME = 3,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    TENSOR_DIMS = 1,
    TENSOR_FLOATS = 4,
    TENSOR_RAW = 9,
    TENSOR_PLACE = 536870911,
};

/* The node has one attribute, with the fields in `attribute`. */
static text around_attribute(const text *attribute)
{
    text node = {0}, graph = {0}, model = {0};
    add_message(&node, NODE_ATTRIBUTE, attribute);
    add_message(&graph, GRAPH_NODE, &node);
    add_message(&model, MODEL_GRAPH, &graph);
    return model;
}

static text around_tensor(const text *tensor)
{
    text graph = {0}, model = {0};
    add_message(&graph, GRAPH_INITIALIZER, tensor);
    add_message(&model, MODEL_GRAPH, &graph);
    return model;
}

static sh_arena arena;

static sh_status read_text(sh_wire *wire, const text *model)
{
    const sh_blob blob = sh_blob_of(model->bytes, model->count);
    return sh_wire_read(wire, &blob, &arena);
}

static int release(void **state)
{
    (void)state;
    sh_arena_release(&arena);
    return 0;
}

static void test_values_stay_where_they_are(void **state)
{
    (void)state;
    text tensor = {0};
    sh_wire wire;
    add_number(&tensor, TENSOR_DIMS, 2);
    add_bytes(&tensor, TENSOR_FLOATS, "", 0); /* empty: as if it were missing */
    add_bytes(&tensor, TENSOR_RAW, "12345678", 8);
    add_number(&tensor, TENSOR_PLACE, 7); /* files must not set this field */
    const text model = around_tensor(&tensor);
    assert_ok(read_text(&wire, &model));
    const Sh__Onnx__TensorProto *read_back = wire.model->graph->initializer[0];
    assert_int_equal(wire.place_count, 1);
    assert_int_equal(read_back->place, 1);
    assert_false(read_back->has_raw_data);
    assert_int_equal(read_back->n_dims, 1);
    assert_int_equal(wire.places[0].bytes, 8);
    assert_int_equal(wire.places[0].encoding, SH_WIRE_RAW);
    assert_memory_equal(model.bytes + wire.places[0].offset, "12345678", 8);
}

static void test_what_is_not_known_is_left_out(void **state)
{
    (void)state;
    text attribute = {0}, deep = {0}, entry = {0};
    sh_wire wire;
    for (int i = 0; i < 400; i++) {
        text around = {0};
        add_message(&around, ATTRIBUTE_G, &deep);
        deep = around;
    }
    add_message(&attribute, ATTRIBUTE_G, &deep);
    add_bytes(&attribute, ATTRIBUTE_INTS, "\1\2\x80\1", 4); /* packed and unpacked */
    add_number(&attribute, ATTRIBUTE_INTS, UINT64_MAX);
    text model = around_attribute(&attribute);
    add_text(&model, MODEL_DOC, "\xff\x01 not even a text");
    add_number(&model, 1000, 5);
    add_varint(&model, 1001 << 3 | 1);
    for (int i = 0; i < 8; i++)
        add_varint(&model, 0);
    add_text(&entry, 1, "names");
    add_text(&entry, 2, "cat\n\tdog");
    add_message(&model, MODEL_METADATA, &entry);
    assert_ok(read_text(&wire, &model));
    const Sh__Onnx__AttributeProto *found = wire.model->graph->node[0]->attribute[0];
    assert_int_equal(found->n_ints, 4);
    assert_int_equal(found->ints[2], 128);
    assert_int_equal(found->ints[3], -1);
    assert_int_equal(found->base.n_unknown_fields, 0);
    assert_int_equal(wire.model->base.n_unknown_fields, 0);
    assert_string_equal(wire.model->metadata_props[0]->value, "cat\n\tdog");
    assert_string_equal(wire.model->producer_name, "");
}

static void test_malformed_bytes_are_refused(void **state)
{
    (void)state;
    const struct {
        size_t count;
        const char *bytes;
        sh_status status;
        const char *text;
    } cases[] = {
        {1, "\x80", SH_CORRUPT, "ends within the field at byte 0"},
        {1, "\x08", SH_CORRUPT, "ends within the field"},
        {2, "\x3a\x05", SH_CORRUPT, "ends within the field at byte 0"},
        {3, "\x09 1", SH_CORRUPT, "ends within the field"},
        {2, "\x00\x00", SH_FORMAT, "byte 0 does not begin a field"},
        {2, "\x0b\x00", SH_FORMAT, "of an unknown kind"}, /* a group */
        {2, "\x0f\x00", SH_FORMAT, "of an unknown kind"},
        {12, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", SH_FORMAT, "does not end"},
        {11, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01", SH_FORMAT, "does not begin a field"},
        /* a length of 2^63, one of 2^64 - 1 */
        {11, "\x3a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", SH_CORRUPT, "ends within the field"},
        {11, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", SH_CORRUPT, "ends within the field"},
        {8, "\x3a\x04\x0a\x03\x1a\x01\x08\x01", SH_FORMAT,
         "the field at byte 2 goes beyond its message"},
        {2, "\x38\x01", SH_FORMAT, "the graph at byte 0 is of another kind"},
        {3, "\x0a\x01 ", SH_FORMAT, "the ir_version at byte 0 is of another kind"},
        {4, "\x3a\x00\x3a\x00", SH_FORMAT, "the graph at byte 2 is there twice"},
        {4, "\x08\x01\x08\x01", SH_FORMAT, "the ir_version at byte 2 is there twice"},
        {4, "\x12\x02\xff\xff", SH_FORMAT, "the producer_name at byte 0 is not UTF-8"},
        {3, "\x12\x01\x1b", SH_FORMAT, "the producer_name at byte 0 has control characters"},
        {5,
         "\x12\x03"
         "a\0b",
         SH_FORMAT, "is not UTF-8"},
        {4, "\x12\x02\xc2\x9b", SH_FORMAT, "has control characters"},
        {4, "\x12\x02z\xc3", SH_FORMAT, "is not UTF-8"}, /* a truncated character */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_wire wire;
        text model = {.count = cases[i].count};
        memcpy(model.bytes, cases[i].bytes, cases[i].count);
        assert_fails(read_text(&wire, &model), cases[i].status, cases[i].text);
        sh_arena_release(&arena);
    }
}

static void test_malformed_numbers_and_values_are_refused(void **state)
{
    (void)state;
    const struct {
        bool is_tensor;
        unsigned field;
        size_t count; /* 0: a number */
        const char *bytes;
        sh_status status;
        const char *text;
    } cases[] = {
        {false, ATTRIBUTE_F, 0, "", SH_FORMAT, "the f at byte"},
        {false, ATTRIBUTE_FLOATS, 7, "1234567", SH_FORMAT, "the numbers at byte"},
        {false, ATTRIBUTE_INTS, 2, "\1\x80", SH_FORMAT, "the numbers at byte"},
        {false, ATTRIBUTE_INTS, 12, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", SH_FORMAT,
         "the numbers at byte"},
        {true, TENSOR_FLOATS, 0, "", SH_UNSUPPORTED, "not packed"},
        {true, TENSOR_RAW, 0, "", SH_UNSUPPORTED, "not"},
        {true, 13, 0, "", SH_FORMAT, "the external_data at byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_wire wire;
        text inner = {0};
        if (cases[i].count == 0)
            add_number(&inner, cases[i].field, 1);
        else
            add_bytes(&inner, cases[i].field, cases[i].bytes, cases[i].count);
        const text model = cases[i].is_tensor ? around_tensor(&inner) : around_attribute(&inner);
        assert_fails(read_text(&wire, &model), cases[i].status, cases[i].text);
        sh_arena_release(&arena);
    }
    sh_wire wire;
    text twice = {0};
    add_bytes(&twice, TENSOR_RAW, "1234", 4);
    add_bytes(&twice, TENSOR_FLOATS, "1234", 4);
    const text model = around_tensor(&twice);
    assert_fails(read_text(&wire, &model), SH_FORMAT, "has values twice");
}

static void test_what_would_be_lost_is_refused(void **state)
{
    (void)state;
    sh_wire wire;
    text model = {0}, graph = {0}, none = {0};
    add_message(&graph, GRAPH_SPARSE, &none);
    add_message(&model, MODEL_GRAPH, &graph);
    assert_fails(read_text(&wire, &model), SH_UNSUPPORTED, "sparse tensors");
    model.count = 0;
    add_message(&model, MODEL_FUNCTIONS, &none);
    assert_fails(read_text(&wire, &model), SH_UNSUPPORTED, "onnx.inliner.inline_local_functions()");
}

static void test_there_are_limits(void **state)
{
    (void)state;
    sh_wire wire;
    text node = {0}, graph = {0}, model = {0};
    char name[SH_WIRE_TEXT_MOST + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    add_text(&node, NODE_NAME, name);
    add_message(&graph, GRAPH_NODE, &node);
    add_message(&model, MODEL_GRAPH, &graph);
    assert_fails(read_text(&wire, &model), SH_LIMIT, "has more than 1024 bytes");

    /* A byte in the file can become a hundred in memory: 6 million empty nodes. */
    const size_t count = 12u << 20;
    uint8_t *bytes = calloc(1, count + 16);
    assert_non_null(bytes);
    text head = {0};
    add_varint(&head, MODEL_GRAPH << 3 | 2);
    add_varint(&head, count);
    memcpy(bytes, head.bytes, head.count);
    for (size_t i = 0; i < count; i += 2)
        bytes[head.count + i] = GRAPH_NODE << 3 | 2;
    sh_blob blob = sh_blob_of(bytes, head.count + count);
    assert_fails(sh_wire_read(&wire, &blob, &arena), SH_LIMIT, "MiB besides the values");
    sh_arena_release(&arena);

    text inner = {0};
    add_varint(&inner, 4 << 3 | 2);
    add_varint(&inner, 2u << 20);
    head.count = 0;
    add_varint(&head, MODEL_GRAPH << 3 | 2);
    add_varint(&head, 5 + 5 + inner.count + (2u << 20));
    add_varint(&head, GRAPH_NODE << 3 | 2);
    add_varint(&head, 5 + inner.count + (2u << 20));
    add_varint(&head, NODE_ATTRIBUTE << 3 | 2);
    add_varint(&head, inner.count + (2u << 20));
    memcpy(head.bytes + head.count, inner.bytes, inner.count);
    memset(bytes, 'x', count);
    memcpy(bytes, head.bytes, head.count + inner.count);
    blob = sh_blob_of(bytes, head.count + inner.count + (2u << 20));
    assert_fails(sh_wire_read(&wire, &blob, &arena), SH_LIMIT, "2097152 bytes");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values_stay_where_they_are, release),
        cmocka_unit_test_teardown(test_what_is_not_known_is_left_out, release),
        cmocka_unit_test_teardown(test_malformed_bytes_are_refused, release),
        cmocka_unit_test_teardown(test_malformed_numbers_and_values_are_refused, release),
        cmocka_unit_test_teardown(test_what_would_be_lost_is_refused, release),
        cmocka_unit_test_teardown(test_there_are_limits, release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
