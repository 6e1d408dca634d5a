/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/csv.h"

#include "data/fixture.h"

static fixture place;

static int set_up(void **state)
{
    (void)state;
    fixture_new(&place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_remove(&place);
    return 0;
}

static sh_csv *open_bytes(const void *bytes, size_t count, uint32_t skip)
{
    sh_csv *csv;
    fixture_write(&place, "t.csv", bytes, count);
    assert_ok(sh_csv_open(&csv, fixture_path(&place, "t.csv"), skip));
    return csv;
}

/* The line, then each field in <>. */
static void show(sh_csv *csv, char *text, size_t bytes)
{
    const sh_csv_row *row;
    size_t used = 0;
    text[0] = '\0';
    for (;;) {
        assert_ok(sh_csv_next(csv, &row));
        if (row == NULL)
            break;
        used += (size_t)snprintf(text + used, bytes - used, "%u:", (unsigned)row->line);
        for (size_t i = 0; i < row->count; i++)
            used += (size_t)snprintf(text + used, bytes - used, "<%s>", row->fields[i]);
        assert_in_range(used, 1, bytes - 1);
    }
    assert_ok(sh_csv_next(csv, &row));
    assert_null(row);
}

static void rows_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t skip;
        const char *rows;
    } cases[] = {
        {"a,b\n1,2\n", 0, "1:<a><b>2:<1><2>"},
        {"a,b\r\n1,2", 0, "1:<a><b>2:<1><2>"},
        {"a,b\r1,2\r", 0, "1:<a><b>2:<1><2>"},
        {"\xef\xbb\xbf"
         "a,b\n1,2\n",
         0, "1:<a><b>2:<1><2>"},
        {"\n\n a , b \n  \n1,\n", 0, "3:<a><b>5:<1><>"},
        {"a;b\n1,5;2,5\n3,5;4,5\n", 0, "1:<a><b>2:<1,5><2,5>3:<3,5><4,5>"},
        {"a b\tc\n1 2\t3\n", 0, "1:<a b><c>2:<1 2><3>"},
        {"a|b\n1|2\n", 0, "1:<a><b>2:<1><2>"},
        {" 1  2 3\n4 5   6  \n\n   \n7 8 9", 0, "1:<1><2><3>2:<4><5><6>5:<7><8><9>"},
        {"a b \"\"\nc  d e\n", 0, "1:<a><b><>2:<c><d><e>"},
        {"a\nb b\nc\n", 0, "1:<a>2:<b b>3:<c>"},
        {"n,x\n\"Braund, Mr. \"\"O\"\"\",1\n\"two\nlines\",2\nend,3\n", 0,
         "1:<n><x>2:<Braund, Mr. \"O\"><1>3:<two\nlines><2>5:<end><3>"},
        {"n;x\n\"a;b;c\";1\n\"d;e\";2\n", 0, "1:<n><x>2:<a;b;c><1>3:<d;e><2>"},
        {"3,4,x\r\na,b\r\n1,2\r\n", 1, "2:<a><b>3:<1><2>"},
        {"# one\n# two\n1,2\n", 2, "3:<1><2>"},
        {"\xc3\xa4,\xe2\x82\xac\n", 0, "1:<\xc3\xa4><\xe2\x82\xac>"},
    };
    char text[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_csv *csv = open_bytes(cases[i].text, strlen(cases[i].text), cases[i].skip);
        for (int time = 0; time < 2; time++) {
            show(csv, text, sizeof text);
            assert_string_equal(text, cases[i].rows);
            assert_ok(sh_csv_rewind(csv));
        }
        sh_csv_close(csv);
    }
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes; /* 0: strlen(text) */
        const char *message;
    } cases[] = {
        {"178,13,a\n1,2,3,4\n5,6,7,8\n", 0,
         "line 1 has 3 fields and those after it have 4; if the table begins with line 2, write "
         "--skip-lines 1"},
        {"178,13,a\n\n\n1,2,3,4\n5,6,7,8\n", 0, "begins with line 4, write --skip-lines 3"},
        {"a,b\n1,2\n3\n", 0, "line 3 has 1 fields, but the lines before it have 2"},
        {"a,b\n1,2,3\n3,4\n", 0, "line 2 has 3 fields, but line 1 has 2"},
        {"a,b\n1,\"2\n3,4\n5,6\n", 0,
         "line 2, field 2: its quote is not closed before the end of the file"},
        {"a,b\n1,\"2\n3,4\n5,\"6\"\n", 0, "line 2, field 2: its quote is not closed before line 4"},
        {"a,b\n1,2\n5\" pipe,4\n", 0, "line 3, field 1: has a quote inside"},
        {"a,b\n1,\"x\"y\n", 0, "line 2, field 2: has a quote inside"},
        {"a,b\n1,\xff\n", 0, "line 2, field 2: byte 0xff is not UTF-8"},
        {"a,b\n1,caf\xe9\n", 0, "line 2, field 2: byte 0xe9 is not UTF-8"},
        {"a,b\n1,\0\n", 7, "line 2 holds a zero byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t bytes = cases[i].bytes > 0 ? cases[i].bytes : strlen(cases[i].text);
        sh_csv *csv = open_bytes(cases[i].text, bytes, 0);
        const sh_csv_row *row = NULL;
        sh_status status = SH_OK;
        for (int rows = 0; rows < 9 && status == SH_OK; rows++)
            status = sh_csv_next(csv, &row);
        assert_fails(status, SH_FORMAT, cases[i].message);
        sh_csv_close(csv);
    }
}

static void bad_files_do_not_open(void **state)
{
    (void)state;
    sh_csv *csv = NULL;
    fixture_write(&place, "t.csv", "", 0);
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 0), SH_FORMAT, "t.csv: is empty");
    fixture_write(&place, "t.csv", "\xef\xbb\xbf", 3);
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 0), SH_FORMAT, "t.csv: is empty");
    fixture_write(&place, "t.csv", "a\nb\n", 4);
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 2), SH_FORMAT,
                 "has nothing after the 2 lines");
    fixture_write(&place, "t.csv", "\xff\xfe\x61\x00", 4);
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 0), SH_FORMAT, "is UTF-16 text");
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "none.csv"), 0), SH_NOT_FOUND, "none.csv");
    assert_fails(sh_csv_open(&csv, place.folder, 0), SH_INVALID, "is not a regular file");
    fixture_write(&place, "t.csv", "PK\3\4\x14", 5);
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "t.csv"), 0), SH_FORMAT,
                 "is a ZIP archive, as spreadsheets (.xlsx, .ods) are; save the table as CSV");
    assert_int_equal(mkfifo(fixture_path(&place, "pipe.csv"), 0600), 0);
    assert_fails(sh_csv_open(&csv, fixture_path(&place, "pipe.csv"), 0), SH_INVALID,
                 "is not a regular file");
    assert_int_equal(unlink(fixture_path(&place, "pipe.csv")), 0);
    assert_null(csv);
}

static sh_status read_all(const char *bytes, size_t count)
{
    sh_csv *csv = open_bytes(bytes, count, 0);
    const sh_csv_row *row = NULL;
    sh_status status;
    do {
        status = sh_csv_next(csv, &row);
    } while (status == SH_OK && row != NULL);
    sh_csv_close(csv);
    return status;
}

static void limits_hold(void **state)
{
    (void)state;
    const size_t most = SH_CSV_FIELDS_MOST, bytes = 4 * (size_t)SH_CSV_FIELD_MOST;
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t i = 0; i <= most; i++)
        memcpy(text + 2 * i, "1,", 2);
    text[2 * most - 1] = '\n';
    assert_ok(read_all(text, 2 * most));
    text[2 * most - 1] = ',';
    text[2 * most + 1] = '\n';
    assert_fails(read_all(text, 2 * most + 2), SH_LIMIT, "line 1 has more than 100000 fields");

    memset(text, 'x', bytes);
    memcpy(text, "a,b\n1,\"", 7);
    assert_fails(read_all(text, bytes), SH_LIMIT, "line 2, field 2: is longer than 1048576 bytes");
    memset(text, '\n', bytes); /* blank lines are no field */
    memcpy(text + bytes - 4, "a,b\n", 4);
    assert_ok(read_all(text, bytes));
    free(text);
}

/* Rows span buffers. */
static void long_files_are_read(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    char *text = malloc(ROWS * 32);
    size_t used = 0;
    assert_non_null(text);
    for (unsigned i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, 32, "%u,\"%u\"\r\n", i, 7 * i);
    fixture_gzip(&place, "t.csv.gz", text, used);
    fixture_write(&place, "t.csv", text, used);
    char digests[2][SH_DIGEST_TEXT];
    for (int packed = 0; packed < 2; packed++) {
        sh_csv *csv;
        const sh_csv_row *row;
        assert_ok(sh_csv_open(&csv, fixture_path(&place, packed ? "t.csv.gz" : "t.csv"), 0));
        for (unsigned i = 0; i < ROWS; i++) {
            char expected[2][16];
            snprintf(expected[0], 16, "%u", i);
            snprintf(expected[1], 16, "%u", 7 * i);
            assert_ok(sh_csv_next(csv, &row));
            assert_non_null(row);
            assert_int_equal(row->line, i + 1);
            assert_int_equal(row->count, 2);
            assert_string_equal(row->fields[0], expected[0]);
            assert_string_equal(row->fields[1], expected[1]);
        }
        assert_ok(sh_csv_next(csv, &row));
        assert_null(row);
        assert_ok(sh_csv_digest(csv, digests[packed]));
        sh_csv_close(csv);
    }
    assert_string_equal(digests[0], digests[1]);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_do_not_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_files_are_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
