/* SPDX-License-Identifier: Apache-2.0 */
#include "data/series/series_rows.h"

#include "base/scratch.h"

static sh_status add(sh_series_rows *rows, const char *name, const char *text, uint64_t *first,
                     uint64_t *count)
{
    char path[SCRATCH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    scratch_write(path, text, strlen(text));
    return sh_series_rows_add(rows, first, count, path, name);
}

static void assert_rows(const sh_series_rows *rows, uint64_t first, const double *expected,
                        size_t count)
{
    double numbers[64];
    assert_in_range(count * rows->width, 1, 64);
    assert_ok(sh_series_rows_read(rows, first, numbers, count));
    for (size_t i = 0; i < count * rows->width; i++)
        if (numbers[i] != expected[i])
            fail_msg("number %zu is %g, expected %g", i, numbers[i], expected[i]);
}

static void files_are_read(void **state)
{
    (void)state;
    sh_series_rows rows;
    uint64_t first, count;
    sh_series_rows_init(&rows, &(sh_series_form){.target = ""});
    assert_ok(add(&rows, "a.csv", "timestamp,x,y\n0,1,2\n10,3,4.5\n20,-1e1,6\n", &first, &count));
    assert_true(first == 0 && count == 3);
    assert_ok(add(&rows, "b.csv", "timestamp,x,y\n0,7,8\n", &first, &count));
    assert_true(first == 3 && count == 1);
    assert_ok(sh_series_rows_end(&rows));
    assert_int_equal(rows.width, 2);
    assert_string_equal(rows.time, "timestamp");
    assert_true(rows.interval == 10);
    assert_string_equal(rows.columns[1].name, "y");
    assert_rows(&rows, 0, (double[]){1, 2, 3, 4.5, -10, 6, 7, 8}, 4);
    sh_series_rows_release(&rows);
}

static void labels_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *target, *text;
        bool finds;
        const char *name;
        double rows[6];
    } cases[] = {
        {"what", "what,x\nb,1\na,2\nb,3\n", false, "what", {1, 0, 2, 1, 3, 0}},
        {"2", "x,what\n1,b\n2,\n3,b\n", false, "what", {1, 0, 2, -1, 3, 0}},
        {"2", "1,7\n2,8\n3,7.0\n", false, "2", {1, 0, 2, 1, 3, 0}},
        {"", "1,run\n2,sit\n3,run\n", true, "2", {1, 0, 2, 1, 3, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_series_rows rows;
        uint64_t first, count;
        sh_series_rows_init(
            &rows, &(sh_series_form){.target = cases[i].target, .finds_target = cases[i].finds});
        assert_ok(add(&rows, "a.csv", cases[i].text, &first, &count));
        assert_ok(sh_series_rows_end(&rows));
        assert_string_equal(rows.target_name, cases[i].name);
        assert_int_equal(rows.class_count, i == 1 ? 1 : 2);
        assert_rows(&rows, 0, cases[i].rows, 3);
        sh_series_rows_release(&rows);
    }
}

static void short_gaps_are_filled(void **state)
{
    (void)state;
    sh_series_rows rows;
    uint64_t first, count;
    sh_series_rows_init(&rows, &(sh_series_form){.target = ""});
    assert_ok(add(&rows, "a.csv", "x,y\n?,1\nNA,2\n4,\n,NaN\n,8\n7,null\n", &first, &count));
    assert_ok(sh_series_rows_end(&rows));
    assert_rows(&rows, 0, (double[]){4, 1, 4, 2, 4, 4, 5, 6, 6, 8, 7, 8}, 6);
    assert_int_equal(rows.columns[0].filled, 4);
    assert_int_equal(rows.columns[1].filled, 3);
    sh_series_rows_release(&rows);
}

/* The buffer is flushed several times, also within gaps. */
static void long_files_are_read(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    char *text = malloc(ROWS * 24), *at = text;
    assert_non_null(text);
    for (int i = 0; i < ROWS; i++)
        at += i % 17 >= 6 && i % 17 < 14 ? snprintf(at, 24, ",%d\n", i)
                                         : snprintf(at, 24, "%d,%d\n", 2 * i, i);
    sh_series_rows rows;
    uint64_t first, count;
    sh_series_rows_init(&rows, &(sh_series_form){.target = ""});
    assert_ok(add(&rows, "a.csv", text, &first, &count));
    assert_ok(sh_series_rows_end(&rows));
    assert_int_equal(count, ROWS);
    double *numbers = malloc(2 * ROWS * sizeof *numbers);
    assert_non_null(numbers);
    assert_ok(sh_series_rows_read(&rows, 0, numbers, ROWS));
    for (int i = 0; i < ROWS; i++) {
        const double away = numbers[2 * i] - 2 * i;
        if (away > 1e-9 || away < -1e-9 || numbers[2 * i + 1] != i)
            fail_msg("row %d: %g %g", i, numbers[2 * i], numbers[2 * i + 1]);
    }
    free(numbers);
    free(text);
    sh_series_rows_release(&rows);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target;
        sh_status code;
        const char *message;
    } cases[] = {
        {"x,y\n1,2\n3,abc\n", "", SH_FORMAT,
         "b.csv: line 3: 'abc' of column y is not a number; correct it, or name the column with "
         "--target"},
        {"x,y\n1,inf\n", "", SH_FORMAT, "line 2: 'inf' of column y is not a finite number"},
        {"x,y\n1,2\n,2\n,2\n,2\n,2\n,2\n,2\n,2\n,2\n,2\n,2\n,2\n3,4\n", "", SH_FORMAT,
         "b.csv: line 13: more than 10 values of column x are missing"},
        {"x,y\n1,\n2,\n", "", SH_FORMAT, "b.csv: column y has no value"},
        {"x,y\n", "", SH_FORMAT, "b.csv: has no row of numbers"},
        {"time,what\n1,a\n", "what", SH_INVALID, "no column of numbers beside the time"},
        {"x,what\n1,a\n", "wat", SH_INVALID, "no column 'wat' for --target; is 'what' meant?"},
        {"x,what\n1,a\n", "3", SH_INVALID, "no column '3'"},
        {"x,y\n1,2\n3\n", "", SH_FORMAT, "line 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_series_rows rows;
        uint64_t first, count;
        sh_series_rows_init(&rows, &(sh_series_form){.target = cases[i].target});
        assert_fails(add(&rows, "b.csv", cases[i].text, &first, &count), cases[i].code,
                     cases[i].message);
        sh_series_rows_release(&rows);
    }
}

static void other_columns_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"t,x\n0,1\n", "b.csv: has 2 columns, but a.csv has 3"},
        {"0,1,2\n", "b.csv: has no header, but a.csv has one"},
        {"t,x,z\n0,1,2\n", "b.csv: its column 3 is 'z', but that of a.csv is 'y'"},
        {"i,x,y\n0,1,2\n", "b.csv: its column 1 is 'i', but that of a.csv is 't'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_series_rows rows;
        uint64_t first, count;
        sh_series_rows_init(&rows, &(sh_series_form){.target = ""});
        assert_ok(add(&rows, "a.csv", "t,x,y\n0,1,2\n", &first, &count));
        assert_fails(add(&rows, "b.csv", cases[i].text, &first, &count), SH_MISMATCH,
                     cases[i].message);
        sh_series_rows_release(&rows);
    }
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(files_are_read),        WITH_SCRATCH(labels_are_found),
        WITH_SCRATCH(short_gaps_are_filled), WITH_SCRATCH(long_files_are_read),
        WITH_SCRATCH(bad_files_are_refused), WITH_SCRATCH(other_columns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
