/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: the database of an invented run of any size, with optional problems.
 *
 *     run_fixture_make("folder/run.db", &(run_fixture){.steps = 100, .devices = 3, .slow = 2});
 *
 * By default, devices have one grain of 32 samples and 1 ms of network per step.
 *
 * Threads: one. Failures fail the test.
 */
#ifndef SHOAL_REPORT_RUN_FIXTURE_H
#define SHOAL_REPORT_RUN_FIXTURE_H

#include <stdio.h>

#include "base/test.h"
#include "store/database.h"
#include "store/schema.h"

typedef struct run_fixture {
    unsigned steps, devices;
    unsigned samples;   /* per device; 0: one per step */
    unsigned slow;      /* computes twice as long; 0: none, likewise below */
    unsigned throttled; /* is stopped half of the time */
    unsigned slow_link; /* has a quarter of the bandwidth */
} run_fixture;

#define RUN_FIXTURE_STARTED 1000
#define RUN_FIXTURE_STEP_SECONDS 0.02

static inline void run_fixture_sql(sh_database *database, const run_fixture *what, const char *sql)
{
    sh_query *query;
    assert_ok(sh_query_new(&query, database, sql));
    sh_query_bind_integer(query, 1, what->steps);
    sh_query_bind_integer(query, 2, what->devices);
    sh_query_bind_integer(query, 3, what->slow > 0 ? (int)what->slow : -1);
    sh_query_bind_integer(query, 4, what->throttled > 0 ? (int)what->throttled : -1);
    sh_query_bind_integer(query, 5, what->slow_link > 0 ? (int)what->slow_link : -1);
    sh_query_bind_integer(query, 6, what->samples > 0 ? what->samples : what->steps);
    sh_query_bind_integer(query, 7, RUN_FIXTURE_STARTED);
    sh_query_bind_real(query, 8, RUN_FIXTURE_STEP_SECONDS);
    assert_ok(sh_query_end(query, sh_query_run(query)));
}

#define RUN_FIXTURE_SERIES                                                                         \
    "WITH RECURSIVE s(s) AS (SELECT 1 UNION ALL SELECT s + 1 FROM s WHERE s < ?1), "               \
    "d(d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM d WHERE d + 1 < ?2), "                          \
    "m(m) AS (SELECT 0 UNION ALL SELECT m + 1 FROM m WHERE m + 1 < ?6) "

static inline void run_fixture_make(const char *path, const run_fixture *what)
{
    static const char *const statements[] = {
        "INSERT INTO run VALUES ('lenet', 'mnist:/data', '{\"model\": \"lenet\", \"seed\": 1}', "
        "61706, ?1, max(1, ?1 / 10), 10, ?2, 'c0ffee')",
        "INSERT INTO sessions VALUES (1, '0.1.0', ?7, ?7 + ?1 * ?8, 'complete')",
        RUN_FIXTURE_SERIES "INSERT INTO devices SELECT d, 1, 'd' || d, 1, 4, ?7, NULL, NULL "
                           "FROM d",
        RUN_FIXTURE_SERIES "INSERT INTO views SELECT 1, 1, d, ?7, 1, 1, 'start' FROM d",
        RUN_FIXTURE_SERIES "INSERT INTO views SELECT 1, 2, d, ?7 + ?1 / 2 * ?8, ?1 / 2, 1, "
                           "'shares' FROM d WHERE ?1 > 1",
        RUN_FIXTURE_SERIES
        "INSERT INTO steps SELECT s, ?7 + s * ?8, 1, 1, 1 + (s > ?1 / 2), 1 + (s - 1) * 10 / ?1, "
        "32 * ?2, 2.3 / (1 + s * 20.0 / ?1) + s * 7919 % 1000 * 1e-4, "
        "0.95 - 0.85 / (1 + s * 20.0 / ?1), 0 FROM s",
        "INSERT INTO epochs SELECT epoch, max(step), max(at), avg(loss), avg(accuracy), "
        "avg(loss) + 0.01, avg(accuracy) - 0.01, max(at) - ?7 FROM steps GROUP BY epoch",
        RUN_FIXTURE_SERIES
        "INSERT INTO work SELECT s, d, ?7 + s * ?8, 1, 1, 32, own + rest + 250, 300 * f, "
        "2000 * f, 4000 * f, 500 * f, 200, 100, rest, 50 FROM (SELECT s, d, f, 100 + 6800 * f AS "
        "own, "
        "6800 * (iif(?3 >= 0 OR ?4 >= 0, 2, 1) - f) + 1000 + s * 31 % 100 + "
        "iif(?5 >= 0, 5000, 0) AS rest "
        "FROM (SELECT s, d, iif(d = ?3 OR d = ?4, 2, 1) AS f FROM s, d))",
        RUN_FIXTURE_SERIES
        "INSERT INTO samples (device, at, merged, cpu_process_seconds, cpu_throttled_seconds, "
        "memory_resident_bytes, memory_peak_bytes, memory_available_bytes, swap_used_bytes, "
        "network_sent_bytes, network_received_bytes, network_busy_seconds, temperature_celsius, "
        "load_1m) SELECT d, ?7 + t, 1, 3 + t * 0.5, iif(d = ?4, 0.4 * t, 0.001 * t), "
        "40e6 + m % 7 * 1e5, 41e6, 1e9, 0, t * 1e6, t * 1e6, "
        "iif(d = ?5 OR (d + 1) % ?2 = ?5, 0.4, 0.1) * t, 50 + m % 11, 0.5 "
        "FROM (SELECT m, d, m * ?1 * ?8 / ?6 AS t FROM d, m)",
    };
    sh_database *database;
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_WRITE));
    assert_ok(sh_database_run(database, "BEGIN"));
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        run_fixture_sql(database, what, statements[i]);
    assert_ok(sh_database_run(database, "COMMIT"));
    sh_database_close(database);
}

#endif
