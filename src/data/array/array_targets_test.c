/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/array_targets.h"

#include <math.h>

#include "data/array/array_fixture.h"

enum { ROWS = 6 };

static void open_y(sh_array *y, const char *type, const char *shape, const void *numbers,
                   size_t bytes)
{
    array_write(scratch_folder, "y", type, shape, numbers, bytes);
    assert_ok(sh_array_open(y, scratch_folder, "y"));
}

static sh_status find(sh_array_targets *targets, const sh_array *y, const char *task)
{
    return sh_array_targets_find(targets, &y, 1, task);
}

static void assert_names(const sh_array_targets *targets, const char *expected)
{
    json_t *about = json_object();
    assert_ok(sh_array_targets_describe(targets, about));
    char *text = json_dumps(about, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    json_decref(about);
}

static void whole_numbers_are_classes(void **state)
{
    (void)state;
    static const struct {
        int64_t numbers[ROWS];
        uint32_t outputs;
        int32_t classes[ROWS];
        const char *names;
    } cases[] = {
        {{0, 1, 2, 1, 0, 2}, 3, {0, 1, 2, 1, 0, 2}, "{\"classes\":[\"0\",\"1\",\"2\"]}"},
        {{0, 3, 3, 1, 0, 0}, 4, {0, 3, 3, 1, 0, 0}, "{\"classes\":[\"0\",\"1\",\"2\",\"3\"]}"},
        {{7, -2, 7, 7, 5, -2}, 3, {2, 0, 2, 2, 1, 0}, "{\"classes\":[\"-2\",\"5\",\"7\"]}"},
        {{1, 2, 1, 2, 1, 2}, 2, {0, 1, 0, 1, 0, 1}, "{\"classes\":[\"1\",\"2\"]}"},
        {{0, 100, 0, 100, 0, 0}, 2, {0, 1, 0, 1, 0, 0}, "{\"classes\":[\"0\",\"100\"]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_array y;
        sh_array_targets targets;
        open_y(&y, "<i8", i % 2 == 0 ? "(6,)" : "(6, 1)", cases[i].numbers, sizeof cases->numbers);
        assert_ok(find(&targets, &y, ""));
        assert_int_equal(targets.kind, SH_TARGET_CLASS);
        assert_int_equal(targets.outputs, cases[i].outputs);
        for (uint32_t row = 0; row < ROWS; row++) {
            int32_t class = -1;
            assert_ok(sh_array_targets_read(&targets, &y, row, &class));
            assert_int_equal(class, cases[i].classes[row]);
        }
        assert_names(&targets, cases[i].names);
        sh_array_targets_release(&targets);
        sh_array_close(&y);
    }
}

static void columns_of_zeros_and_ones(void **state)
{
    (void)state;
    static const uint8_t one_hot[ROWS][2] = {{0, 1}, {1, 0}, {0, 1}, {0, 1}, {1, 0}, {1, 0}};
    static const uint8_t labels[ROWS][2] = {{0, 1}, {1, 1}, {0, 0}, {0, 1}, {1, 0}, {1, 0}};
    for (int i = 0; i < 2; i++) {
        sh_array y;
        sh_array_targets targets;
        open_y(&y, i == 0 ? "|u1" : "|b1", "(6, 2)", i == 0 ? one_hot : labels, sizeof labels);
        assert_ok(find(&targets, &y, ""));
        assert_int_equal(targets.kind, i == 0 ? SH_TARGET_CLASS : SH_TARGET_LABELS);
        assert_int_equal(targets.outputs, 2);
        for (uint32_t row = 0; row < ROWS; row++) {
            int32_t class = -1;
            float values[2] = {-1, -1};
            assert_ok(
                sh_array_targets_read(&targets, &y, row, i == 0 ? (void *)&class : (void *)values));
            if (i == 0)
                assert_int_equal(class, one_hot[row][1]);
            else
                assert_true(values[0] == labels[row][0] && values[1] == labels[row][1]);
        }
        assert_names(&targets, "{\"classes\":[\"0\",\"1\"]}");
        sh_array_targets_release(&targets);
        sh_array_close(&y);
    }
}

/* Of the training rows: 1, 3 and 5 in the first column. */
static void numbers_are_standardised(void **state)
{
    (void)state;
    static const double numbers[ROWS][2] = {{1, 5}, {900, 5}, {3, 5}, {-40, 7}, {5, 5}, {2, 2}};
    static const uint32_t rows[] = {0, 2, 4};
    sh_array y;
    sh_array_targets targets;
    float values[2];
    open_y(&y, "<f8", "(6, 2)", numbers, sizeof numbers);
    assert_ok(find(&targets, &y, ""));
    assert_int_equal(targets.kind, SH_TARGET_NUMBERS);
    assert_ok(sh_array_targets_scale(&targets, &y, rows, 3));
    assert_true(targets.mean[0] == 3 && targets.mean[1] == 5);
    assert_true(targets.deviation[0] == sqrt(8.0 / 3) && targets.deviation[1] == 1);
    assert_ok(sh_array_targets_read(&targets, &y, 3, values));
    assert_true(values[0] == (float)(-43 / sqrt(8.0 / 3)) && values[1] == 2);
    assert_names(&targets, "{\"targets\":[{\"name\":\"y[0]\",\"mean\":3.0,\"deviation\":1.63299},"
                           "{\"name\":\"y[1]\",\"mean\":5.0,\"deviation\":1.0}]}");
    sh_array_targets_release(&targets);
    assert_fails(find(&targets, &y, "classification"), SH_INVALID, "without exactly one 1");
    assert_fails(find(&targets, &y, "multi-label"), SH_INVALID, "multi-label needs 0 and 1");
    sh_array_close(&y);
}

static void a_task_decides(void **state)
{
    (void)state;
    static const float numbers[ROWS] = {0, 1, 1, 0, 2, 0};
    sh_array y;
    sh_array_targets targets;
    open_y(&y, "<f4", "(6,)", numbers, sizeof numbers);
    assert_ok(find(&targets, &y, ""));
    assert_int_equal(targets.kind, SH_TARGET_NUMBERS);
    assert_ok(find(&targets, &y, "classification"));
    assert_int_equal(targets.kind, SH_TARGET_CLASS);
    assert_int_equal(targets.outputs, 3);
    sh_array_targets_release(&targets);
    assert_fails(find(&targets, &y, "guessing"), SH_INVALID, "no such task");
    sh_array_close(&y);
}

static void bad_targets_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        double numbers[4];
        const char *task;
        sh_status code;
        const char *message;
    } cases[] = {
        {"(4,)", {0, 1, (double)NAN, 1}, "", SH_NUMERIC, "y.npy: the target of sample 2 is NaN"},
        {"(2, 2)", {0, 1, 2, HUGE_VAL}, "", SH_NUMERIC, "target of sample 1 is infinite"},
        {"(4,)",
         {0, 0.5, 1, 1},
         "classification",
         SH_INVALID,
         "not whole, which cannot be classes"},
        {"(4,)", {3, 3, 3, 3}, "classification", SH_INVALID, "all samples are of one class, 3"},
        {"(2, 2, 1)", {0}, "", SH_INVALID, "has 3 dimensions"},
        {"()", {0}, "", SH_INVALID, "has 0 dimensions"},
        {"(0,)", {0}, "", SH_INVALID, "is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_array y;
        sh_array_targets targets;
        const size_t count = strcmp(cases[i].shape, "()") == 0     ? 1
                             : strcmp(cases[i].shape, "(0,)") == 0 ? 0
                                                                   : 4;
        open_y(&y, "<f8", cases[i].shape, cases[i].numbers, count * sizeof(double));
        assert_fails(find(&targets, &y, cases[i].task), cases[i].code, cases[i].message);
        sh_array_close(&y);
    }
    static int32_t many[70000];
    for (int32_t i = 0; i < 70000; i++)
        many[i] = 70000 - i;
    sh_array y;
    sh_array_targets targets;
    open_y(&y, "<i4", "(70000,)", many, sizeof many);
    assert_fails(find(&targets, &y, ""), SH_LIMIT, "more than 65536 different numbers");
    assert_ok(find(&targets, &y, "regression"));
    sh_array_targets_release(&targets);
    sh_array_close(&y);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(whole_numbers_are_classes), WITH_SCRATCH(columns_of_zeros_and_ones),
        WITH_SCRATCH(numbers_are_standardised),  WITH_SCRATCH(a_task_decides),
        WITH_SCRATCH(bad_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
