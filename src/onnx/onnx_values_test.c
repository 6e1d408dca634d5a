/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_values.h"

#include <math.h>

#include "base/test.h"

static sh_wire_place all_of(sh_wire_encoding encoding, size_t bytes)
{
    return (sh_wire_place){0, bytes, encoding};
}

static void test_half_precision_is_exact(void **state)
{
    (void)state;
    static const struct {
        uint16_t half;
        float value;
    } cases[] = {
        {0x0000, 0.0f},     {0x3C00, 1.0f},        {0xC000, -2.0f},    {0x7BFF, 65504.0f},
        {0x0001, 0x1p-24f}, {0x83FF, -0x3FFp-24f}, {0x0400, 0x1p-14f}, {0x3555, 0x1.554p-2f},
        {0x7C00, INFINITY}, {0xFC00, -INFINITY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float value;
        const sh_blob blob = sh_blob_of(&cases[i].half, 2);
        const sh_wire_place place = all_of(SH_WIRE_RAW, 2);
        assert_ok(sh_values_check(&place, SH_ONNX_FLOAT16, 1, &blob));
        assert_ok(sh_values_floats(&value, &place, SH_ONNX_FLOAT16, 1, &blob));
        assert_true(value == cases[i].value);
    }
    const uint16_t negative_zero = 0x8000, nan = 0x7E00;
    float value;
    sh_blob blob = sh_blob_of(&negative_zero, 2);
    const sh_wire_place place = all_of(SH_WIRE_RAW, 2);
    assert_ok(sh_values_floats(&value, &place, SH_ONNX_FLOAT16, 1, &blob));
    assert_true(value == 0 && signbit(value));
    blob = sh_blob_of(&nan, 2);
    assert_ok(sh_values_floats(&value, &place, SH_ONNX_FLOAT16, 1, &blob));
    assert_true(isnan(value));
}

static void test_double_precision_is_rounded(void **state)
{
    (void)state;
    const double doubles[4] = {0.1, 1 + 0x1p-24, 1e300, -0x1p-149};
    const float floats[4] = {0.1f, 1.0f, INFINITY, -0x1p-149f};
    const sh_blob blob = sh_blob_of(doubles, sizeof doubles);
    for (int i = 0; i < 2; i++) {
        float values[4];
        const sh_wire_place place = all_of(i == 0 ? SH_WIRE_RAW : SH_WIRE_DOUBLES, sizeof doubles);
        assert_ok(sh_values_check(&place, SH_ONNX_DOUBLE, 4, &blob));
        assert_ok(sh_values_floats(values, &place, SH_ONNX_DOUBLE, 4, &blob));
        assert_memory_equal(values, floats, sizeof floats);
    }
}

/* More varints than fit in a chunk, of all lengths. */
static void test_long_lists_are_read(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static uint8_t bytes[COUNT * 10];
    static int64_t values[COUNT];
    size_t used = 0;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t value = (i % 2 == 0 ? UINT64_C(1) : UINT64_MAX) << i % 63;
        for (; value >= 0x80; value >>= 7)
            bytes[used++] = (uint8_t)(value | 0x80);
        bytes[used++] = (uint8_t)value;
    }
    const sh_blob blob = sh_blob_of(bytes, used);
    const sh_wire_place place = all_of(SH_WIRE_INT64S, used);
    assert_ok(sh_values_check(&place, SH_ONNX_INT64, COUNT, &blob));
    assert_ok(sh_values_integers(values, &place, SH_ONNX_INT64, COUNT, &blob));
    for (size_t i = 0; i < COUNT; i++)
        assert_true((uint64_t)values[i] == (i % 2 == 0 ? UINT64_C(1) : UINT64_MAX) << i % 63);
    assert_ok(sh_values_raw((uint8_t *)values, &place, SH_ONNX_INT64, COUNT, &blob));
    assert_true(values[62] == INT64_C(1) << 62);
    static float floats[COUNT];
    static uint16_t halves[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        halves[i] = (uint16_t)(i + 0x3C00);
    const sh_blob other = sh_blob_of(halves, sizeof halves);
    const sh_wire_place raw = all_of(SH_WIRE_RAW, sizeof halves);
    assert_ok(sh_values_floats(floats, &raw, SH_ONNX_FLOAT16, COUNT, &other));
    for (size_t i = 1; i < COUNT; i++)
        assert_true(floats[i] > floats[i - 1]);
}

static void test_other_numbers_of_values_are_refused(void **state)
{
    (void)state;
    const struct {
        sh_wire_encoding encoding;
        sh_onnx_type type;
        size_t count, bytes;
        const char *text;
    } cases[] = {
        {SH_WIRE_RAW, SH_ONNX_FLOAT, 2, 7, "its shape needs 2 values, and it has 7 bytes"},
        {SH_WIRE_RAW, SH_ONNX_FLOAT, 2, 9, "needs 2 values"},
        {SH_WIRE_RAW, SH_ONNX_FLOAT, SIZE_MAX / 2, 8, "it has 8 bytes"},
        {SH_WIRE_FLOATS, SH_ONNX_DOUBLE, 1, 8, "encoded for another type"},
        {SH_WIRE_INT32S, SH_ONNX_INT64, 1, 1, "encoded for another type"},
        {SH_WIRE_INT32S, SH_ONNX_FLOAT, 1, 1, "encoded for another type"},
        {SH_WIRE_INT64S, SH_ONNX_INT32, 1, 1, "encoded for another type"},
        {SH_WIRE_UINT64S, SH_ONNX_INT64, 1, 1, "encoded for another type"},
        {SH_WIRE_DOUBLES, SH_ONNX_FLOAT, 1, 8, "encoded for another type"},
        {(sh_wire_encoding)0, SH_ONNX_FLOAT, 1, 4, "encoded for another type"},
        {SH_WIRE_INT64S, SH_ONNX_INT64, 3, 4, "its shape needs 3 values, and it has 4"},
        {SH_WIRE_INT64S, SH_ONNX_INT64, 5, 5, "has too few values"},
        {SH_WIRE_INT64S, SH_ONNX_INT64, 5, 16, "does not end"},
    };
    static const uint8_t bytes[16] = {1,    2,    3,    4,    0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_blob blob = sh_blob_of(bytes, sizeof bytes);
        const sh_wire_place place = all_of(cases[i].encoding, cases[i].bytes);
        assert_fails(sh_values_check(&place, cases[i].type, cases[i].count, &blob), SH_FORMAT,
                     cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_half_precision_is_exact),
        cmocka_unit_test(test_double_precision_is_rounded),
        cmocka_unit_test(test_long_lists_are_read),
        cmocka_unit_test(test_other_numbers_of_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
