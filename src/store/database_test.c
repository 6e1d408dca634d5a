/* SPDX-License-Identifier: Apache-2.0 */
#include "store/database.h"

#include <math.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/scratch.h"
#include "store/file.h"
#include "store/schema.h"

static const sh_database_kind fish = {
    .what = "a list of fish",
    .application = 42,
    .version = 3,
    .schema = "CREATE TABLE fish (name TEXT, weight REAL, year INTEGER)",
};
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
    const sh_database_kind birds = {
        .what = "a list of birds", .application = 43, .version = 3, .schema = fish.schema};
    sh_database_kind newer = fish, wrong = fish;
    newer.version = 4;
    wrong.schema = "CREATE TABEL x (y)";
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

#define COUNT_FOR_EVER                                                                             \
    "WITH RECURSIVE c (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c) SELECT n AS name, n AS "   \
    "weight, n AS year FROM c"

/* The files have statements that would run when the file is read or written. */
static void takes_no_schema_of_others(void **state)
{
    (void)state;
    static const struct {
        const char *change, *words;
    } cases[] = {
        {"DROP TABLE fish; CREATE VIEW fish AS " COUNT_FOR_EVER, "it lacks the table \"fish\""},
        {"CREATE VIEW other AS " COUNT_FOR_EVER, "it has the view \"other\""},
        {"CREATE TRIGGER t AFTER INSERT ON fish BEGIN DELETE FROM fish; END",
         "it has the trigger \"t\""},
        {"CREATE TABLE \"a\nb\" (x)", "it has the table \"a?b\""},
        {"CREATE VIRTUAL TABLE v USING fts5 (x)", "it has the table \"v\""},
        {"CREATE INDEX i ON fish (name)", "it has the index \"i\""},
        {"ALTER TABLE fish ADD COLUMN set_tail TEXT", "it changes the table \"fish\""},
        {"ALTER TABLE fish RENAME TO sprats", "it lacks the table \"fish\""},
        {"DROP TABLE fish", "it lacks the table \"fish\""},
        {"DROP TABLE fish; CREATE TABLE fish (name TEXT, weight REAL, year INTEGER AS (weight))",
         "it changes the table \"fish\""},
        {"DROP TABLE fish; CREATE TABLE fish (name TEXT, weight REAL, year INTEGER, CHECK (1))",
         "it changes the table \"fish\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_database *database = opened(&fish, SH_DATABASE_WRITE);
        const sh_status made = sh_database_run(database, cases[i].change);
        sh_database_close(database);
        for (int mode = SH_DATABASE_READ; made == SH_OK && mode <= SH_DATABASE_WRITE; mode++)
            assert_fails(sh_database_open(&database, path, &fish, (sh_database_mode)mode),
                         SH_FORMAT, cases[i].words);
        if (made != SH_OK) /* an SQLite without full text search */
            assert_non_null(strstr(cases[i].change, "fts5"));
        scratch_remove(path);
    }
}

static void takes_no_view_of_others_for_a_runs(void **state)
{
    (void)state;
    sh_database *database = opened(sh_schema_run(), SH_DATABASE_WRITE);
    assert_ok(sh_database_run(database, "DROP VIEW step_parts;"
                                        "CREATE VIEW step_parts AS " COUNT_FOR_EVER));
    sh_database_close(database);
    assert_fails(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_READ), SH_FORMAT,
                 "100%?.db differs from a run's database made by shoal: it changes the view "
                 "\"step_parts\". Use only a trusted file, with the shoal that wrote it");
}

static void a_table_may_grow(void **state)
{
    (void)state;
    sh_database_kind old = fish, young = fish;
    old.schema = "CREATE TABLE fish (name TEXT PRIMARY KEY, set_a TEXT, weight REAL, year INTEGER)";
    young.schema =
        "CREATE TABLE fish (name TEXT PRIMARY KEY, set_b TEXT, set_a TEXT, weight REAL, year "
        "INTEGER)";
    old.grows = young.grows = "fish";
    old.spare = young.spare = "set_";
    static const struct {
        const char *change;
        sh_status status;
    } cases[] = {
        {"SELECT 1", SH_OK},
        {"ALTER TABLE fish ADD COLUMN set_c TEXT", SH_OK},
        {"ALTER TABLE fish ADD COLUMN c TEXT", SH_FORMAT},
        {"ALTER TABLE fish ADD COLUMN set_c TEXT DEFAULT 'x'", SH_FORMAT},
        {"ALTER TABLE fish ADD COLUMN set_c TEXT DEFAULT (1)", SH_FORMAT},
        {"ALTER TABLE fish ADD COLUMN set_c TEXT CHECK (1)", SH_FORMAT},
        {"ALTER TABLE fish ADD COLUMN set_c TEXT AS (year)", SH_FORMAT},
        {"ALTER TABLE fish ADD COLUMN set_c INTEGER", SH_FORMAT},
        {"CREATE VIEW v AS SELECT 1", SH_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_database *database = opened(&old, SH_DATABASE_WRITE);
        assert_ok(sh_database_run(database, cases[i].change));
        sh_database_close(database);
        const sh_status status = sh_database_open(&database, path, &young, SH_DATABASE_READ);
        assert_int_equal(status, cases[i].status);
        if (status == SH_OK)
            sh_database_close(database);
        scratch_remove(path);
    }
}

/* The content of a file can make a query slow. */
static void ends_a_query_that_takes_too_long(void **state)
{
    (void)state;
    sh_database_kind impatient = fish;
    impatient.instructions = 1000000;
    sh_database *database = opened(&impatient, SH_DATABASE_WRITE);
    double found;
    for (int i = 0; i < 100; i++)
        add(database, "herring", 0.5, i);
    for (int again = 0; again < 2; again++) {
        assert_fails(sh_database_ask(&found, database,
                                     "SELECT count(*) FROM fish a, fish b, fish c, fish d"),
                     SH_LIMIT, "100%?.db: reading it takes too long for a run");
        assert_fails(sh_database_run(database, "DELETE FROM fish WHERE year IN (SELECT count(*) "
                                               "FROM fish a, fish b, fish c, fish d)"),
                     SH_LIMIT, "takes too");
    }
    for (int i = 0; i < 100; i++) {
        assert_ok(sh_database_ask(&found, database, "SELECT count(*) FROM fish a, fish b"));
        assert_true(found == 10000);
    }
    sh_query *query;
    int64_t rows = 0;
    assert_ok(sh_query_new(&query, database, "SELECT 1 FROM fish a, fish b, fish c, fish d"));
    while (sh_query_row(query))
        rows++;
    assert_in_range(rows, 1000, 1000000);
    assert_fails(sh_query_end(query, SH_OK), SH_LIMIT, "takes too");
    sh_database_close(database);
}

static void follows_no_link(void **state)
{
    (void)state;
    sh_database *database;
    char link[SH_PATH_BYTES], inner[SH_PATH_BYTES];
    sh_database_close(opened(&fish, SH_DATABASE_WRITE));
    assert_ok(sh_path_join(link, folder, "link.db"));
    assert_int_equal(symlink("a 100%?.db", link), 0);
    for (int mode = SH_DATABASE_READ; mode <= SH_DATABASE_WRITE; mode++)
        assert_fails(sh_database_open(&database, link, &fish, (sh_database_mode)mode), SH_REFUSED,
                     "link.db: is a symbolic link");
    assert_int_equal(unlink(link), 0);

    assert_int_equal(symlink(".", link), 0);
    assert_ok(sh_path_join(inner, link, "a 100%?.db"));
    assert_ok(sh_database_open(&database, inner, &fish, SH_DATABASE_WRITE));
    add(database, "cod", 3, 2020);
    sh_database_close(database);
    assert_int_equal(unlink(link), 0);

    /* The write-ahead log must not be a link either. */
    char log[SH_PATH_BYTES + 8], victim[SH_PATH_BYTES];
    snprintf(log, sizeof log, "%s-wal", path);
    assert_ok(sh_path_join(victim, folder, "victim"));
    scratch_write(victim, "keep", 4);
    assert_int_equal(symlink("victim", log), 0);
    if (sh_database_open(&database, path, &fish, SH_DATABASE_WRITE) == SH_OK)
        sh_database_close(database);
    scratch_expect(victim, "keep");
}

static void waits_for_no_pipe(void **state)
{
    (void)state;
    sh_database *database;
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); /* ends the test */
    assert_fails(sh_database_open(&database, path, &fish, SH_DATABASE_READ), SH_INVALID,
                 "is not a file");
    alarm(0);
}

/* A reader finds none, an empty one or a whole one. */
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
        bool made = false;
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
        cmocka_unit_test_setup_teardown(takes_no_schema_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_no_view_of_others_for_a_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_may_grow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_a_query_that_takes_too_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(follows_no_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waits_for_no_pipe, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
