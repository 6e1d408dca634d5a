/* SPDX-License-Identifier: Apache-2.0 */
#include "store/journal.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/scratch.h"
#include "store/file.h"

#define DATE 1000000.0
#define SECOND 1000000000ULL

static char folder[SH_PATH_BYTES], path[SH_PATH_BYTES];
static atomic_ullong now_ns;
static atomic_uint troubles;
static char trouble[SH_MESSAGE_BYTES];

static uint64_t read_clock(void *context)
{
    (void)context;
    return atomic_load(&now_ns);
}

static const sh_clock test_clock = {read_clock, NULL};

static void on_trouble(void *context, const char *text)
{
    (void)context;
    snprintf(trouble, sizeof trouble, "%s", text);
    atomic_fetch_add(&troubles, 1);
}

static int set_up(void **state)
{
    (void)state;
    atomic_store(&now_ns, 5 * SECOND);
    atomic_store(&troubles, 0);
    scratch_make(folder);
    return sh_path_join(path, folder, SH_RUN_DATABASE) == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_journal *opened(uint64_t start_step, uint64_t rows_max)
{
    sh_journal *journal;
    assert_ok(sh_journal_open(&journal, &(sh_journal_options){
                                            .folder = folder,
                                            .version = "1.2",
                                            .run = {"lenet", "digits", "{}", 7, 100, 10, 10, 4},
                                            .start_step = start_step,
                                            .clock = &test_clock,
                                            .date = DATE,
                                            .on_trouble = on_trouble,
                                            .rows_max = rows_max,
                                        }));
    return journal;
}

static double ask(const char *sql)
{
    sh_database *database;
    double value;
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_READ));
    assert_ok(sh_database_ask(&value, database, sql));
    sh_database_close(database);
    return value;
}

#define assert_asks(sql, expected)                                                                 \
    do {                                                                                           \
        const double found_ = ask(sql);                                                            \
        if (!(fabs(found_ - (expected)) < 1e-6))                                                   \
            fail_msg("%s: %g, expected %g", sql, found_, (double)(expected));                      \
    } while (0)

static void put_step(sh_journal *journal, uint64_t step, double loss)
{
    sh_journal_step(journal, &(sh_journal_step_row){.step = step,
                                                    .at_ns = atomic_load(&now_ns),
                                                    .view = 1,
                                                    .epoch = 1,
                                                    .samples = step % 2 == 0 ? 17 : 64,
                                                    .loss = loss,
                                                    .accuracy = 0.5});
}

static void put_work(sh_journal *journal, uint64_t step, uint32_t device, uint64_t wall_us)
{
    sh_step_times times = {.step = step,
                           .ends_ns = atomic_load(&now_ns),
                           .grains = 3,
                           .samples = 24,
                           .attempts = 1,
                           .wall_ns = wall_us * 1000};
    times.ns[SH_PART_forward] = wall_us * 500;
    sh_journal_work(journal, device, &times);
}

static void put_sample(sh_journal *journal, uint32_t device, uint64_t at_ns, double counter,
                       double gauge)
{
    sh_sample sample;
    sh_sample_clear(&sample);
    sample.at_ns = at_ns;
    sample.figures[SH_FIGURE_cpu_process_seconds] = counter;
    sample.figures[SH_FIGURE_memory_resident_bytes] = gauge;
    sh_journal_sample(journal, device, &sample);
}

static void writes_every_table(void **state)
{
    (void)state;
    sh_journal *journal = opened(0, 0);
    sh_journal_device(journal, &(sh_journal_device_row){0, 6 * SECOND, "pi-1", 4, 0});
    sh_journal_device(journal, &(sh_journal_device_row){1, 6 * SECOND, "pi-2", 4, 4});
    sh_journal_view(journal, &(sh_journal_view_row){1, 0, 6 * SECOND, 1, 3, "start"});
    put_step(journal, 1, NAN);
    put_work(journal, 1, 0, 1000);
    put_sample(journal, 1, 4 * SECOND, 0.25, 1e6);
    sh_journal_epoch(journal,
                     &(sh_journal_epoch_row){10, 7 * SECOND, 1, 2.5, 0.5, 2.25, 0.75, 1.5});
    sh_journal_event(journal, 7 * SECOND, SH_JOURNAL_NO_DEVICE, "checkpoint.written", "step=10");
    sh_journal_device_gone(journal, 1, 8 * SECOND, "lost");
    sh_journal_flush(journal);
    assert_asks("SELECT count(*) FROM sessions WHERE ended IS NULL AND version = '1.2'", 1);
    sh_journal_end(journal, "complete", "abc");
    sh_journal_close(journal);
    assert_int_equal(troubles, 0);
    assert_asks("SELECT parameters FROM run WHERE model = 'lenet' AND weights_hash = 'abc'", 7);
    assert_asks("SELECT started FROM sessions WHERE status = 'complete'", DATE);
    assert_asks("SELECT joined FROM devices WHERE name = 'pi-1' AND lanes = 4 AND cores IS "
                "NULL AND gone IS NULL",
                DATE + 1);
    assert_asks("SELECT gone FROM devices WHERE name = 'pi-2' AND reason = "
                "'lost' AND cores = 4",
                DATE + 3);
    assert_asks("SELECT grains FROM views WHERE session = 1 AND view = 1 AND step = 1 AND reason = "
                "'start'",
                3);
    assert_asks("SELECT samples FROM steps WHERE step = 1 AND loss IS NULL AND accuracy = 0.5", 64);
    assert_asks("SELECT forward_us FROM work WHERE step = 1 AND device = 0 AND wall_us = 1000 AND "
                "grains = 3 AND samples = 24",
                500);
    assert_asks("SELECT at FROM samples WHERE device = 1 AND cpu_process_seconds = 0.25 AND "
                "power_watts IS NULL",
                DATE - 1);
    assert_asks("SELECT val_accuracy FROM epochs WHERE epoch = 1 AND step = 10 AND seconds = 1.5",
                0.75);
    assert_asks("SELECT at FROM events WHERE kind = 'checkpoint.written' AND device IS NULL",
                DATE + 2);
}

static void reads_lines_of_the_log(void **state)
{
    (void)state;
    static const struct {
        const char *line, *kind, *text;
        int device;
    } cases[] = {
        {"2026 WARN  device.lost device=12 text=\"device=3\"", "device.lost", "text=\"device=3\"",
         12},
        {"2026 INFO  device.ready device=0", "device.ready", "", 0},
        {"2026 INFO  net.refused peer=a device=3", "net.refused", "peer=a device=3", -1},
        {"2026 INFO  device.view text=\"device=3\"", "device.view", "text=\"device=3\"", -1},
        {"2026 INFO  plain", "plain", "", -1},
    };
    const size_t count = sizeof cases / sizeof *cases;
    sh_journal *journal = opened(0, 0);
    for (size_t i = 0; i < count; i++)
        sh_journal_line(journal, 7 * SECOND, cases[i].line);
    sh_journal_line(journal, 7 * SECOND, "2026 WARN");
    sh_journal_close(journal);
    assert_asks("SELECT count(*) FROM events", (double)count);
    for (size_t i = 0; i < count; i++) {
        char sql[256];
        snprintf(sql, sizeof sql,
                 "SELECT coalesce(device, -1) FROM events WHERE kind = '%s' AND text = '%s'",
                 cases[i].kind, cases[i].text);
        assert_asks(sql, cases[i].device);
    }
}

static void writes_once_a_second(void **state)
{
    (void)state;
    sh_journal *journal = opened(0, 0);
    put_step(journal, 1, 1);
    sh_journal_flush(journal);
    atomic_fetch_add(&now_ns, SECOND);
    put_step(journal, 2, 1);
    uint32_t tries = 0;
    while (ask("SELECT count(*) FROM steps") != 2 && tries < 100000)
        tries += sched_yield() == 0;
    assert_in_range(tries, 0, 99999);
    sh_journal_close(journal);
}

static void goes_on_in_a_second_session(void **state)
{
    (void)state;
    sh_journal *journal = opened(0, 0);
    for (uint64_t step = 1; step <= 10; step++) {
        put_step(journal, step, 1);
        put_work(journal, step, 0, 1000);
        put_work(journal, step, 1, 1000);
    }
    sh_journal_close(journal);
    journal = opened(5, 0);
    for (uint64_t step = 6; step <= 8; step++) {
        put_step(journal, step, 2);
        put_work(journal, step, 0, 2000);
    }
    sh_journal_end(journal, "stopped", NULL);
    sh_journal_close(journal);
    assert_asks("SELECT count(*) FROM run WHERE weights_hash IS NULL", 1);
    assert_asks("SELECT count(*) FROM sessions", 2);
    assert_asks("SELECT count(*) FROM steps", 8);
    assert_asks("SELECT sum(loss) FROM steps WHERE session = 2", 6);
    assert_asks("SELECT count(*) FROM work WHERE device = 1", 5);
    assert_asks("SELECT count(*) FROM work WHERE wall_us = 2000", 3);
}

static void damage(long first, long end)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (long at = first; at < end; at++) {
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fputc(0xff, file), 0xff);
    }
    assert_int_equal(fclose(file), 0);
}

static void moves_what_is_damaged_aside(void **state)
{
    (void)state;
    char aside[SH_PATH_BYTES];
    for (int again = 1; again <= 2; again++) {
        sh_journal *journal = opened(0, 0);
        for (uint64_t step = 1; step <= 1000; step++)
            put_step(journal, step, 1);
        sh_journal_close(journal);
        assert_int_equal(atomic_load(&troubles), again - 1);
        damage(again == 1 ? 0 : 4096, 20000);
        journal = opened(7, 0);
        put_step(journal, 8, 1);
        sh_journal_close(journal);
        assert_int_equal(atomic_load(&troubles), again);
        assert_non_null(strstr(trouble, again == 1 ? "not a database" : "is damaged"));
        assert_non_null(strstr(trouble, again == 1 ? "run.db.damaged-1" : "run.db.damaged-2"));
        assert_asks("SELECT count(*) FROM steps", 1);
        snprintf(aside, sizeof aside, "%.4000s.damaged-%d", path, again);
        assert_int_equal(access(aside, F_OK), 0);
    }
}

static void leaves_what_it_does_not_know(void **state)
{
    (void)state;
    sh_database *database;
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_WRITE));
    assert_ok(sh_database_run(database, "PRAGMA user_version = 99"));
    sh_database_close(database);
    sh_journal *journal = opened(0, 0);
    sh_journal_flush(journal);
    put_step(journal, 1, 1);
    sh_journal_flush(journal);
    assert_int_equal(atomic_load(&troubles), 1);
    assert_non_null(strstr(trouble, "version 99"));
    sh_journal_close(journal);
    assert_int_equal(atomic_load(&troubles), 1);
    assert_int_equal(scratch_count(folder), 1);
}

static void goes_on_where_devices_have_a_column_more(void **state)
{
    (void)state;
    sh_database *database;
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_WRITE));
    assert_ok(sh_database_run(database, "DROP TABLE devices"));
    assert_ok(sh_database_run(database,
                              "CREATE TABLE devices (device INTEGER NOT NULL, session INTEGER NOT "
                              "NULL, name TEXT NOT NULL, lanes INTEGER NOT NULL, cores INTEGER, "
                              "family TEXT, joined REAL NOT NULL, gone REAL, reason TEXT, "
                              "PRIMARY KEY (device, session)) WITHOUT ROWID"));
    sh_database_close(database);
    sh_journal *journal = opened(0, 0);
    sh_journal_device(journal, &(sh_journal_device_row){1, 6 * SECOND, "pi-2", 4, 2});
    sh_journal_close(journal);
    assert_int_equal(atomic_load(&troubles), 0);
    assert_asks("SELECT joined FROM devices WHERE name = 'pi-2' AND lanes = 4 AND cores = 2 AND "
                "family IS NULL AND gone IS NULL",
                DATE + 1);
}

static void bears_a_full_disk(void **state)
{
    (void)state;
    char filler[SH_PATH_BYTES];
    scratch_mount(folder, 1 << 20);
    assert_ok(sh_path_join(filler, folder, "filler"));
    sh_journal *journal = opened(0, 0);
    put_step(journal, 1, 1);
    sh_journal_flush(journal);
    FILE *file = fopen(filler, "wb");
    while (fputc('x', file) != EOF && fflush(file) == 0)
        continue;
    fclose(file);
    for (uint64_t step = 2; step < 2 + SH_JOURNAL_QUEUE + 7; step++)
        put_step(journal, step, 1);
    sh_journal_flush(journal);
    atomic_fetch_add(&now_ns, SH_JOURNAL_RETRY_NS);
    sh_journal_flush(journal);
    assert_int_equal(atomic_load(&troubles), 1);
    assert_non_null(strstr(trouble, "no space left"));
    const double dropped = (double)sh_journal_dropped(journal);
    unlink(filler);
    atomic_fetch_add(&now_ns, SH_JOURNAL_RETRY_NS);
    sh_journal_flush(journal);
    sh_journal_close(journal);
    assert_int_equal(atomic_load(&troubles), 1);
    assert_asks("SELECT count(*) FROM steps", 1 + SH_JOURNAL_QUEUE + 7 - dropped);
    assert_asks("SELECT max(merged) FROM steps", 1);
    if (dropped > 0)
        assert_asks("SELECT count(*) FROM events WHERE kind = 'journal.dropped'", 1);
    scratch_unmount(folder);
}

static void bears_a_folder_that_cannot_be_written(void **state)
{
    (void)state;
    scratch_mount(folder, 1 << 20);
    assert_int_equal(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    sh_journal *journal = opened(0, 0);
    sh_journal_flush(journal);
    for (int i = 0; i < 2 * SH_JOURNAL_QUEUE; i++)
        put_step(journal, 1, 1);
    sh_journal_close(journal);
    assert_int_equal(atomic_load(&troubles), 1);
    assert_non_null(strstr(trouble, path));
    assert_non_null(strstr(trouble, "training continues"));
    scratch_unmount(folder);
}

static void leaves_room_for_checkpoints(void **state)
{
    (void)state;
    sh_journal *journal;
    scratch_mount(folder, 1 << 20);
    assert_ok(sh_journal_open(&journal, &(sh_journal_options){
                                            .folder = folder,
                                            .version = "1.2",
                                            .run = {"lenet", "digits", "{}", 7, 100, 10, 10, 4},
                                            .clock = &test_clock,
                                            .on_trouble = on_trouble,
                                            .reserve_bytes = (1 << 20) + 1,
                                        }));
    sh_journal_close(journal);
    assert_int_equal(atomic_load(&troubles), 1);
    assert_non_null(strstr(trouble, "1.0 MiB are left on its disk"));
    assert_int_equal(scratch_count(folder), 0);
    scratch_unmount(folder);
}

static void drops_what_it_cannot_take(void **state)
{
    (void)state;
    scratch_mount(folder, 4096); /* no room for a database */
    sh_journal *journal = opened(0, 0);
    sh_journal_flush(journal);
    put_step(journal, 1, 1);
    sh_journal_flush(journal);
    for (uint64_t step = 2; step < 2 + SH_JOURNAL_QUEUE + 7; step++)
        put_step(journal, step, 1);
    assert_int_equal(sh_journal_dropped(journal), 8);
    assert_int_equal(mount(NULL, folder, NULL, MS_REMOUNT, "size=4m"), 0);
    sh_journal_close(journal);
    assert_asks("SELECT count(*) FROM steps", SH_JOURNAL_QUEUE);
    assert_asks("SELECT count(*) FROM events WHERE kind = 'journal.dropped' AND text LIKE '8 %'",
                1);
    scratch_unmount(folder);
}

static void thins_the_older_half(void **state)
{
    (void)state;
    sh_journal *journal = opened(0, 100);
    for (uint64_t step = 1; step <= 300; step++) {
        for (uint32_t device = 0; device < 2; device++) {
            put_work(journal, step, device, step);
            put_sample(journal, device, step * SECOND, (double)step, (double)step);
        }
        put_step(journal, step, (double)step);
        sh_journal_flush(journal);
    }
    sh_journal_close(journal);
    assert_true(ask("SELECT count(*) FROM work") <= 120);
    assert_true(ask("SELECT count(*) FROM samples") <= 120);
    assert_asks("SELECT sum(merged) FROM work WHERE device = 1", 300);
    assert_asks("SELECT sum(merged) FROM samples WHERE device = 1", 300);
    assert_asks("SELECT sum(wall_us * merged) FROM work WHERE device = 0", 45150);
    assert_asks("SELECT sum(memory_resident_bytes * merged) FROM samples WHERE device = 0", 45150);
    assert_asks("SELECT count(*) FROM work WHERE grains <> 3 OR samples <> 24", 0);
    assert_asks("SELECT max(abs(cpu_process_seconds - (at - 999995))) FROM samples", 0);
    assert_asks("SELECT count(*) FROM samples WHERE power_watts IS NOT NULL", 0);
    assert_asks("SELECT min(merged) FROM work WHERE step > 290", 1);
    assert_true(ask("SELECT max(merged) FROM work WHERE step < 100") >= 4);
    assert_true(ask("SELECT max(merged) FROM work") <= 64);
    assert_true(ask("SELECT max(step) FROM work") == 300);
    assert_true(ask("SELECT count(*) FROM steps") <= 120);
    assert_asks("SELECT sum(merged) FROM steps", 300);
    assert_asks("SELECT sum(loss * merged) FROM steps", 45150);
    assert_asks("SELECT sum(samples * merged) FROM steps", 150 * (64 + 17));
    assert_asks("SELECT min(merged) FROM steps WHERE step > 290", 1);
    assert_true(ask("SELECT max(step) FROM steps") == 300);
}

static void survives_a_kill(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        sh_journal *journal = opened(0, 0);
        for (uint64_t step = 1;; step++) {
            put_step(journal, step, 1);
            if (step % 1000 == 0)
                sh_journal_flush(journal);
            if (step == 5000 && write(ready[1], "x", 1) != 1)
                _exit(1);
        }
    }
    char mark;
    assert_int_equal(read(ready[0], &mark, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_true(ask("SELECT count(*) FROM steps") >= 5000);
    assert_asks("SELECT max(step) - count(*) FROM steps", 0);
    sh_journal *journal = opened(4000, 0);
    put_step(journal, 4001, 1);
    sh_journal_close(journal);
    assert_int_equal(atomic_load(&troubles), 0);
    assert_asks("SELECT count(*) FROM steps", 4001);
    assert_asks("SELECT count(*) FROM sessions WHERE ended IS NULL", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_every_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_lines_of_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writes_once_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_on_in_a_second_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(moves_what_is_damaged_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_what_it_does_not_know, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_on_where_devices_have_a_column_more, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(bears_a_full_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bears_a_folder_that_cannot_be_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_room_for_checkpoints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(drops_what_it_cannot_take, set_up, tear_down),
        cmocka_unit_test_setup_teardown(thins_the_older_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(survives_a_kill, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
