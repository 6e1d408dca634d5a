/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thinning goes a slice at a time, one in each transaction, so that records never wait long for it.
 * A round begins where a table has more rows than it may and goes over groups: `work` and `steps`
 * are one each, each device of `samples` is one. Of a group the older half, as it is when the round
 * comes to it, is walked in slices by the table's key; within a slice two neighbours of a device
 * (of `steps`: of a view) become one row, the later one's. Rows that stand for more than the median
 * of that half are left alone, so what is old is evenly coarse however long a run is. A round takes
 * at least an eighth of the rows away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/journal_book.h"

#define SLICE_MOST 4096 /* rows */
#define SLICE_LEAST 16
#define SLICES 64 /* of a table at its largest */
#define SQL_BYTES 6144
#define CACHE_KIB "256" /* rows are appended, and hardly read */

static const char *const statements[SH_RECORD_KINDS] = {
    [SH_RECORD_SAMPLE] = "INSERT OR REPLACE INTO samples VALUES (?, ?, 1"
#define SH_FIGURE(name, kind, what) ", ?"
#include "monitor/figures.def"
#undef SH_FIGURE
                         ")",
    [SH_RECORD_WORK] = "INSERT OR REPLACE INTO work VALUES (?, ?, ?, 1, ?, ?, ?"
#define SH_PART(name, what) ", ?"
#include "monitor/parts.def"
#undef SH_PART
                       ")",
    [SH_RECORD_STEP] = "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SH_RECORD_EPOCH] = "INSERT OR REPLACE INTO epochs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    [SH_RECORD_VIEW] = "INSERT OR REPLACE INTO views VALUES (?, ?, ?, ?, ?, ?, ?)",
    [SH_RECORD_DEVICE] =
        "INSERT OR REPLACE INTO devices VALUES (?, ?, ?, ?, nullif(?, 0), nullif(?, ''), ?, NULL, "
        "NULL)",
    [SH_RECORD_GONE] = "UPDATE devices SET gone = ?, reason = ? WHERE device = ? AND session = ?",
    [SH_RECORD_EVENT] = "INSERT INTO events VALUES (?, ?, ?, ?)",
    [SH_RECORD_END] = "UPDATE sessions SET ended = ?, status = ? WHERE session = ?",
};

/* A table that is thinned. */
typedef struct thinned {
    const char *name, *key, *apart;
    const char *columns; /* what two neighbours, equal in `apart`, become; in the table's order */
    sh_record_kind kind; /* that is a row of it */
    bool by_device;
} thinned;

#define MEAN(name) "sum(" #name " * merged) / sum(merged * (" #name " IS NOT NULL))"

/* Columns without an aggregate are those of the row with the greatest key. */
static const thinned tables[] = {
    {"work", "step", "device",
     "max(step), device, at, sum(merged), CAST(round(1.0 * " MEAN(
         grains) ") AS INTEGER), CAST(round(1.0 * " MEAN(samples) ") AS INTEGER), " MEAN(wall_us)
#define SH_PART(name, what) ", " MEAN(name##_us)
#include "monitor/parts.def"
#undef SH_PART
         ,
     SH_RECORD_WORK, false},
    {"samples", "at", "device", "device, max(at), sum(merged)"
#define SH_FIGURE_COUNTER(name) #name
#define SH_FIGURE_GAUGE(name) MEAN(name)
#define SH_FIGURE(name, kind, what) ", " SH_FIGURE_##kind(name)
#include "monitor/figures.def"
#undef SH_FIGURE
#undef SH_FIGURE_GAUGE
#undef SH_FIGURE_COUNTER
     ,
     SH_RECORD_SAMPLE, true},
    {"steps", "step", "session, view",
     "max(step), at, sum(merged), session, view, epoch, 1.0 * " MEAN(samples) ", " MEAN(
         loss) ", " MEAN(accuracy) ", sum(redone)",
     SH_RECORD_STEP, false},
};
enum { TABLES = sizeof tables / sizeof *tables };

struct sh_book {
    sh_database *database;
    sh_book_about about;
    int64_t session;
    sh_query *queries[SH_RECORD_KINDS];
    int64_t rows[TABLES];

    /* The round of thinning under way. */
    const thinned *thinning; /* NULL: none */
    int64_t device;          /* the group */
    double cursor, cutoff;   /* the keys after the first and up to the second are still to do */
    double merged;           /* rows that stand for more stay as they are */
};

static double moment(const sh_book *book, uint64_t at_ns)
{
    const double since = at_ns >= book->about.start_ns ? (double)(at_ns - book->about.start_ns)
                                                       : -(double)(book->about.start_ns - at_ns);
    return book->about.date + since * 1e-9;
}

/* The first value of the first row; *found may be NULL where there is always one. */
static sh_status ask(double *value, bool *found, const sh_book *book, const char *sql)
{
    sh_query *query;
    bool row = false;
    SH_TRY(sh_query_new(&query, book->database, sql));
    const sh_status status = sh_query_next(query, &row);
    *value = 0;
    if (row && !sh_query_is_null(query, 0))
        *value = sh_query_real(query, 0);
    if (found != NULL)
        *found = row && !sh_query_is_null(query, 0);
    sh_query_free(query);
    return status;
}

/* ---- the session ----------------------------------------------------------------------------- */

static sh_status write_run(const sh_book *book)
{
    sh_query *query;
    const sh_journal_run *run = book->about.run;
    SH_TRY(sh_database_run(book->database, "DELETE FROM run"));
    SH_TRY(sh_query_new(&query, book->database,
                        "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)"));
    sh_query_bind_text(query, 1, run->model);
    sh_query_bind_text(query, 2, run->data);
    sh_query_bind_text(query, 3, run->job);
    const uint64_t numbers[] = {run->parameters, run->steps, run->epoch_steps, run->epochs,
                                run->grains};
    for (int i = 0; i < 5; i++)
        sh_query_bind_integer(query, 4 + i, (int64_t)numbers[i]);
    const sh_status status = sh_query_run(query);
    sh_query_free(query);
    return status;
}

static sh_status write_session(const sh_book *book)
{
    sh_query *query;
    SH_TRY(
        sh_query_new(&query, book->database, "INSERT INTO sessions VALUES (?, ?, ?, NULL, NULL)"));
    sh_query_bind_integer(query, 1, book->session);
    sh_query_bind_text(query, 2, book->about.version);
    sh_query_bind_real(query, 3, book->about.date);
    const sh_status status = sh_query_run(query);
    sh_query_free(query);
    return status;
}

/* What is about to be done again. */
static sh_status remove_steps_ahead(const sh_book *book)
{
    char sql[256];
    const unsigned long long start = book->about.start_step;
    snprintf(sql, sizeof sql,
             "DELETE FROM steps WHERE step > %llu; DELETE FROM work WHERE step > %llu;"
             "DELETE FROM epochs WHERE step > %llu;",
             start, start, start);
    return sh_database_run(book->database, sql);
}

static sh_status begin_session(sh_book *book)
{
    double last;
    SH_TRY(sh_book_begin(book));
    SH_TRY(ask(&last, NULL, book, "SELECT max(session) FROM sessions"));
    book->session = (int64_t)last + 1;
    SH_TRY(write_run(book));
    SH_TRY(write_session(book));
    SH_TRY(remove_steps_ahead(book));
    return sh_database_run(book->database, "COMMIT");
}

static sh_status make_ready(sh_book *book)
{
    char sql[64];
    SH_TRY(sh_database_run(book->database, "PRAGMA cache_size = -" CACHE_KIB));
    if (book->session == 0)
        SH_TRY(begin_session(book));
    for (int kind = 0; kind < SH_RECORD_KINDS; kind++)
        SH_TRY(sh_query_new(&book->queries[kind], book->database, statements[kind]));
    for (int i = 0; i < TABLES; i++) {
        double rows;
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i].name);
        SH_TRY(ask(&rows, NULL, book, sql));
        book->rows[i] = (int64_t)rows;
    }
    return SH_OK;
}

sh_status sh_book_open(sh_book **book, const sh_book_about *about, const char *path,
                       int64_t *session)
{
    sh_book *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the run's journal");
    fresh->about = *about;
    fresh->session = *session;
    sh_status status = sh_database_open(&fresh->database, path, sh_schema_run(), SH_DATABASE_WRITE);
    if (status == SH_OK)
        status = make_ready(fresh);
    if (status != SH_OK) {
        sh_book_close(fresh);
        return status;
    }
    *session = fresh->session;
    *book = fresh;
    return SH_OK;
}

void sh_book_close(sh_book *book)
{
    if (book == NULL)
        return;
    for (int kind = 0; kind < SH_RECORD_KINDS; kind++)
        sh_query_free(book->queries[kind]);
    sh_database_close(book->database);
    free(book);
}

/* ---- records --------------------------------------------------------------------------------- */

/* A statement's values in their order. */
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

static void add_sample(values *to, const sh_book *book, const sh_record *record)
{
    add_integer(to, record->device);
    add_real(to, moment(book, record->sample.at_ns));
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        add_real(to, record->sample.figures[i]);
}

static void add_work(values *to, const sh_book *book, const sh_record *record)
{
    const sh_step_times *work = &record->work;
    add_integer(to, work->step);
    add_integer(to, record->device);
    add_real(to, moment(book, work->ends_ns));
    add_integer(to, work->grains);
    add_integer(to, work->samples);
    add_real(to, (double)work->wall_ns * 1e-3);
    for (int i = 0; i < SH_PART_COUNT; i++)
        add_real(to, (double)work->ns[i] * 1e-3);
}

static void add_step(values *to, const sh_book *book, const sh_record *record)
{
    const sh_journal_step_row *step = &record->step;
    add_integer(to, step->step);
    add_real(to, moment(book, step->at_ns));
    add_integer(to, step->merged == 0 ? 1 : step->merged);
    add_integer(to, (uint64_t)book->session);
    add_integer(to, step->view);
    add_integer(to, step->epoch);
    add_integer(to, step->samples);
    add_real(to, step->loss);
    add_real(to, step->accuracy);
    add_integer(to, step->redone);
}

static void add_epoch(values *to, const sh_book *book, const sh_record *record)
{
    const sh_journal_epoch_row *epoch = &record->epoch;
    add_integer(to, epoch->epoch);
    add_integer(to, epoch->step);
    add_real(to, moment(book, epoch->at_ns));
    add_real(to, epoch->loss);
    add_real(to, epoch->accuracy);
    add_real(to, epoch->val_loss);
    add_real(to, epoch->val_accuracy);
    add_real(to, epoch->seconds);
}

static void add_view(values *to, const sh_book *book, const sh_record *record)
{
    add_integer(to, (uint64_t)book->session);
    add_integer(to, record->view.number);
    add_integer(to, record->device);
    add_real(to, moment(book, record->view.at_ns));
    add_integer(to, record->view.step);
    add_integer(to, record->view.grains);
    add_text(to, record->view.reason);
}

static void add_device(values *to, const sh_book *book, const sh_record *record)
{
    add_integer(to, record->device);
    add_integer(to, (uint64_t)book->session);
    add_text(to, record->member.name);
    add_integer(to, record->member.lanes);
    add_integer(to, record->member.cores);
    add_text(to, record->member.family);
    add_real(to, moment(book, record->member.at_ns));
}

static void add_gone(values *to, const sh_book *book, const sh_record *record)
{
    add_real(to, moment(book, record->member.at_ns));
    add_text(to, record->member.name);
    add_integer(to, record->device);
    add_integer(to, (uint64_t)book->session);
}

static void add_event(values *to, const sh_book *book, const sh_record *record)
{
    add_real(to, moment(book, record->event.at_ns));
    if (record->device == SH_JOURNAL_NO_DEVICE)
        add_text(to, NULL);
    else
        add_integer(to, record->device);
    add_text(to, record->event.kind);
    add_text(to, record->event.text);
}

static void add_end(values *to, const sh_book *book, const sh_record *record)
{
    add_real(to, moment(book, record->event.at_ns));
    add_text(to, record->event.kind);
    add_integer(to, (uint64_t)book->session);
}

static sh_status write_hash(const sh_book *book, const char *hash)
{
    sh_query *query;
    SH_TRY(sh_query_new(&query, book->database, "UPDATE run SET weights_hash = ?"));
    sh_query_bind_text(query, 1, hash);
    const sh_status status = sh_query_run(query);
    sh_query_free(query);
    return status;
}

sh_status sh_book_begin(sh_book *book)
{
    return sh_database_run(book->database, "BEGIN IMMEDIATE");
}

sh_status sh_book_write(sh_book *book, const sh_record *record)
{
    static void (*const add[SH_RECORD_KINDS])(values *, const sh_book *, const sh_record *) = {
        [SH_RECORD_SAMPLE] = add_sample, [SH_RECORD_WORK] = add_work,
        [SH_RECORD_STEP] = add_step,     [SH_RECORD_EPOCH] = add_epoch,
        [SH_RECORD_VIEW] = add_view,     [SH_RECORD_DEVICE] = add_device,
        [SH_RECORD_GONE] = add_gone,     [SH_RECORD_EVENT] = add_event,
        [SH_RECORD_END] = add_end,
    };
    values to = {book->queries[record->kind], 0};
    add[record->kind](&to, book, record);
    SH_TRY(sh_query_run(to.query));
    for (int i = 0; i < TABLES; i++)
        book->rows[i] += tables[i].kind == record->kind;
    if (record->kind == SH_RECORD_END && record->event.text != NULL)
        return write_hash(book, record->event.text);
    return SH_OK;
}

/* ---- thinning -------------------------------------------------------------------------------- */

/* The condition that a row is of the group under way. */
static const char *of_group(const sh_book *book, char sql[64])
{
    sql[0] = '\0';
    if (book->thinning->by_device)
        snprintf(sql, 64, "device = %lld AND", (long long)book->device);
    return sql;
}

static sh_status next_group(sh_book *book);

/* Of the first table from this one on that has too many rows. */
static sh_status begin_round(sh_book *book, size_t table)
{
    while (table < TABLES && book->rows[table] <= (int64_t)book->about.rows_max)
        table++;
    book->thinning = table < TABLES ? &tables[table] : NULL;
    book->device = -1;
    return book->thinning == NULL ? SH_OK : next_group(book);
}

/* Begins with the next group, or ends the round. */
static sh_status next_group(sh_book *book)
{
    const thinned *table = book->thinning;
    char sql[256], group[64];
    double value = 0;
    bool found = book->device < 0;
    if (table->by_device) {
        snprintf(sql, sizeof sql, "SELECT min(device) FROM samples WHERE device > %lld",
                 (long long)book->device);
        SH_TRY(ask(&value, &found, book, sql));
    }
    if (!found)
        return begin_round(book, (size_t)(table - tables) + 1);
    book->device = (int64_t)value;
    book->cursor = -1;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s 1", table->name,
             of_group(book, group));
    SH_TRY(ask(&value, NULL, book, sql));
    snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s 1 ORDER BY %s LIMIT 1 OFFSET %lld",
             table->key, table->name, group, table->key, (long long)value / 2);
    SH_TRY(ask(&book->cutoff, NULL, book, sql));
    snprintf(sql, sizeof sql,
             "SELECT merged FROM %s WHERE %s %s <= %.17g ORDER BY merged LIMIT 1 OFFSET %lld",
             table->name, group, table->key, book->cutoff, (long long)value / 4);
    return ask(&book->merged, NULL, book, sql);
}

/* The key up to which the next slice goes. */
static sh_status end_of_slice(double *end, const sh_book *book)
{
    const uint64_t part = book->about.rows_max / SLICES;
    const uint64_t rows = part < SLICE_LEAST ? SLICE_LEAST : part > SLICE_MOST ? SLICE_MOST : part;
    char sql[256], group[64];
    bool found;
    snprintf(sql, sizeof sql,
             "SELECT %s FROM %s WHERE %s %s > %.17g AND %s < %.17g ORDER BY %s LIMIT 1 OFFSET %llu",
             book->thinning->key, book->thinning->name, of_group(book, group), book->thinning->key,
             book->cursor, book->thinning->key, book->cutoff, book->thinning->key,
             (unsigned long long)rows - 1);
    SH_TRY(ask(end, &found, book, sql));
    if (!found)
        *end = book->cutoff;
    return SH_OK;
}

static sh_status run_counted(const sh_book *book, const char *sql, int64_t *rows)
{
    double changed;
    SH_TRY(sh_database_run(book->database, sql));
    SH_TRY(ask(&changed, NULL, book, "SELECT changes()"));
    *rows = (int64_t)changed;
    return SH_OK;
}

static sh_status thin_slice(sh_book *book)
{
    const thinned *table = book->thinning;
    char sql[SQL_BYTES], group[64], range[192];
    double end;
    int64_t before, after;
    SH_TRY(end_of_slice(&end, book));
    snprintf(range, sizeof range, "%s %s > %.17g AND %s <= %.17g AND merged <= %.17g",
             of_group(book, group), table->key, book->cursor, table->key, end, book->merged);
    snprintf(sql, sizeof sql,
             "CREATE TEMP TABLE thin AS SELECT %s FROM (SELECT *, (row_number() OVER (PARTITION BY "
             "%s ORDER BY %s) - 1) / 2 AS pair FROM %s WHERE %s) GROUP BY %s, pair",
             table->columns, table->apart, table->key, table->name, range, table->apart);
    SH_TRY(sh_database_run(book->database, sql));
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE %s", table->name, range);
    SH_TRY(run_counted(book, sql, &before));
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM thin", table->name);
    SH_TRY(run_counted(book, sql, &after));
    SH_TRY(sh_database_run(book->database, "DROP TABLE thin"));
    book->rows[table - tables] -= before - after;
    book->cursor = end;
    return end < book->cutoff ? SH_OK : next_group(book);
}

static sh_status thin(sh_book *book)
{
    if (book->thinning == NULL)
        SH_TRY(begin_round(book, 0));
    return book->thinning == NULL ? SH_OK : thin_slice(book);
}

bool sh_book_is_thinning(const sh_book *book)
{
    return book->thinning != NULL;
}

sh_status sh_book_commit(sh_book *book)
{
    SH_TRY(thin(book));
    return sh_database_run(book->database, "COMMIT");
}
