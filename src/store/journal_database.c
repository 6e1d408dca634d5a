/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thinning processes one slice per transaction, so that records never wait long. A round begins
 * when a table has too many rows. In `samples` each device is a *group*; `work` and `steps` are one
 * group each.
 *
 * The older half of a group, as of the start of the group, is processed in slices by the table's
 * key. In a slice, two neighbours of a device (in `steps`: of a view) become one row with the later
 * key. Rows whose `merged` is above the median of the half are not changed, so old rows keep an
 * even resolution in long runs. A round removes at least an eighth of the rows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/journal_database.h"

#define SLICE_MOST 4096 /* rows */
#define SLICE_LEAST 16
#define SLICES 64
#define SQL_BYTES 6144
#define CACHE_KIB "256"

/* ?1, ?2 and ?3 are the record's device, the session and the time. */
static const char *const statements[SH_JOURNAL_KINDS] = {
    [SH_JOURNAL_SAMPLE] = "INSERT OR REPLACE INTO samples VALUES (?1, ?3, 1"
#define SH_FIGURE(name, kind, what) ", ?"
#include "monitor/figures.def"
#undef SH_FIGURE
                          ")",
    [SH_JOURNAL_WORK] = "INSERT OR REPLACE INTO work VALUES (?4, ?1, ?3, 1, ?5, ?6, ?7"
#define SH_PART(name, what) ", ?"
#include "monitor/parts.def"
#undef SH_PART
                        ")",
    [SH_JOURNAL_STEP] =
        "INSERT OR REPLACE INTO steps VALUES (?4, ?3, ?5, ?2, ?6, ?7, ?8, ?9, ?10, ?11)",
    [SH_JOURNAL_EPOCH] = "INSERT OR REPLACE INTO epochs VALUES (?4, ?5, ?3, ?6, ?7, ?8, ?9, ?10)",
    [SH_JOURNAL_VIEW] = "INSERT OR REPLACE INTO views VALUES (?2, ?4, ?1, ?3, ?5, ?6, ?7)",
    [SH_JOURNAL_DEVICE] =
        ("INSERT OR REPLACE INTO devices (device, session, name, lanes, cores, joined) "
         "VALUES (?1, ?2, ?4, ?5, nullif(?6, 0), ?3)"),
    [SH_JOURNAL_GONE] =
        "UPDATE devices SET gone = ?3, reason = ?4 WHERE device = ?1 AND session = ?2",
    [SH_JOURNAL_EVENT] = "INSERT INTO events VALUES (?3, ?1, ?4, ?5)",
    [SH_JOURNAL_END] = "UPDATE sessions SET ended = ?3, status = ?4 WHERE session = ?2",
};

typedef struct thinned {
    const char *name, *key, *apart;
    const char *columns; /* of a merged row; neighbours have equal `apart` */
    sh_journal_record_kind kind;
    bool by_device;
} thinned;

#define MEAN(name) "sum(" #name " * merged) / sum(merged * (" #name " IS NOT NULL))"

/* Columns without an aggregate have the value of the row with the greatest key (SQLite's max). */
static const thinned tables[] = {
    {"work", "step", "device",
     "max(step), device, at, sum(merged), CAST(round(1.0 * " MEAN(
         grains) ") AS INTEGER), CAST(round(1.0 * " MEAN(samples) ") AS INTEGER), " MEAN(wall_us)
#define SH_PART(name, what) ", " MEAN(name##_us)
#include "monitor/parts.def"
#undef SH_PART
         ,
     SH_JOURNAL_WORK, false},
    {"samples", "at", "device", "device, max(at), sum(merged)"
#define SH_FIGURE_COUNTER(name) #name
#define SH_FIGURE_GAUGE(name) MEAN(name)
#define SH_FIGURE(name, kind, what) ", " SH_FIGURE_##kind(name)
#include "monitor/figures.def"
#undef SH_FIGURE
#undef SH_FIGURE_GAUGE
#undef SH_FIGURE_COUNTER
     ,
     SH_JOURNAL_SAMPLE, true},
    {"steps", "step", "session, view",
     "max(step), at, sum(merged), session, view, epoch, 1.0 * " MEAN(samples) ", " MEAN(
         loss) ", " MEAN(accuracy) ", sum(redone)",
     SH_JOURNAL_STEP, false},
};
enum { TABLES = sizeof tables / sizeof *tables };

struct sh_journal_database {
    sh_database *handle;
    const sh_journal_options *options;
    uint64_t start_ns;
    int64_t session;
    sh_query *queries[SH_JOURNAL_KINDS];
    double rows[TABLES];

    /* The current round of thinning. */
    const thinned *thinning; /* NULL: none */
    int64_t device;          /* the current group */
    double cursor, cutoff;   /* remaining keys: after `cursor`, up to `cutoff` */
    double merged;           /* rows with a larger `merged` are not changed */
};

static double moment(const sh_journal_database *database, uint64_t at_ns)
{
    const double since = at_ns >= database->start_ns ? (double)(at_ns - database->start_ns)
                                                     : -(double)(database->start_ns - at_ns);
    return database->options->date + since * 1e-9;
}

/* ---- the session ----------------------------------------------------------------------------- */

static sh_status begin_session(sh_journal_database *database)
{
    const sh_journal_options *options = database->options;
    const sh_journal_run *run = &options->run;
    const uint64_t numbers[] = {run->parameters, run->steps, run->epoch_steps, run->epochs,
                                run->grains};
    const unsigned long long start = options->start_step;
    sh_query *query;
    char sql[256];
    double session;
    SH_TRY(sh_journal_database_begin(database));
    SH_TRY(sh_database_ask(&session, database->handle,
                           "SELECT coalesce(max(session), 0) + 1 FROM sessions"));
    database->session = (int64_t)session;
    SH_TRY(sh_database_run(database->handle, "DELETE FROM run"));
    SH_TRY(sh_query_new(&query, database->handle,
                        "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)"));
    sh_query_bind_text(query, 1, run->model);
    sh_query_bind_text(query, 2, run->data);
    sh_query_bind_text(query, 3, run->job);
    for (int i = 0; i < 5; i++)
        sh_query_bind_integer(query, 4 + i, (int64_t)numbers[i]);
    SH_TRY(sh_query_end(query, sh_query_run(query)));
    SH_TRY(sh_query_new(&query, database->handle,
                        "INSERT INTO sessions VALUES (?, ?, ?, NULL, NULL)"));
    sh_query_bind_integer(query, 1, database->session);
    sh_query_bind_text(query, 2, options->version);
    sh_query_bind_real(query, 3, options->date);
    SH_TRY(sh_query_end(query, sh_query_run(query)));
    snprintf(sql, sizeof sql,
             "DELETE FROM steps WHERE step > %llu; DELETE FROM work WHERE step > %llu;"
             "DELETE FROM epochs WHERE step > %llu;",
             start, start, start);
    SH_TRY(sh_database_run(database->handle, sql));
    return sh_database_run(database->handle, "COMMIT");
}

sh_status sh_journal_database_open(sh_journal_database **database,
                                   const sh_journal_options *options, uint64_t start_ns,
                                   const char *path, int64_t *session)
{
    char sql[64];
    sh_status status;
    sh_journal_database *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the run's journal");
    fresh->options = options;
    fresh->start_ns = start_ns;
    fresh->session = *session;
    SH_TRY_DONE(sh_database_open(&fresh->handle, path, sh_schema_run(), SH_DATABASE_WRITE));
    SH_TRY_DONE(sh_database_run(fresh->handle, "PRAGMA cache_size = -" CACHE_KIB));
    if (fresh->session == 0)
        SH_TRY_DONE(begin_session(fresh));
    for (int kind = 0; kind < SH_JOURNAL_KINDS; kind++)
        SH_TRY_DONE(sh_query_new(&fresh->queries[kind], fresh->handle, statements[kind]));
    for (int i = 0; i < TABLES; i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i].name);
        SH_TRY_DONE(sh_database_ask(&fresh->rows[i], fresh->handle, sql));
    }
    *session = fresh->session;
    *database = fresh;
    return SH_OK;
done:
    sh_journal_database_close(fresh);
    return status;
}

void sh_journal_database_close(sh_journal_database *database)
{
    if (database == NULL)
        return;
    for (int kind = 0; kind < SH_JOURNAL_KINDS; kind++)
        sh_query_free(database->queries[kind]);
    sh_database_close(database->handle);
    free(database);
}

/* ---- records --------------------------------------------------------------------------------- */

sh_status sh_journal_database_begin(sh_journal_database *database)
{
    return sh_database_run(database->handle, "BEGIN IMMEDIATE");
}

typedef struct values {
    sh_query *query;
    int count;
} values;

static void add_integer(values *to, uint64_t value)
{
    sh_query_bind_integer(to->query, ++to->count, (int64_t)value);
}

static void add_real(values *to, double value)
{
    sh_query_bind_real(to->query, ++to->count, value);
}

static void add_text(values *to, const char *value)
{
    sh_query_bind_text(to->query, ++to->count, value);
}

static sh_status write_row(sh_journal_database *database, const sh_journal_record *record)
{
    values to = {database->queries[record->kind], 0};
    if (record->device == SH_JOURNAL_NO_DEVICE)
        add_text(&to, NULL);
    else
        add_integer(&to, record->device);
    add_integer(&to, (uint64_t)database->session);
    add_real(&to, moment(database, record->at_ns));
    switch (record->kind) {
    case SH_JOURNAL_SAMPLE:
        for (int i = 0; i < SH_FIGURE_COUNT; i++)
            add_real(&to, record->sample.figures[i]);
        break;
    case SH_JOURNAL_WORK:
        add_integer(&to, record->work.step);
        add_integer(&to, record->work.grains);
        add_integer(&to, record->work.samples);
        add_real(&to, (double)record->work.wall_ns * 1e-3);
        for (int i = 0; i < SH_PART_COUNT; i++)
            add_real(&to, (double)record->work.ns[i] * 1e-3);
        break;
    case SH_JOURNAL_STEP:
        add_integer(&to, record->step.step);
        add_integer(&to, record->step.merged == 0 ? 1 : record->step.merged);
        add_integer(&to, record->step.view);
        add_integer(&to, record->step.epoch);
        add_integer(&to, record->step.samples);
        add_real(&to, record->step.loss);
        add_real(&to, record->step.accuracy);
        add_integer(&to, record->step.redone);
        break;
    case SH_JOURNAL_EPOCH:
        add_integer(&to, record->epoch.epoch);
        add_integer(&to, record->epoch.step);
        add_real(&to, record->epoch.loss);
        add_real(&to, record->epoch.accuracy);
        add_real(&to, record->epoch.val_loss);
        add_real(&to, record->epoch.val_accuracy);
        add_real(&to, record->epoch.seconds);
        break;
    case SH_JOURNAL_VIEW:
        add_integer(&to, record->view.number);
        add_integer(&to, record->view.step);
        add_integer(&to, record->view.grains);
        add_text(&to, record->view.reason);
        break;
    case SH_JOURNAL_DEVICE:
        add_text(&to, record->member.name);
        add_integer(&to, record->member.lanes);
        add_integer(&to, record->member.cores);
        break;
    case SH_JOURNAL_GONE:
        add_text(&to, record->member.name);
        break;
    case SH_JOURNAL_END:
        add_text(&to, record->event.kind);
        break;
    default:
        add_text(&to, record->event.kind);
        add_text(&to, record->event.text);
    }
    return sh_query_run(to.query);
}

sh_status sh_journal_database_write(sh_journal_database *database, const sh_journal_record *record)
{
    SH_TRY(write_row(database, record));
    for (int i = 0; i < TABLES; i++)
        database->rows[i] += tables[i].kind == record->kind;
    if (record->kind != SH_JOURNAL_END || record->event.text == NULL)
        return SH_OK;
    sh_query *query;
    SH_TRY(sh_query_new(&query, database->handle, "UPDATE run SET weights_hash = ?"));
    sh_query_bind_text(query, 1, record->event.text);
    return sh_query_end(query, sh_query_run(query));
}

/* ---- thinning -------------------------------------------------------------------------------- */

static const char *of_group(const sh_journal_database *database, char sql[64])
{
    sql[0] = '\0';
    if (database->thinning->by_device)
        snprintf(sql, 64, "device = %lld AND", (long long)database->device);
    return sql;
}

static sh_status next_group(sh_journal_database *database);

/* Takes the first table from index `table` on that has too many rows. */
static sh_status begin_round(sh_journal_database *database, size_t table)
{
    while (table < TABLES && database->rows[table] <= (double)database->options->rows_max)
        table++;
    database->thinning = table < TABLES ? &tables[table] : NULL;
    database->device = -1;
    return database->thinning == NULL ? SH_OK : next_group(database);
}

/* Begins the next group, or ends the round. */
static sh_status next_group(sh_journal_database *database)
{
    const thinned *table = database->thinning;
    char sql[256], group[64];
    double device = database->device < 0 ? 0 : NAN, rows;
    if (table->by_device) {
        snprintf(sql, sizeof sql, "SELECT min(device) FROM samples WHERE device > %lld",
                 (long long)database->device);
        SH_TRY(sh_database_ask(&device, database->handle, sql));
    }
    if (isnan(device))
        return begin_round(database, (size_t)(table - tables) + 1);
    database->device = (int64_t)device;
    database->cursor = -1;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s 1", table->name,
             of_group(database, group));
    SH_TRY(sh_database_ask(&rows, database->handle, sql));
    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s 1 ORDER BY %s LIMIT 1 OFFSET %lld",
             table->key, table->name, group, table->key, (long long)rows / 2);
    SH_TRY(sh_database_ask(&database->cutoff, database->handle, sql));
    snprintf(sql, sizeof sql,
             "SELECT merged FROM %s WHERE %s %s <= %.17g ORDER BY merged LIMIT 1 OFFSET %lld",
             table->name, group, table->key, database->cutoff, (long long)rows / 4);
    return sh_database_ask(&database->merged, database->handle, sql);
}

static sh_status run_counted(double *rows, const sh_journal_database *database, const char *sql)
{
    SH_TRY(sh_database_run(database->handle, sql));
    return sh_database_ask(rows, database->handle, "SELECT changes()");
}

static sh_status thin_slice(sh_journal_database *database)
{
    const thinned *table = database->thinning;
    char sql[SQL_BYTES], group[64], range[192];
    const uint64_t part = database->options->rows_max / SLICES;
    const uint64_t rows = part < SLICE_LEAST ? SLICE_LEAST : part > SLICE_MOST ? SLICE_MOST : part;
    double end;
    double before, after;
    of_group(database, group);
    snprintf(sql, sizeof sql,
             "SELECT %s FROM %s WHERE %s %s > %.17g AND %s < %.17g ORDER BY %s LIMIT 1 OFFSET %llu",
             table->key, table->name, group, table->key, database->cursor, table->key,
             database->cutoff, table->key, (unsigned long long)rows - 1);
    SH_TRY(sh_database_ask(&end, database->handle, sql));
    if (isnan(end))
        end = database->cutoff;
    snprintf(range, sizeof range, "%s %s > %.17g AND %s <= %.17g AND merged <= %.17g", group,
             table->key, database->cursor, table->key, end, database->merged);
    snprintf(sql, sizeof sql,
             "CREATE TEMP TABLE thin AS SELECT %s FROM (SELECT *, (row_number() OVER (PARTITION BY "
             "%s ORDER BY %s) - 1) / 2 AS pair FROM %s WHERE %s) GROUP BY %s, pair",
             table->columns, table->apart, table->key, table->name, range, table->apart);
    SH_TRY(sh_database_run(database->handle, sql));
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", table->name, range);
    SH_TRY(run_counted(&before, database, sql));
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM thin", table->name);
    SH_TRY(run_counted(&after, database, sql));
    SH_TRY(sh_database_run(database->handle, "DROP TABLE thin"));
    database->rows[table - tables] -= before - after;
    database->cursor = end;
    return end < database->cutoff ? SH_OK : next_group(database);
}

bool sh_journal_database_is_thinning(const sh_journal_database *database)
{
    return database->thinning != NULL;
}

sh_status sh_journal_database_commit(sh_journal_database *database)
{
    if (database->thinning == NULL)
        SH_TRY(begin_round(database, 0));
    if (database->thinning != NULL)
        SH_TRY(thin_slice(database));
    return sh_database_run(database->handle, "COMMIT");
}
