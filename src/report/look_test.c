/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/history_fixture.h"
#include "shoal/runs.h"

static char root[SH_PATH_BYTES], folder[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(root);
    return sh_path_join(folder, root, "a") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(root);
    return 0;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Ten rows per second. */
static void add_samples(char rows[1024], int device, double cores, double megabytes)
{
    snprintf(rows, 1024,
             "WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 120) "
             "INSERT INTO samples (device, at, merged, cpu_process_seconds, network_sent_bytes, "
             "network_received_bytes, cpu_throttled_seconds, memory_resident_bytes, "
             "temperature_celsius, throttled_ratio) SELECT %d, 1000 + 0.1 * i, 1, 7 + %f * 0.1 * i,"
             " 100000 * i * %f, 50000 * i * %f, 0.05 * i, 1e7 + i, 50 + 0.1 * i, i > 110 FROM n;",
             device, cores, megabytes, megabytes);
}

static void shows_what_is_of_late(void **state)
{
    (void)state;
    char rows[8192], samples[1024], others[1024];
    sh_run_snapshot s;
    add_samples(samples, 0, 3.5, 2);
    add_samples(others, 2, 1, 1);
    snprintf(rows, sizeof rows,
             HISTORY_RUN HISTORY_DEVICES HISTORY_STEPS
             "%s%sINSERT INTO work (step, device, at, merged, grains, samples, wall_us) VALUES"
             " (12, 2, 1012, 1, 1, 1, 1e6);"
             "INSERT INTO events VALUES (1000, NULL, 'run.started', 'a'),"
             " (1003, 2, 'device.lost', 'pi3')",
             samples, others);
    history_make(root, "a", rows);
    history_make(root, "a", "INSERT INTO views VALUES (1, 2, 2, 1003, 4, 0, 'lost')");
    assert_ok(sh_run_look(&s, folder));
    assert_true(s.about.step == 12 && s.at == 1012);
    assert_true(near(s.samples_per_second, 64) && near(s.steps_per_second, 1));
    assert_true(near(s.loss, 2.0 / 5 * (1 / 8. + 1 / 9. + 1 / 10. + 1 / 11. + 1 / 12.)));
    assert_true(near(s.accuracy, 0.5));
    assert_true(isnan(s.eta_seconds));
    assert_int_equal(s.device_count, 3);
    const sh_run_device *d = s.devices;
    assert_string_equal(d[0].name, "pi1");
    assert_true(near(d[0].share, 0.75) && near(d[1].share, 0.25) && isnan(d[2].share));
    assert_true(near(d[0].samples_per_second, 48) && near(d[1].samples_per_second, 16));
    assert_true(near(d[0].compute, 0.75) && near(d[0].lanes, 0.05) && d[0].wait == 0 &&
                near(d[0].network, 0.15) && near(d[0].optimizer, 0.05));
    assert_true(near(d[1].compute, 0.3) && d[1].lanes == 0 && near(d[1].wait, 0.5) &&
                near(d[1].network, 0.15) && near(d[1].optimizer, 0.05));
    assert_true(near(d[0].cpu, 3.5) && near(d[0].sent_bytes_per_second, 2e6) &&
                near(d[0].received_bytes_per_second, 1e6) && near(d[0].held_back, 0.5));
    assert_true(d[0].memory_bytes == 1e7 + 120 && d[0].temperature_celsius == 62 &&
                d[0].throttled == 1);
    assert_true(isnan(d[1].cpu) && isnan(d[1].memory_bytes) && isnan(d[1].temperature_celsius));
    assert_true(d[2].is_gone && isnan(d[2].cpu) && isnan(d[2].samples_per_second));
    assert_string_equal(d[2].reason, "lost: silent for 5 s");
    assert_int_equal(s.news_count, 2);
    assert_string_equal(s.news[0].kind, "run.started");
    assert_true(s.news[0].device == -1 && s.news[1].device == 2 && s.news[1].at == 1003);
    assert_string_equal(s.news[1].text, "pi3");
    sh_run_snapshot_release(&s);
    assert_null(s.devices);
}

static sh_run_snapshot look(const char *before, int device, const char *after)
{
    char rows[8192], samples[1024];
    sh_run_snapshot s;
    add_samples(samples, device, 3.5, 2);
    snprintf(rows, sizeof rows, "%s%s%s", before, samples, after);
    history_make(root, "a", rows);
    assert_ok(sh_run_look(&s, folder));
    return s;
}

static void a_counter_that_fell_has_no_rate(void **state)
{
    (void)state;
    sh_run_snapshot s = look(HISTORY_RUN HISTORY_DEVICES, 0,
                             "UPDATE samples SET cpu_process_seconds = 0.1, "
                             "network_sent_bytes = NULL WHERE at > 1011.5");
    assert_true(isnan(s.devices[0].cpu) && isnan(s.devices[0].sent_bytes_per_second));
    assert_true(near(s.devices[0].received_bytes_per_second, 1e6));
    assert_true(s.at == 1012 && isnan(s.loss) && isnan(s.samples_per_second));
    sh_run_snapshot_release(&s);
}

/* The rate begins at the first known value. */
static void a_counter_may_come_later(void **state)
{
    (void)state;
    sh_run_snapshot s = look(HISTORY_RUN HISTORY_DEVICES, 0,
                             "UPDATE samples SET network_sent_bytes = NULL WHERE at < 1010.95");
    assert_true(near(s.devices[0].sent_bytes_per_second, 2e6));
    sh_run_snapshot_release(&s);
}

static void a_silent_device_has_no_figures(void **state)
{
    (void)state;
    sh_run_snapshot s =
        look(HISTORY_RUN HISTORY_DEVICES HISTORY_STEPS, 1, "DELETE FROM samples WHERE at > 1006.5");
    assert_true(isnan(s.devices[1].cpu) && isnan(s.devices[1].memory_bytes));
    sh_run_snapshot_release(&s);
}

/* An active run has not written anything. */
static void expect_beginning(void)
{
    sh_run_snapshot s;
    assert_ok(sh_run_look(&s, folder));
    assert_int_equal(s.about.state, SH_STATE_RUNNING);
    assert_string_equal(s.about.name, "a");
    assert_true(s.about.steps == 0 && isnan(s.about.seconds) && isnan(s.loss) && isnan(s.at));
    assert_true(isnan(s.samples_per_second) && s.device_count == 0 && s.news_count == 0);
    sh_run_snapshot_release(&s);
}

static void what_has_just_begun_has_no_rates(void **state)
{
    (void)state;
    sh_run_snapshot s;
    sh_run *run;
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = folder}));
    expect_beginning();
    history_make(root, "a", "");
    expect_beginning();
    history_make(root, "a", HISTORY_RUN);
    assert_ok(sh_run_look(&s, folder));
    assert_int_equal(s.about.state, SH_STATE_RUNNING);
    assert_true(s.device_count == 0 && s.news_count == 0 && isnan(s.at) && isnan(s.eta_seconds));
    sh_run_snapshot_release(&s);

    history_make(root, "a", "INSERT INTO steps VALUES (3, 1003, 1, 1, 1, 1, 64, 2, 0.5, 0)");
    assert_ok(sh_run_look(&s, folder));
    assert_true(s.loss == 2 && s.accuracy == 0.5 && isnan(s.samples_per_second));
    sh_run_snapshot_release(&s);

    /* A step exceeds the recent period, and there is a previous session. */
    history_make(root, "a",
                 "INSERT INTO steps VALUES (2, 900, 1, 0, 1, 1, 64, 2, 0.5, 0),"
                 "(4, 1013, 1, 1, 1, 1, 64, 1, 0.5, 0)");
    assert_ok(sh_run_look(&s, folder));
    assert_true(s.loss == 1 && near(s.samples_per_second, 6.4) && near(s.eta_seconds, 160));
    sh_run_snapshot_release(&s);
    sh_run_close(run);
}

static void keeps_the_newest_events(void **state)
{
    (void)state;
    sh_run_snapshot s;
    history_make(root, "a",
                 HISTORY_RUN
                 "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
                 "INSERT INTO events SELECT i, NULL, 'number', i FROM n");
    assert_ok(sh_run_look(&s, folder));
    assert_int_equal(s.news_count, SH_RUN_NEWS_MAX);
    assert_string_equal(s.news[0].text, "85");
    assert_string_equal(s.news[SH_RUN_NEWS_MAX - 1].text, "100");
    sh_run_snapshot_release(&s);
}

static void leaves_the_snapshot_where_it_fails(void **state)
{
    (void)state;
    sh_run_snapshot s = {.device_count = 7};
    assert_fails(sh_run_look(&s, folder), SH_NOT_FOUND, "/a: no such folder");
    history_make(root, "a", "");
    assert_fails(sh_run_look(&s, folder), SH_NOT_FOUND, "/a: ended before its training began");
    history_make(root, "a", HISTORY_RUN "DROP TABLE events");
    assert_fails(sh_run_look(&s, folder), SH_FORMAT, "it lacks the table \"events\"");
    assert_int_equal(s.device_count, 7);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(shows_what_is_of_late),
        WITH_FOLDER(a_counter_that_fell_has_no_rate),
        WITH_FOLDER(a_counter_may_come_later),
        WITH_FOLDER(a_silent_device_has_no_figures),
        WITH_FOLDER(what_has_just_begun_has_no_rates),
        WITH_FOLDER(keeps_the_newest_events),
        WITH_FOLDER(leaves_the_snapshot_where_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
