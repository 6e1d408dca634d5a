/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/row_store.h"

#include <stdlib.h>

#include "base/test.h"

static double number_of(size_t row, size_t column)
{
    return (double)row * 1.5 - (double)column * 1e6;
}

static void check(size_t columns, size_t rows, size_t room)
{
    sh_row_store *store;
    double *row = malloc(columns * sizeof *row), *values = malloc(2 * rows * sizeof *values);
    assert_true(row != NULL && values != NULL);
    assert_ok(sh_row_store_new(&store, columns, room));
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < columns; c++)
            row[c] = number_of(i, c);
        assert_ok(sh_row_store_add(store, row));
    }
    assert_ok(sh_row_store_end(store));
    for (size_t i = 0; i < rows; i += 1 + rows / 7) {
        assert_ok(sh_row_store_read(store, i, row));
        for (size_t c = 0; c < columns; c++)
            assert_true(row[c] == number_of(i, c));
    }
    const size_t first = columns / 2, count = columns - first < 2 ? 1 : 2;
    assert_ok(sh_row_store_columns(store, first, count, values));
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < rows; i++)
            assert_true(values[c * rows + i] == number_of(i, first + c));
    sh_row_store_free(store);
    free(row);
    free(values);
}

static void rows_come_back(void **state)
{
    (void)state;
    const size_t most = SH_ROW_STORE_MEMORY / sizeof(double);
    check(1, 1, 1);
    check(3, 1000, 2000);
    check(8, most / 8, most / 8);         /* the largest in memory */
    check(8, most / 8 + 1, most / 8 + 1); /* the smallest in a file */
    check(7, 1000, most);                 /* few rows of many expected */
    check(most + 1, 3, 3);                /* a row is larger than the buffer */
}

static void a_file_that_cannot_be_made(void **state)
{
    (void)state;
    sh_row_store *store = NULL;
    assert_int_equal(setenv("TMPDIR", "/proc/none", 1), 0);
    assert_ok(sh_row_store_new(&store, 2, 10));
    sh_row_store_free(store);
    store = NULL;
    assert_int_not_equal(sh_row_store_new(&store, SH_ROW_STORE_MEMORY, 2), SH_OK);
    assert_non_null(strstr(sh_message(), "for the rows of a table"));
    assert_null(store);
    assert_fails(sh_row_store_new(&store, SIZE_MAX / 4, 8), SH_NO_MEMORY, "the rows of a table");
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(a_file_that_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
