/* SPDX-License-Identifier: Apache-2.0 */
#include "report/run_digest.h"

#include <math.h>

#include "base/scratch.h"
#include "report/run_fixture.h"
#include "store/file.h"

static char folder[SCRATCH_BYTES], path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(path, folder, "run.db") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static void assert_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-9))
        fail_msg("%.9g is not %.9g", found, expected);
}

static sh_run_digest *digested(void)
{
    sh_run_digest *digest;
    assert_ok(sh_run_digest_new(&digest, folder));
    return digest;
}

static void run_sql(const char *sql)
{
    sh_database *database;
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_WRITE));
    assert_ok(sh_database_run(database, sql));
    sh_database_close(database);
}

static void adds_up_a_run(void **state)
{
    (void)state;
    run_fixture_make(path, &(run_fixture){.steps = 1000, .devices = 3, .slow = 2});
    sh_run_digest *digest = digested();
    assert_string_equal(digest->name, strrchr(folder, '/') + 1);
    assert_string_equal(digest->model, "lenet");
    assert_string_equal(digest->status, "complete");
    assert_string_equal(digest->weights_hash, "c0ffee");
    assert_int_equal(digest->steps, 1000);
    assert_int_equal(digest->samples, 96 * 1000);
    assert_near(digest->seconds, 20);
    assert_near(digest->samples_per_second, 96 / 0.02);
    assert_int_equal(digest->epoch_count, 10);
    assert_near(digest->epochs[9].seconds, 20);
    assert_int_equal(digest->view_count, 2);
    assert_string_equal(digest->views[1].reason, "shares");
    assert_near(digest->views[1].step, 500);

    assert_int_equal(digest->point_count, SH_DIGEST_POINTS);
    assert_near(digest->points[SH_DIGEST_POINTS - 1].step, 1000);
    for (size_t i = 0; i < digest->point_count; i++) {
        const sh_digest_point *point = &digest->points[i];
        assert_true(point->loss_least <= point->loss && point->loss <= point->loss_most);
        assert_near(point->seconds, 0.02 * point->step);
    }
    assert_near(digest->points[7].samples_per_second, 96 / 0.02);

    assert_int_equal(digest->device_count, 3);
    const sh_digest_device *device = &digest->devices[1];
    assert_string_equal(device->name, "d1");
    assert_int_equal(device->grains, 1000);
    assert_int_equal(device->samples, 32000);
    assert_near(device->grain_seconds, 6.8e-3);
    assert_near(digest->devices[2].grain_late, 13.6e-3);
    assert_near(device->figures[SH_FIGURE_cpu_process_seconds].total, 0.5 * 0.02 * 999);
    assert_near(device->figures[SH_FIGURE_cpu_process_seconds].mean, 0.5);
    assert_near(device->figures[SH_FIGURE_cpu_process_seconds].series[17], 0.5);
    assert_near(device->figures[SH_FIGURE_temperature_celsius].most, 60);
    assert_true(isnan(device->figures[SH_FIGURE_power_watts].mean));
    assert_null(device->figures[SH_FIGURE_power_watts].series);
    sh_run_digest_free(digest);
}

static void splits_as_the_view_does(void **state)
{
    (void)state;
    run_fixture_make(path, &(run_fixture){.steps = 50, .devices = 4, .slow = 3});
    run_sql(
        "UPDATE work SET lanes_us = lanes_us + step * 37 % 1000 * device, merged = 1 + step % 3");
    sh_run_digest *digest = digested();
    sh_database *database;
    sh_query *query;
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_READ));
    assert_ok(sh_query_new(
        &query, database,
        "SELECT sum(wait_us * merged) / sum(merged), sum(network_us * merged) / sum(merged), "
        "sum(wall_us * merged) / sum(merged) FROM step_parts GROUP BY device ORDER BY device"));
    for (size_t i = 0; i < 4; i++) {
        const sh_digest_device *device = &digest->devices[i];
        assert_true(sh_query_row(query));
        assert_near(device->split[SH_STEP_SPLIT_wait], 1e-6 * sh_query_real(query, 0));
        assert_near(device->split[SH_STEP_SPLIT_network], 1e-6 * sh_query_real(query, 1));
        assert_near(device->wall, 1e-6 * sh_query_real(query, 2));
        assert_near(device->split[SH_STEP_SPLIT_wait] + device->split[SH_STEP_SPLIT_network],
                    device->split[SH_PART_exchange]);
    }
    sh_query_free(query);
    sh_database_close(database);
    sh_run_digest_free(digest);
}

static void a_link_is_busy_once(void **state)
{
    (void)state;
    run_fixture_make(path, &(run_fixture){.steps = 100, .devices = 2, .samples = 100});
    run_sql("UPDATE samples SET network_busy_seconds = 50 * network_busy_seconds WHERE device = 1");
    sh_run_digest *digest = digested();
    const sh_digest_figure *busy = &digest->devices[1].figures[SH_FIGURE_network_busy_seconds];
    assert_near(busy->mean, 1);
    assert_near(busy->total, 0.02 * 99);
    sh_run_digest_free(digest);
}

static void leaves_out_breaks_between_sessions(void **state)
{
    (void)state;
    run_fixture_make(path, &(run_fixture){.steps = 100, .devices = 1, .samples = 100});
    /* The second half is a day later; counters restarted. */
    run_sql("INSERT INTO sessions SELECT 2, version, started + 1 + 86400, NULL, NULL FROM sessions;"
            "UPDATE sessions SET ended = started + 1, status = 'stopped' WHERE session = 1;"
            "UPDATE steps SET at = at + 86400, session = 2 WHERE step > 50;"
            "UPDATE samples SET cpu_process_seconds = cpu_process_seconds - 3 WHERE at > 1000.5;"
            "UPDATE samples SET at = at + 86400 WHERE at > 1001.0001");
    sh_run_digest *digest = digested();
    assert_int_equal(digest->sessions, 2);
    assert_string_equal(digest->status, "killed");
    assert_near(digest->seconds, 2);
    assert_near(digest->points[99].seconds, 2);
    assert_near(digest->samples_per_second, 32 / 0.02);
    assert_near(digest->devices[0].figures[SH_FIGURE_cpu_process_seconds].mean, 0.5);
    assert_true(digest->devices[0].figures[SH_FIGURE_cpu_process_seconds].total < 1.01);
    sh_run_digest_free(digest);
}

static void bears_what_is_missing(void **state)
{
    (void)state;
    sh_run_digest *digest;
    assert_fails(sh_run_digest_new(&digest, folder), SH_NOT_FOUND, "run.db");
    run_sql("SELECT 1");
    assert_fails(sh_run_digest_new(&digest, folder), SH_NOT_FOUND, "no run has started in it");
    run_sql("INSERT INTO run VALUES ('m\x1b[2J', 'd', '{}', 1, 0, 0, 0, 1, NULL)");
    digest = digested();
    assert_string_equal(digest->model, "m?[2J");
    assert_int_equal(digest->point_count, 0);
    assert_int_equal(digest->device_count, 0);
    assert_true(isnan(digest->samples_per_second));
    sh_run_digest_free(digest);

    /* A device without rows; steps without device and loss. */
    run_sql("INSERT INTO sessions VALUES (1, '1', 100, NULL, NULL);"
            "INSERT INTO devices VALUES (0, 1, 'a', 1, NULL, 1, NULL, NULL);"
            "INSERT INTO steps VALUES (5, 101, 1, 1, 1, 1, 8, NULL, NULL, 0);"
            "INSERT INTO work (step, device, at, merged, grains, samples, wall_us) "
            "VALUES (5, 7, 101, 1, 1, 8, 100);"
            "INSERT INTO samples (device, at, merged) VALUES (7, 100, 1)");
    digest = digested();
    assert_int_equal(digest->point_count, 1);
    assert_true(isnan(digest->points[0].loss) && isnan(digest->points[0].samples_per_second));
    assert_true(isnan(digest->devices[0].wall) && isnan(digest->devices[0].grain_seconds));
    assert_true(isnan(digest->devices[0].observed));
    sh_run_digest_free(digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(adds_up_a_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(splits_as_the_view_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_link_is_busy_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_out_breaks_between_sessions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bears_what_is_missing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
