/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/fold.h"

#include <math.h>

#include "onnx/onnx_fixture.h"

#define MOST 24

static sh_onnx_constant wholes(sh_onnx_store *store, size_t rank, const size_t *dim,
                               const int64_t *values)
{
    sh_onnx_constant made;
    assert_ok(sh_onnx_constant_new(&made, store, false, rank, dim));
    for (size_t i = 0; i < made.count; i++)
        made.cells[i].whole = values[i];
    return made;
}

static Sh__Onnx__AttributeProto integer(char *name, int64_t value)
{
    Sh__Onnx__AttributeProto made = SH__ONNX__ATTRIBUTE_PROTO__INIT;
    made.name = name;
    made.i = value;
    made.has_i = made.has_type = true;
    made.type = SH_ONNX_ATTRIBUTE_INT;
    return made;
}

static Sh__Onnx__AttributeProto integers(char *name, size_t count, const int64_t *values)
{
    Sh__Onnx__AttributeProto made = SH__ONNX__ATTRIBUTE_PROTO__INIT;
    made.name = name;
    made.n_ints = count;
    made.ints = fixture_alloc(NULL, count * sizeof *values);
    memcpy(made.ints, values, count * sizeof *values);
    made.has_type = true;
    made.type = SH_ONNX_ATTRIBUTE_INTS;
    return made;
}

/* Integers and the expected result, as in "2x3: 1 2 3 4 5 6". */
typedef struct operation {
    const char *op;
    struct {
        size_t rank, dim[3];
        int64_t values[MOST];
    } in[5];
    size_t inputs;
    struct {
        const char *name; /* NULL: none */
        size_t count;     /* 0: a scalar */
        int64_t values[4];
    } attribute[2];
    const char *result; /* or '!' and a part of the error message */
} operation;

#define M23                                                                                        \
    {                                                                                              \
        2, {2, 3},                                                                                 \
        {                                                                                          \
            1, 2, 3, 4, 5, 6                                                                       \
        }                                                                                          \
    }
#define LIST2(a, b)                                                                                \
    {                                                                                              \
        1, {2},                                                                                    \
        {                                                                                          \
            a, b                                                                                   \
        }                                                                                          \
    }
#define ONE(a)                                                                                     \
    {                                                                                              \
        1, {1},                                                                                    \
        {                                                                                          \
            a                                                                                      \
        }                                                                                          \
    }
#define SCALAR(a)                                                                                  \
    {                                                                                              \
        0, {0},                                                                                    \
        {                                                                                          \
            a                                                                                      \
        }                                                                                          \
    }

static const operation operations[] = {
    {"Identity", {M23}, 1, {{0}}, "2x3: 1 2 3 4 5 6"},
    {"Add", {M23, LIST2(1, 0)}, 2, {{0}}, "!dimensions of 3 and 2"},
    {"Add", {M23, {1, {3}, {10, 20, 30}}}, 2, {{0}}, "2x3: 11 22 33 14 25 36"},
    {"Sub", {{2, {2, 1}, {1, 2}}, {1, {3}, {1, 2, 3}}}, 2, {{0}}, "2x3: 0 -1 -2 1 0 -1"},
    {"Mul", {LIST2(INT64_MAX, -3), SCALAR(2)}, 2, {{0}}, "2: -2 -6"},
    {"Div", {LIST2(-7, 7), SCALAR(2)}, 2, {{0}}, "2: -3 3"},
    {"Div", {LIST2(INT64_MIN, 7), SCALAR(-1)}, 2, {{0}}, "2: -9223372036854775808 -7"},
    {"Div", {LIST2(1, 7), SCALAR(0)}, 2, {{0}}, "!a division by 0"},
    {"Mod", {{1, {4}, {-7, 7, -7, 7}}, {1, {4}, {3, 3, -3, -3}}}, 2, {{0}}, "4: 2 1 -1 -2"},
    {"Mod",
     {{1, {4}, {-7, 7, -7, 7}}, {1, {4}, {3, 3, -3, -3}}},
     2,
     {{"fmod", 0, {1}}},
     "4: -1 1 -1 1"},
    {"Pow", {LIST2(3, 2), LIST2(4, 10)}, 2, {{0}}, "2: 81 1024"},
    {"Min", {LIST2(3, 2), LIST2(4, 1)}, 2, {{0}}, "2: 3 1"},
    {"Less", {LIST2(3, 2), LIST2(4, 1)}, 2, {{0}}, "2: 1 0"},
    {"GreaterOrEqual", {LIST2(3, 2), LIST2(3, 3)}, 2, {{0}}, "2: 1 0"},
    {"Equal", {LIST2(3, 2), LIST2(3, 1)}, 2, {{0}}, "2: 1 0"},
    {"And", {LIST2(1, 1), LIST2(0, 1)}, 2, {{0}}, "2: 0 1"},
    {"Xor", {LIST2(1, 1), LIST2(0, 1)}, 2, {{0}}, "2: 1 0"},
    {"Pad", {M23, {1, {4}, {0, 1, 1, -1}}}, 2, {{0}}, "3x3: 0 1 2 0 4 5 0 0 0"},
    {"Pad", {LIST2(1, 2), LIST2(-3, 0)}, 2, {{0}}, "!pads of -3 and 0"},
    {"Not", {LIST2(1, 0)}, 1, {{0}}, "2: 0 1"},
    {"Neg", {LIST2(1, INT64_MIN)}, 1, {{0}}, "2: -1 -9223372036854775808"},
    {"Sqrt", {LIST2(1, 2)}, 1, {{0}}, "!its input has integers"},
    {"Where", {LIST2(1, 0), LIST2(5, 6), SCALAR(9)}, 3, {{0}}, "2: 5 9"},
    {"Gather", {M23, LIST2(1, -1)}, 2, {{"axis", 0, {1}}}, "2x2: 2 3 5 6"},
    {"Gather", {M23, SCALAR(1)}, 2, {{"axis", 0, {0}}}, "3: 4 5 6"},
    {"Gather", {M23, SCALAR(2)}, 2, {{"axis", 0, {0}}}, "!axis 2 of 2"},
    {"Concat", {M23, {2, {2, 1}, {7, 8}}}, 2, {{"axis", 0, {-1}}}, "2x4: 1 2 3 7 4 5 6 8"},
    {"Concat", {M23, {2, {1, 1}, {7}}}, 2, {{"axis", 0, {-1}}}, "!input 1 does not fit"},
    {"Transpose", {M23}, 1, {{0}}, "3x2: 1 4 2 5 3 6"},
    {"Transpose", {M23}, 1, {{"perm", 2, {0, 0}}}, "!each dimension once"},
    {"Reshape", {M23, LIST2(-1, 2)}, 2, {{0}}, "3x2: 1 2 3 4 5 6"},
    {"Reshape", {M23, LIST2(0, -1)}, 2, {{0}}, "2x3: 1 2 3 4 5 6"},
    {"Reshape", {M23, LIST2(4, -1)}, 2, {{0}}, "!6 elements for a shape of 4"},
    {"Reshape", {M23, LIST2(INT64_MAX, -1)}, 2, {{0}}, "!dimension 0 of the shape is"},
    {"Flatten", {M23}, 1, {{"axis", 0, {0}}}, "1x6: 1 2 3 4 5 6"},
    {"Unsqueeze", {LIST2(1, 2), LIST2(0, -1)}, 2, {{0}}, "1x2x1: 1 2"},
    {"Squeeze", {{2, {1, 2}, {1, 2}}, ONE(0)}, 2, {{0}}, "2: 1 2"},
    {"Squeeze", {M23, ONE(0)}, 2, {{0}}, "!6 elements for a shape of 3"},
    {"Expand", {{2, {2, 1}, {1, 2}}, LIST2(1, 3)}, 2, {{0}}, "2x3: 1 1 1 2 2 2"},
    {"Expand", {ONE(1), LIST2(1 << 20, 2)}, 2, {{0}}, "!more than 1048576 elements"},
    {"ReduceProd", {M23}, 1, {{"axes", 1, {1}}, {"keepdims", 0, {0}}}, "2: 6 120"},
    {"ReduceMax", {M23}, 1, {{"axes", 1, {0}}}, "1x3: 4 5 6"},
    {"ReduceSum", {M23}, 1, {{0}}, "1x1: 21"},
    {"Range", {SCALAR(2), SCALAR(-5), SCALAR(-3)}, 3, {{0}}, "3: 2 -1 -4"},
    {"Range", {SCALAR(2), SCALAR(5), SCALAR(0)}, 3, {{0}}, "!more than 1048576 elements"},
    {"Slice", {M23, ONE(-1), ONE(INT64_MIN), ONE(1), ONE(-2)}, 5, {{0}}, "2x2: 3 1 6 4"},
    {"Slice", {M23, ONE(1), ONE(INT64_MAX), ONE(1)}, 4, {{0}}, "2x2: 2 3 5 6"},
    {"Slice", {M23, ONE(1), ONE(2), ONE(1), ONE(0)}, 5, {{0}}, "!a step of 0"},
    {"Slice", {M23}, 1, {{0}}, "!it has no starts or no ends"},
    {"Trilu", {M23}, 1, {{0}}, "2x3: 1 2 3 0 5 6"},
    {"Trilu", {M23, SCALAR(-1)}, 2, {{"upper", 0, {0}}}, "2x3: 0 0 0 4 0 0"},
    {"CumSum", {M23, SCALAR(1)}, 2, {{"reverse", 0, {1}}}, "2x3: 6 5 3 15 11 6"},
    {"CumSum", {M23, SCALAR(0)}, 2, {{"exclusive", 0, {1}}}, "2x3: 0 0 0 1 2 3"},
    {"ScatterND", {M23, {2, {1, 2}, {1, -1}}, ONE(9)}, 3, {{0}}, "2x3: 1 2 3 4 5 9"},
    {"ScatterND", {M23, {2, {1, 1}, {0}}, {2, {1, 3}, {7, 8, 9}}}, 3, {{0}}, "2x3: 7 8 9 4 5 6"},
    {"ScatterND", {M23, {2, {1, 1}, {2}}, {2, {1, 3}, {7, 8, 9}}}, 3, {{0}}, "!axis 2 of 2"},
    {"GatherElements", {M23, {2, {2, 2}, {2, 0, -1, 1}}}, 2, {{"axis", 0, {1}}}, "2x2: 3 1 6 5"},
    {"Tile", {LIST2(1, 2), ONE(2)}, 2, {{0}}, "4: 1 2 1 2"},
    {"Sum", {LIST2(1, 2), LIST2(3, 4), SCALAR(5)}, 3, {{0}}, "2: 9 11"},
    {"Cast", {LIST2(3, 0)}, 1, {{"to", 0, {SH_ONNX_BOOL}}}, "2: 1 0"},
};

static void print(char *text, size_t bytes, const sh_onnx_constant *constant)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < constant->rank; i++)
        used +=
            (size_t)snprintf(text + used, bytes - used, i == 0 ? "%zu" : "x%zu", constant->dim[i]);
    used += (size_t)snprintf(text + used, bytes - used, ":");
    for (size_t i = 0; i < constant->count; i++)
        used += (size_t)snprintf(text + used, bytes - used, " %lld",
                                 (long long)constant->cells[i].whole);
}

static void integers_are_computed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const operation *o = &operations[i];
        sh_onnx_store store = {0};
        sh_onnx_constant in[5], out;
        const sh_onnx_constant *given[5];
        Sh__Onnx__AttributeProto attributes[2], *list[2];
        Sh__Onnx__NodeProto proto = SH__ONNX__NODE_PROTO__INIT;
        char text[512], op[32];
        snprintf(op, sizeof op, "%s", o->op);
        proto.op_type = op;
        proto.attribute = list;
        for (size_t j = 0; j < o->inputs; j++) {
            in[j] = wholes(&store, o->in[j].rank, o->in[j].dim, o->in[j].values);
            given[j] = &in[j];
        }
        for (size_t j = 0; j < 2 && o->attribute[j].name != NULL; j++) {
            char *name = fixture_alloc(NULL, 16);
            snprintf(name, 16, "%s", o->attribute[j].name);
            attributes[j] = o->attribute[j].count == 0
                                ? integer(name, o->attribute[j].values[0])
                                : integers(name, o->attribute[j].count, o->attribute[j].values);
            list[proto.n_attribute++] = &attributes[j];
        }
        sh_onnx_node node = sh_onnx_node_of(&proto, 13);
        assert_true(sh_onnx_folds(o->op));
        const sh_status status = sh_onnx_fold(&out, 1, &node, given, o->inputs, NULL, &store);
        if (o->result[0] == '!') {
            if (status == SH_OK || strstr(sh_message(), o->result + 1) == NULL)
                fail_msg("%s (%zu): '%s'", o->op, i, sh_message());
        } else {
            assert_ok(sh_fail_in(status, "%s (%zu)", o->op, i));
            print(text, sizeof text, &out);
            assert_string_equal(text, o->result);
        }
        sh_onnx_store_release(&store);
    }
}

/* NaN stands for no b. */
static double real_of(const char *op, double a, double b)
{
    sh_onnx_store store = {0};
    sh_onnx_constant in[2], out;
    const sh_onnx_constant *given[] = {&in[0], &in[1]};
    Sh__Onnx__NodeProto proto = SH__ONNX__NODE_PROTO__INIT;
    char name[32];
    snprintf(name, sizeof name, "%s", op);
    proto.op_type = name;
    sh_onnx_node node = sh_onnx_node_of(&proto, 13);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(sh_onnx_constant_new(&in[i], &store, true, 0, NULL));
        in[i].cells[0].real = i == 0 ? a : b;
    }
    assert_ok(sh_onnx_fold(&out, 1, &node, given, isnan(b) ? 1 : 2, NULL, &store));
    const double result = out.cells[0].real;
    sh_onnx_store_release(&store);
    return result;
}

static void numbers_are_rounded_to_float32(void **state)
{
    (void)state;
    assert_true(real_of("Add", 1, 1e-9) == 1);
    assert_true(real_of("Div", 1, 3) == (double)(1.0f / 3.0f));
    assert_true(real_of("Pow", 2, -2) == 0.25);
    assert_true(real_of("Pow", 9, 0.5) == 3);
    assert_true(real_of("Sqrt", 2, NAN) == (double)sqrtf(2));
    assert_true(real_of("Floor", -1.5, NAN) == -2);
    assert_true(fabs(real_of("Exp", 1, NAN) - 2.718281828) < 1e-6);
}

static void what_comes_from_shapes_is_known(void **state)
{
    (void)state;
    sh_onnx_store store = {0};
    const size_t two = 2;
    sh_onnx_constant a = wholes(&store, 1, &two, (int64_t[]){1, 2}), b = a, out;
    const sh_onnx_constant *given[] = {&a, &b};
    Sh__Onnx__NodeProto proto = SH__ONNX__NODE_PROTO__INIT;
    proto.op_type = "Add";
    sh_onnx_node node = sh_onnx_node_of(&proto, 13);
    assert_ok(sh_onnx_fold(&out, 1, &node, given, 2, NULL, &store));
    assert_false(out.derived);
    b.derived = true;
    assert_ok(sh_onnx_fold(&out, 1, &node, given, 2, NULL, &store));
    assert_true(out.derived);
    sh_onnx_store_release(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_computed),
        cmocka_unit_test(numbers_are_rounded_to_float32),
        cmocka_unit_test(what_comes_from_shapes_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, fixture_release);
}
