/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

#include <math.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/scratch.h"
#include "store/file.h"
#include "store/schema.h"

static const sh_database_kind fish = {"a list of fish", 42, 3,
                                      "CREATE TABLE fish (name TEXT, weight REAL, year INTEGER)"};
static char folder[SH_PATH_BYTES], path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(path, folder, "a 100%?.db") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_database *opened(const sh_database_kind *kind, sh_database_mode mode)
{
    sh_database *database;
    assert_ok(sh_database_open(&database, path, kind, mode));
    return database;
}

static void add(sh_database *database, const char *name, double weight, int64_t year)
{
    sh_query *query;
    assert_ok(sh_query_new(&query, database, "INSERT INTO fish VALUES (?1, ?2, ?3)"));
    sh_query_bind_text(query, 1, name);
    sh_query_bind_real(query, 2, weight);
    sh_query_bind_integer(query, 3, year);
    assert_ok(sh_query_end(query, sh_query_run(query)));
}

static int64_t count(sh_database *database)
{
    double found;
    assert_ok(sh_database_ask(&found, database, "SELECT count(*) FROM fish"));
    return (int64_t)found;
}

static void keeps_what_was_written(void **state)
{
    (void)state;
    sh_database *database = opened(&fish, SH_DATABASE_WRITE);
    add(database, "herring", 0.5, INT64_MAX);
    add(database, NULL, NAN, 0);
    sh_database_close(database);
    assert_int_equal(scratch_count(folder), 1);

    database = opened(&fish, SH_DATABASE_READ);
    sh_query *query;
    assert_ok(
        sh_query_new(&query, database, "SELECT name, weight, year FROM fish ORDER BY year DESC"));
    for (int again = 0; again < 2; again++) {
        assert_true(sh_query_row(query));
        assert_int_equal(sh_query_columns(query), 3);
        assert_string_equal(sh_query_name(query, 1), "weight");
        assert_int_equal(sh_query_kind(query, 0), SH_VALUE_TEXT);
        assert_int_equal(sh_query_kind(query, 1), SH_VALUE_REAL);
        assert_int_equal(sh_query_kind(query, 2), SH_VALUE_INTEGER);
        assert_string_equal(sh_query_text(query, 0), "herring");
        assert_true(sh_query_real(query, 1) == 0.5);
        assert_true(sh_query_integer(query, 2) == INT64_MAX);
        assert_true(sh_query_row(query));
        assert_true(sh_query_is_null(query, 0) && isnan(sh_query_real(query, 1)));
        assert_int_equal(sh_query_kind(query, 1), SH_VALUE_NULL);
        assert_string_equal(sh_query_text(query, 0), "");
        assert_false(sh_query_row(query));
    }
    assert_ok(sh_query_end(query, SH_OK));
    assert_fails(sh_database_run(database, "DELETE FROM fish"), SH_PERMISSION, "100%?.db");
    assert_fails(sh_query_new(&query, database, "SELECT tail FROM fish"), SH_INTERNAL, "tail");
    sh_database_close(database);
}

static void is_read_while_somebody_writes(void **state)
{
    (void)state;
    sh_database *writer = opened(&fish, SH_DATABASE_WRITE);
    sh_database *reader = opened(&fish, SH_DATABASE_READ);
    assert_ok(sh_database_run(writer, "BEGIN"));
    add(writer, "cod", 3, 2020);
    assert_int_equal(count(reader), 0);
    assert_ok(sh_database_run(writer, "COMMIT"));
    assert_int_equal(count(reader), 1);
    sh_database_close(reader);
    sh_database_close(writer);
}

static void survives_a_kill(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (child == 0) {
        sh_database *database;
        if (sh_database_open(&database, path, &fish, SH_DATABASE_WRITE) == SH_OK &&
            sh_database_run(database, "INSERT INTO fish VALUES ('eel', 1, 1);"
                                      "BEGIN; INSERT INTO fish VALUES ('ray', 1, 1)") == SH_OK)
            raise(SIGKILL);
        _exit(1);
    }
    int outcome;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_true(WIFSIGNALED(outcome));
    sh_database *database = opened(&fish, SH_DATABASE_READ);
    assert_int_equal(count(database), 1);
    sh_database_close(database);
}

static void refuses_what_it_is_not(void **state)
{
    (void)state;
    const sh_database_kind birds = {"a list of birds", 43, 3, fish.schema};
    const sh_database_kind newer = {fish.what, fish.application, 4, fish.schema};
    const sh_database_kind wrong = {fish.what, fish.application, 3, "CREATE TABEL x (y)"};
    sh_database *database;
    assert_fails(sh_database_open(&database, path, &fish, SH_DATABASE_READ), SH_NOT_FOUND, path);
    assert_fails(sh_database_open(&database, path, &wrong, SH_DATABASE_WRITE), SH_INTERNAL,
                 "TABEL");
    sh_database_close(opened(&fish, SH_DATABASE_WRITE));
    for (int mode = SH_DATABASE_READ; mode <= SH_DATABASE_WRITE; mode++) {
        assert_fails(sh_database_open(&database, path, &birds, (sh_database_mode)mode), SH_FORMAT,
                     "is not a list of birds");
        assert_fails(sh_database_open(&database, path, &newer, (sh_database_mode)mode), SH_VERSION,
                     "its schema has version 3, this shoal knows version 4");
    }
    assert_fails(sh_database_open(&database, folder, &fish, SH_DATABASE_WRITE), SH_IO, folder);
    char text[2000];
    memset(text, 'x', sizeof text);
    scratch_write(path, text, sizeof text);
    assert_fails(sh_database_open(&database, path, &fish, SH_DATABASE_READ), SH_FORMAT,
                 "is not a database");
    scratch_write(path, "", 0);
    assert_fails(sh_database_open(&database, path, &fish, SH_DATABASE_READ), SH_NOT_FOUND,
                 "a 100%?.db is empty");
}

static void says_that_it_is_damaged(void **state)
{
    (void)state;
    sh_database *database = opened(&fish, SH_DATABASE_WRITE);
    for (int i = 0; i < 1000; i++)
        add(database, "sprat", i, i);
    sh_database_close(database);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (long at = 4096; at < 16384; at++) {
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fputc(0xff, file), 0xff);
    }
    assert_int_equal(fclose(file), 0);
    database = opened(&fish, SH_DATABASE_READ);
    sh_query *query;
    assert_ok(sh_query_new(&query, database, "SELECT sum(weight) FROM fish"));
    assert_false(sh_query_row(query));
    assert_fails(sh_query_end(query, SH_OK), SH_CORRUPT, "is damaged");
    sh_database_close(database);
}

static void says_where_the_disk_is_full(void **state)
{
    (void)state;
    scratch_mount(folder, 131072);
    sh_database *database = opened(&fish, SH_DATABASE_WRITE);
    assert_ok(sh_database_run(database, "INSERT INTO fish VALUES ('eel', 1, 1)"));
    assert_fails(sh_database_run(database, "INSERT INTO fish VALUES (zeroblob(1000000), 1, 1)"),
                 SH_NO_SPACE, "no space left");
    assert_int_equal(count(database), 1);
    sh_database_close(database);
    scratch_unmount(folder);
}

static void is_read_where_nobody_can_write(void **state)
{
    (void)state;
    scratch_mount(folder, 1 << 20);
    sh_database *database = opened(&fish, SH_DATABASE_WRITE);
    add(database, "tuna", 200, 2021);
    sh_database_close(database);
    assert_int_equal(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    database = opened(&fish, SH_DATABASE_READ);
    assert_int_equal(count(database), 1);
    sh_database_close(database);
    assert_fails(sh_database_open(&database, path, &fish, SH_DATABASE_WRITE), SH_PERMISSION, path);
    scratch_unmount(folder);
}

static void makes_a_runs_tables(void **state)
{
    (void)state;
    sh_database *database = opened(sh_schema_run(), SH_DATABASE_WRITE);
    assert_ok(sh_database_run(
        database,
        "INSERT INTO work (step, device, at, merged, grains, samples, wall_us, data_us, forward_us,"
        " backward_us, sum_us, optimizer_us, lanes_us, exchange_us) VALUES"
        " (1, 0, 0, 1, 1, 8, 100, 10, 20, 30, 0, 5, 0, 35), (1, 1, 0, 1, 1, 8, 100, 10, 10, 10, 0,"
        " 5, 0, 65), (1, 2, 0, 1, 1, 8, 100, 0, 0, 0, 0, 5, 0, 25)"));
    static const double wait[] = {0, 30, 25}, network[] = {35, 35, 0};
    sh_query *query;
    assert_ok(sh_query_new(&query, database,
                           "SELECT device, wait_us, network_us FROM step_parts ORDER BY device"));
    for (int i = 0; i < 3; i++) {
        assert_true(sh_query_row(query));
        assert_true(sh_query_real(query, 1) == wait[i] && sh_query_real(query, 2) == network[i]);
    }
    sh_query_free(query);
    sh_database_close(database);
}

/* A reader sees no database, an empty one or a whole one while another process makes it: never
 * another program's. */
static void is_whole_or_absent_while_it_is_made(void **state)
{
    (void)state;
    enum { DATABASES = 150 };
    const pid_t maker = fork();
    assert_true(maker >= 0);
    for (int i = 0; i < DATABASES; i++) {
        char name[32];
        sh_database *database;
        snprintf(name, sizeof name, "%d.db", i);
        assert_ok(sh_path_join(path, folder, name));
        if (maker == 0) {
            if (sh_database_open(&database, path, &fish, SH_DATABASE_WRITE) != SH_OK)
                _exit(1);
            sh_database_close(database);
            continue;
        }
        sh_status status;
        bool made = false; /* all of them, before this look */
        while ((status = sh_database_open(&database, path, &fish, SH_DATABASE_READ)) != SH_OK) {
            if (status != SH_NOT_FOUND || made)
                fail_msg("%s", sh_message());
            siginfo_t about = {0};
            assert_int_equal(waitid(P_PID, (id_t)maker, &about, WEXITED | WNOHANG | WNOWAIT), 0);
            made = about.si_pid != 0;
        }
        sh_database_close(database);
    }
    if (maker == 0)
        _exit(0);
    int ended;
    assert_int_equal(waitpid(maker, &ended, 0), maker);
    assert_int_equal(ended, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_what_was_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_read_while_somebody_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_a_kill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_what_it_is_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_that_it_is_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_where_the_disk_is_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_read_where_nobody_can_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_whole_or_absent_while_it_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(makes_a_runs_tables, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
