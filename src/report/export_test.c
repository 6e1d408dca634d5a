/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/history_fixture.h"
#include "shoal/runs.h"

static char root[SH_PATH_BYTES], folder[SH_PATH_BYTES], path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(root);
    assert_ok(sh_path_join(path, root, "table"));
    return sh_path_join(folder, root, "a") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

static sh_status export(const char *table, sh_export_format format)
{
    return sh_run_export(
        &(sh_export_options){.run = folder, .table = table, .format = format, .path = path});
}

static void writes_values_as_they_are(void **state)
{
    (void)state;
    history_make(root, "a",
                 "INSERT INTO events VALUES (1.5, NULL, '', 'plain'),"
                 " (0.1, 7, 'a,b', 'says \"x\" \\' || char(10, 1)),"
                 " (1700000000.123456, -3, '\xC3\xA9', '1'), (1e22, 0, 'k', 't'),"
                 " (-9e999, 0, 'k', CAST(x'74FFC3' AS TEXT))");
    assert_ok(export("events", SH_EXPORT_CSV));
    scratch_expect(path, "at,device,kind,text\n"
                         "1.5,,\"\",plain\n"
                         "0.1,7,\"a,b\",\"says \"\"x\"\" \\??\"\n"
                         "1700000000.123456,-3,\xC3\xA9,1\n"
                         "1e+22,0,k,t\n"
                         "-inf,0,k,t??\n");
    assert_ok(export("events", SH_EXPORT_JSON));
    scratch_expect(path,
                   "[\n"
                   "{\"at\": 1.5, \"device\": null, \"kind\": \"\", \"text\": \"plain\"},\n"
                   "{\"at\": 0.1, \"device\": 7, \"kind\": \"a,b\", \"text\": "
                   "\"says \\\"x\\\" \\\\\\u000a\\u0001\"},\n"
                   "{\"at\": 1700000000.123456, \"device\": -3, \"kind\": \"\xC3\xA9\", \"text\": "
                   "\"1\"},\n"
                   "{\"at\": 1e+22, \"device\": 0, \"kind\": \"k\", \"text\": \"t\"},\n"
                   "{\"at\": null, \"device\": 0, \"kind\": \"k\", \"text\": \"t??\"}\n"
                   "]\n");
}

static void names_turn_nothing_around(void **state)
{
    (void)state;
    history_make(root, "a",
                 "INSERT INTO events VALUES (1, 1, '=cmd()', char(8238) || 'gpj'),"
                 " (2, 1, '@x', '-1'), (3, 1, '+1', char(27) || '[2J' || char(155))");
    assert_ok(export("events", SH_EXPORT_CSV));
    scratch_expect(path, "at,device,kind,text\n"
                         "1,1,\"'=cmd()\",?gpj\n"
                         "2,1,\"'@x\",\"'-1\"\n"
                         "3,1,\"'+1\",?[2J?\n");
    assert_ok(export("events", SH_EXPORT_JSON));
    scratch_expect(path,
                   "[\n"
                   "{\"at\": 1, \"device\": 1, \"kind\": \"=cmd()\", \"text\": \"\\u202egpj\"},\n"
                   "{\"at\": 2, \"device\": 1, \"kind\": \"@x\", \"text\": \"-1\"},\n"
                   "{\"at\": 3, \"device\": 1, \"kind\": \"+1\", \"text\": "
                   "\"\\u001b[2J\\u009b\"}\n"
                   "]\n");
}

static void an_empty_table_has_its_head(void **state)
{
    (void)state;
    history_make(root, "a", "");
    assert_ok(export("events", SH_EXPORT_CSV));
    scratch_expect(path, "at,device,kind,text\n");
    assert_ok(export("events", SH_EXPORT_JSON));
    scratch_expect(path, "[\n]\n");
}

static void writes_long_tables(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    history_make(root, "a",
                 "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                 "INSERT INTO events SELECT i, NULL, 'number', i FROM n");
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_ok(sh_run_export(&(sh_export_options){.run = folder, .table = "events", .out = out}));
    rewind(out);
    char line[64], expected[64];
    assert_non_null(fgets(line, sizeof line, out));
    for (int i = 1; i <= ROWS; i++) {
        snprintf(expected, sizeof expected, "%d,,number,%d\n", i, i);
        assert_non_null(fgets(line, sizeof line, out));
        assert_string_equal(line, expected);
    }
    assert_null(fgets(line, sizeof line, out));
    fclose(out);
}

static void names_the_tables(void **state)
{
    (void)state;
    history_make(root, "a", HISTORY_RUN HISTORY_STEPS);
    assert_fails(export("step", SH_EXPORT_CSV), SH_INVALID,
                 "/a: has no table step, but run, sessions, devices, views, epochs, steps, work, "
                 "samples, events, step_parts, trace");
    assert_fails(export("run; DROP TABLE run", SH_EXPORT_CSV), SH_INVALID,
                 "has no table run; DROP");
    assert_ok(export("step_parts", SH_EXPORT_CSV));
}

static void writes_into_a_pipe(void **state)
{
    (void)state;
    char text[64] = "";
    history_make(root, "a", "");
    assert_int_equal(mkfifo(path, 0600), 0);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_ok(export("events", SH_EXPORT_CSV));
    assert_true(read(reader, text, sizeof text - 1) > 0);
    assert_string_equal(text, "at,device,kind,text\n");
    close(reader);
    assert_int_equal(scratch_count(root), 2);
}

static void a_failure_leaves_the_file(void **state)
{
    (void)state;
    scratch_write(path, "old", 3);
    assert_fails(export("steps", SH_EXPORT_CSV), SH_NOT_FOUND, "/a: no such folder");
    history_make(root, "a",
                 "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
                 "INSERT INTO events SELECT i, NULL, 'number', i FROM n");
    char database[SH_PATH_BYTES], noise[16384];
    uint64_t bytes;
    memset(noise, 0xff, sizeof noise);
    assert_ok(sh_path_join(database, folder, "run.db"));
    assert_ok(sh_file_size(&bytes, database));
    const int file = open(database, O_WRONLY);
    assert_int_equal(pwrite(file, noise, sizeof noise, (off_t)(bytes - sizeof noise)),
                     sizeof noise);
    close(file);
    assert_fails(export("events", SH_EXPORT_CSV), SH_CORRUPT, "is damaged");
    scratch_expect(path, "old");
    assert_int_equal(scratch_count(root), 2);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(names_turn_nothing_around),
        WITH_FOLDER(writes_values_as_they_are),
        WITH_FOLDER(an_empty_table_has_its_head),
        WITH_FOLDER(writes_long_tables),
        WITH_FOLDER(names_the_tables),
        WITH_FOLDER(writes_into_a_pipe),
        WITH_FOLDER(a_failure_leaves_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
