/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/value_range.h"

#include <math.h>

#include "base/test.h"

#define COUNT 1000

static sh_onnx_grid grid_of(const float *values, size_t count)
{
    sh_value_range range = {0};
    assert_ok(sh_value_range_add(&range, values, count));
    const sh_onnx_grid grid = sh_value_range_grid(&range);
    sh_value_range_release(&range);
    return grid;
}

static void test_zero_is_on_the_grid(void **state)
{
    (void)state;
    static const struct {
        float least, most;
        uint8_t zero;
    } rows[] = {{0, 1, 0}, {-1, 0, 255}, {-1, 1, 128}, {-1, 3, 64}, {2, 5, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float values[COUNT];
        for (size_t k = 0; k < COUNT; k++)
            values[k] = rows[i].least + (rows[i].most - rows[i].least) * (float)k / (COUNT - 1);
        const sh_onnx_grid grid = grid_of(values, COUNT);
        const float least = fminf(rows[i].least, 0), most = fmaxf(rows[i].most, 0);
        assert_true(fabsf(grid.scale * 255 - (most - least)) < 0.05f * (most - least));
        assert_true(abs(grid.zero - rows[i].zero) <= 4);
    }
}

/* Whole numbers fit only a grid with step 1 exactly, so the zero point is known. */
static void test_zero_is_rounded(void **state)
{
    (void)state;
    static const struct {
        float least;
        uint8_t zero;
    } rows[] = {{-100.375f, 100}, {-99.625f, 100}, {-0.375f, 0}, {-200.625f, 201}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const float least = rows[i].least, most = least + 255;
        float values[257];
        size_t count = 0;
        values[count++] = least;
        for (float whole = ceilf(least); whole < most; whole++)
            values[count++] = whole;
        values[count++] = most;
        const sh_onnx_grid grid = grid_of(values, count);
        assert_true(grid.scale == 1);
        assert_int_equal(grid.zero, rows[i].zero);
    }
}

static void test_few_large_numbers_are_cut_off(void **state)
{
    (void)state;
    float values[COUNT];
    sh_value_range range = {0};
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)i / COUNT;
    for (size_t i = 0; i < COUNT; i++)
        assert_ok(sh_value_range_add(&range, values, COUNT));
    assert_ok(sh_value_range_add(&range, &(float){10}, 1));
    const sh_onnx_grid grid = sh_value_range_grid(&range);
    sh_value_range_release(&range);
    assert_true(grid.scale * 255 < 6);
    assert_true(grid.scale * 255 > 1);
}

static void test_order_does_not_matter(void **state)
{
    (void)state;
    float up[COUNT], down[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        up[i] = down[COUNT - 1 - i] = (float)i * (float)i * 0.01f - 30;
    const sh_onnx_grid one = grid_of(up, COUNT), other = grid_of(down, COUNT);
    assert_true(one.scale == other.scale);
    assert_int_equal(one.zero, other.zero);
}

static void test_edges(void **state)
{
    (void)state;
    sh_value_range range = {0};
    assert_true(sh_value_range_grid(&range).scale == 0);
    assert_true(grid_of(&(float){0}, 1).scale == 1);
    assert_fails(sh_value_range_add(&range, &(float){INFINITY}, 1), SH_INVALID, "not finite");
    sh_value_range_release(&range);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zero_is_on_the_grid),
        cmocka_unit_test(test_zero_is_rounded),
        cmocka_unit_test(test_few_large_numbers_are_cut_off),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
