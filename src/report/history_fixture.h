/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a run folder with a small database.
 *
 *     history_make(folder, "a", HISTORY_RUN "INSERT INTO steps ...");
 *
 * Threads: one. Failures fail the test.
 */
#ifndef SHOAL_REPORT_HISTORY_FIXTURE_H
#define SHOAL_REPORT_HISTORY_FIXTURE_H

#include "base/test.h"

#include "base/scratch.h"
#include "store/file.h"
#include "store/run.h"
#include "store/schema.h"

/* A job of 20 steps and 2 epochs, started at 1000, not ended. */
#define HISTORY_RUN                                                                                \
    "INSERT INTO run VALUES ('lenet', 'digits', '{}', 61706, 20, 10, 2, 16, NULL);"                \
    "INSERT INTO sessions VALUES (1, '0.1.0', 1000, NULL, NULL);"
#define HISTORY_DEVICES                                                                            \
    "INSERT INTO devices VALUES (0, 1, 'pi1', 4, 4, 1000, NULL, NULL),"                            \
    " (1, 1, 'pi2', 4, 4, 1000, NULL, NULL),"                                                      \
    " (2, 1, 'pi3', 4, 4, 1000, 1003, 'lost: silent for 5 s');"                                    \
    "INSERT INTO views VALUES (1, 1, 0, 1000, 1, 6, 'start'), (1, 1, 1, 1000, 1, 5, 'start'),"     \
    " (1, 1, 2, 1000, 1, 5, 'start'), (1, 2, 0, 1003, 4, 12, 'lost'), (1, 2, 1, 1003, 4, 4, "      \
    "'lost');"
/* Steps of one second and 64 samples; device 1 computes a quarter. */
#define HISTORY_STEPS                                                                              \
    "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12)"                         \
    " INSERT INTO steps SELECT i, 1000 + i, 1, 1, 1 + (i > 3), 1 + (i > 10), 64,"                  \
    " 2.0 / i, 0.05 * i, 0 FROM n;"                                                                \
    "INSERT INTO work (step, device, at, merged, grains, samples, wall_us, data_us, forward_us,"   \
    " backward_us, sum_us, optimizer_us, lanes_us, exchange_us)"                                   \
    " SELECT step, 0, at, 1, 12, 48, 1e6, 1e5, 2e5, 4e5, 5e4, 5e4, 5e4, 15e4 FROM steps"           \
    " UNION SELECT step, 1, at, 1, 4, 16, 1e6, 0, 1e5, 2e5, 0, 5e4, 0, 65e4 FROM steps;"           \
    "INSERT INTO epochs VALUES (1, 10, 1010, 0.5, 0.4, 0.45, 0.875, 10);"

static inline void history_make(const char *root, const char *name, const char *rows)
{
    char folder[SH_PATH_BYTES], path[SH_PATH_BYTES];
    sh_database *database;
    assert_ok(sh_path_join(folder, root, name));
    assert_ok(sh_folder_make(folder));
    assert_ok(sh_path_join(path, folder, SH_RUN_DATABASE));
    assert_ok(sh_database_open(&database, path, sh_schema_run(), SH_DATABASE_WRITE));
    assert_ok(sh_database_run(database, rows));
    sh_database_close(database);
}

#endif
