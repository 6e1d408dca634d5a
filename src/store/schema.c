/* SPDX-License-Identifier: Apache-2.0 */
#include "store/schema.h"

/* clang-format off */
static const char schema[] =
    "CREATE TABLE run (\n"
    "  model TEXT NOT NULL, data TEXT NOT NULL,\n"
    "  job TEXT NOT NULL,\n"           /* JSON, as job.json */
    "  parameters INTEGER NOT NULL,\n"
    "  steps INTEGER NOT NULL, epoch_steps INTEGER NOT NULL, epochs INTEGER NOT NULL,\n" /* of the whole job */
    "  grains INTEGER NOT NULL,\n"     /* of a whole step */
    "  weights_hash TEXT\n"            /* NULL until the run is complete */
    ");\n"
    "CREATE TABLE sessions (\n"
    "  session INTEGER PRIMARY KEY,\n" /* from 1 */
    "  version TEXT NOT NULL, started REAL NOT NULL,\n"
    "  ended REAL, status TEXT\n"      /* 'complete', 'stopped', 'failed: ...'; NULL: running or killed */
    ");\n"
    "CREATE TABLE devices (\n"
    "  device INTEGER NOT NULL, session INTEGER NOT NULL,\n"
    "  name TEXT NOT NULL, lanes INTEGER NOT NULL, cores INTEGER,\n"
    "  joined REAL NOT NULL, gone REAL, reason TEXT,\n"
    "  PRIMARY KEY (device, session)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE views (\n"
    "  session INTEGER NOT NULL, view INTEGER NOT NULL, device INTEGER NOT NULL,\n"
    "  at REAL NOT NULL, step INTEGER NOT NULL,\n" /* the first step done in it */
    "  grains INTEGER NOT NULL, reason TEXT NOT NULL,\n"
    "  PRIMARY KEY (session, view, device)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE epochs (\n"
    "  epoch INTEGER PRIMARY KEY, step INTEGER NOT NULL, at REAL NOT NULL,\n"
    "  loss REAL, accuracy REAL, val_loss REAL, val_accuracy REAL, seconds REAL\n" /* since training began, in the session */
    ");\n"
    "CREATE TABLE steps (\n"
    "  step INTEGER PRIMARY KEY, at REAL NOT NULL, merged INTEGER NOT NULL,\n"
    "  session INTEGER NOT NULL, view INTEGER NOT NULL, epoch INTEGER NOT NULL,\n"
    "  samples INTEGER NOT NULL, loss REAL, accuracy REAL, redone INTEGER NOT NULL\n" /* loss: mean over the samples of the step */
    ");\n"
    "CREATE TABLE work (\n"
    "  step INTEGER NOT NULL, device INTEGER NOT NULL, at REAL NOT NULL, merged INTEGER NOT NULL,\n"
    "  grains INTEGER NOT NULL, samples INTEGER NOT NULL, wall_us REAL NOT NULL,\n"
#define SH_PART(name, what) "  " #name "_us REAL,\n"
#include "monitor/parts.def"
#undef SH_PART
    "  PRIMARY KEY (step, device)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE samples (\n"
    "  device INTEGER NOT NULL, at REAL NOT NULL, merged INTEGER NOT NULL,\n"
#define SH_FIGURE(name, kind, what) "  " #name " REAL,\n"
#include "monitor/figures.def"
#undef SH_FIGURE
    "  PRIMARY KEY (device, at)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE events (\n"
    "  at REAL NOT NULL, device INTEGER, kind TEXT NOT NULL, text TEXT NOT NULL\n"
    ");\n"
    "CREATE VIEW step_parts AS\n"
    "  SELECT *, min(exchange_us, longest_us - computing_us) AS wait_us,\n"
    "         max(0, exchange_us - (longest_us - computing_us)) AS network_us\n"
    "  FROM (SELECT *, max(computing_us) OVER (PARTITION BY step) AS longest_us\n"
    "        FROM (SELECT *, data_us + forward_us + backward_us + sum_us + lanes_us AS computing_us FROM work));\n";
/* clang-format on */

const sh_database_kind *sh_schema_run(void)
{
    static const sh_database_kind kind = {
        .what = "a run's database",
        .application = 0x73686f6c, /* "shol" */
        .version = 2,
        .schema = schema,
        .grows = "devices",
        .spare = "family", /* of older builds */
    };
    return &kind;
}
