/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite needs a third file to read its write-ahead log. If the folder is read-only, the database
 * is therefore opened as immutable. The reader then sees only the main file, which is complete
 * after the writer has closed the database.
 *
 * Statements in the schema of a file (views, triggers, checks, defaults) would run inside shoal's
 * queries. Therefore the schema is compared with the expected one, which the same statements make
 * in memory, before the first query. A hostile file can then only be large.
 */
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "store/file.h"

#define BUSY_MS 5000
#define LOOK_EVERY 10000   /* instructions */
#define WRITER_CACHE "-64" /* KiB of pages; rows are appended */

struct sh_database {
    sqlite3 *handle;
    uint64_t instructions;  /* limit of a query */
    uint64_t *taken;        /* instructions of the running statement */
    uint64_t taken_by_runs; /* by sh_database_run */
    char path[SH_PATH_BYTES];
};

struct sh_query {
    sqlite3_stmt *statement;
    sh_database *database;
    uint64_t taken;
    sh_status status;
};

static sh_status status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_FULL:
        return SH_NO_SPACE;
    case SQLITE_NOMEM:
        return SH_NO_MEMORY;
    case SQLITE_CORRUPT:
        return SH_CORRUPT;
    case SQLITE_NOTADB:
        return SH_FORMAT;
    case SQLITE_INTERRUPT:
    case SQLITE_TOOBIG:
        return SH_LIMIT;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return SH_PERMISSION;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SH_REFUSED;
    case SQLITE_ERROR:
    case SQLITE_MISUSE:
        return SH_INTERNAL;
    default:
        return SH_IO;
    }
}

static SHOAL_CHECKED sh_status failure(const sh_database *database, int code)
{
    const sh_status status = status_of(code);
    const char *text = sqlite3_errmsg(database->handle);
    if (status == SH_CORRUPT)
        return sh_fail(status, "%s is damaged (%s): move it away; checkpoints do not need it",
                       database->path, text);
    if (status == SH_FORMAT)
        return sh_fail(status, "%s is not a database", database->path);
    if (status == SH_NO_SPACE)
        return sh_fail(status, "%s: no space left on its disk", database->path);
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return sh_fail(status,
                       "%s: reading it takes too long for a run: it is damaged, or was made to "
                       "hang programs: move it away; checkpoints do not need it",
                       database->path);
    return sh_fail(status, "%s: %s", database->path, text);
}

/* SQLite calls this every LOOK_EVERY instructions. */
static int look(void *context)
{
    const sh_database *database = context;
    *database->taken += LOOK_EVERY;
    return *database->taken > database->instructions;
}

/* The limits are higher than any valid file needs. */
static void set_limits(sqlite3 *handle)
{
    static const struct {
        int what, most;
    } limits[] = {
        {SQLITE_LIMIT_LENGTH, 64 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
        {SQLITE_LIMIT_COLUMN, 1000},     {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_ATTACHED, 0},      {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_VDBE_OP, 100000},  {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(handle, limits[i].what, limits[i].most);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

/* ---- schema ---------------------------------------------------------------------------------- */

#define LIST_SCHEMA "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

static const char *text_of(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text == NULL ? "" : (const char *)text;
}

static size_t count_brackets(const char *statement)
{
    size_t count = 0;
    for (; *statement != '\0'; statement++)
        count += *statement == '(';
    return count;
}

/*
 * Returns whether the table has only expected or spare columns. Its statement has no more opening
 * brackets than the expected one, so it contains no expression: no check, no computed default and
 * no generated column.
 */
static bool has_grown(sqlite3 *theirs, sqlite3 *ours, const sh_database_kind *kind)
{
    static const char list[] = "SELECT name, type, \"notnull\", pk, dflt_value, hidden FROM "
                               "pragma_table_xinfo(?1)";
    static const char find[] = "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name = ?2 AND type = ?3 "
                               "AND \"notnull\" = ?4 AND pk = ?5";
    sqlite3_stmt *column = NULL, *own = NULL;
    bool good = sqlite3_prepare_v2(theirs, list, -1, &column, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(ours, find, -1, &own, NULL) == SQLITE_OK &&
                sqlite3_bind_text(column, 1, kind->grows, -1, SQLITE_STATIC) == SQLITE_OK &&
                sqlite3_bind_text(own, 1, kind->grows, -1, SQLITE_STATIC) == SQLITE_OK;
    while (good && sqlite3_step(column) == SQLITE_ROW) {
        const char *name = text_of(column, 0), *type = text_of(column, 1);
        const int not_null = sqlite3_column_int(column, 2), key = sqlite3_column_int(column, 3);
        const bool spare = strncmp(name, kind->spare, strlen(kind->spare)) == 0 &&
                           strcmp(type, "TEXT") == 0 && not_null == 0 && key == 0;
        sqlite3_reset(own);
        sqlite3_bind_text(own, 2, name, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(own, 3, type, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int(own, 4, not_null);
        sqlite3_bind_int(own, 5, key);
        good = (spare || sqlite3_step(own) == SQLITE_ROW) &&
               sqlite3_column_type(column, 4) == SQLITE_NULL && sqlite3_column_int(column, 5) == 0;
    }
    sqlite3_finalize(column);
    sqlite3_finalize(own);
    return good;
}

static SHOAL_CHECKED sh_status other_schema(const sh_database *database,
                                            const sh_database_kind *kind, const char *how,
                                            sqlite3_stmt *row)
{
    char type[32], name[64];
    return sh_fail(SH_FORMAT,
                   "%s differs from %s made by shoal: %s the %s \"%s\". Use only a trusted file, "
                   "with the shoal that wrote it",
                   database->path, kind->what, how,
                   sh_utf8_clean(type, sizeof type, text_of(row, 0)),
                   sh_utf8_clean(name, sizeof name, text_of(row, 1)));
}

static sh_status compare(const sh_database *database, const sh_database_kind *kind, sqlite3 *ours,
                         sqlite3_stmt *their_row, sqlite3_stmt *our_row)
{
    for (;;) {
        const int theirs = sqlite3_step(their_row), own = sqlite3_step(our_row);
        if (theirs != SQLITE_ROW && theirs != SQLITE_DONE)
            return failure(database, theirs);
        if (theirs == SQLITE_DONE && own == SQLITE_DONE)
            return SH_OK;
        int order = theirs == SQLITE_DONE ? 1 : own == SQLITE_DONE ? -1 : 0;
        for (int column = 0; column < 2 && order == 0; column++)
            order = strcmp(text_of(their_row, column), text_of(our_row, column));
        if (order != 0)
            return order < 0 ? other_schema(database, kind, "it has", their_row)
                             : other_schema(database, kind, "it lacks", our_row);
        const char *statement = text_of(their_row, 3), *own_statement = text_of(our_row, 3);
        if (strcmp(statement, own_statement) == 0) /* it names its table */
            continue;
        const bool grows = kind->grows != NULL && strcmp(text_of(our_row, 0), "table") == 0 &&
                           strcmp(text_of(our_row, 1), kind->grows) == 0;
        if (!grows || count_brackets(statement) > count_brackets(own_statement) ||
            !has_grown(database->handle, ours, kind))
            return other_schema(database, kind, "it changes", their_row);
    }
}

static sh_status check_schema(const sh_database *database, const sh_database_kind *kind)
{
    sqlite3 *ours = NULL;
    sqlite3_stmt *their_row = NULL, *our_row = NULL;
    sh_status status;
    if (sqlite3_open_v2(":memory:", &ours, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
            SQLITE_OK ||
        sqlite3_exec(ours, kind->schema, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(ours, LIST_SCHEMA, -1, &our_row, NULL) != SQLITE_OK)
        SH_TRY_DONE(sh_fail_memory(sizeof *database, "a database's schema"));
    const int code = sqlite3_prepare_v2(database->handle, LIST_SCHEMA, -1, &their_row, NULL);
    status = code == SQLITE_OK ? compare(database, kind, ours, their_row, our_row)
                               : failure(database, code);
done:
    sqlite3_finalize(their_row);
    sqlite3_finalize(our_row);
    sqlite3_close(ours);
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static sh_status make(sh_database *database, const sh_database_kind *kind)
{
    char marks[128];
    sh_status status;
    snprintf(marks, sizeof marks, "PRAGMA application_id = %u; PRAGMA user_version = %u;",
             kind->application, kind->version);
    SH_TRY(sh_database_run(database, "BEGIN IMMEDIATE"));
    SH_TRY_DONE(sh_database_run(database, kind->schema));
    SH_TRY_DONE(sh_database_run(database, marks));
    return sh_database_run(database, "COMMIT");
done:
    sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* Makes the tables in an empty file opened for writing. */
static sh_status check(sh_database *database, const sh_database_kind *kind, sh_database_mode mode)
{
    double application, version, tables;
    sh_status status;
    /* Another process may be making the database. */
    SH_TRY(sh_database_run(database, "BEGIN"));
    SH_TRY_DONE(sh_database_ask(&application, database, "PRAGMA application_id"));
    SH_TRY_DONE(sh_database_ask(&version, database, "PRAGMA user_version"));
    SH_TRY_DONE(sh_database_ask(&tables, database, "SELECT count(*) FROM sqlite_schema"));
    if (application == kind->application && version == kind->version)
        SH_TRY_DONE(check_schema(database, kind));
done:
    sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    SH_TRY(status);
    const bool empty = tables == 0 && application == 0;
    if (empty && mode == SH_DATABASE_WRITE)
        return make(database, kind);
    if (empty)
        return sh_fail(SH_NOT_FOUND,
                       "%s is empty: its writer has just started, or was stopped early",
                       database->path);
    if (application != kind->application)
        return sh_fail(SH_FORMAT, "%s is not %s: another program made it", database->path,
                       kind->what);
    if (version != kind->version)
        return sh_fail(SH_VERSION,
                       "%s: its schema has version %.0f, this shoal knows version %u: use the "
                       "shoal that wrote it",
                       database->path, version, kind->version);
    return SH_OK;
}

/* Links in the path of the folder are allowed, but SQLite would refuse them. */
static sh_status resolve(char resolved[SH_PATH_BYTES], const char *path)
{
    char folder[SH_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : length, slash == NULL ? "." : path);
    char *real = realpath(folder, NULL);
    if (real == NULL)
        return sh_fail_errno(errno, "%s: cannot be found", folder);
    const sh_status status = sh_path_join(resolved, strcmp(real, "/") == 0 ? "" : real,
                                          slash == NULL ? path : slash + 1);
    free(real);
    return status;
}

static sh_status open_as(sh_database *database, const sh_database_kind *kind, sh_database_mode mode,
                         bool immutable)
{
    char uri[3 * SH_PATH_BYTES + 32] = "file:", resolved[SH_PATH_BYTES];
    size_t length = strlen(uri);
    SH_TRY(resolve(resolved, database->path));
    for (const char *at = resolved; *at != '\0'; at++) {
        if (strchr("?#%", *at) != NULL)
            length += (size_t)snprintf(uri + length, 4, "%%%02X", (unsigned char)*at);
        else
            uri[length++] = *at;
    }
    snprintf(uri + length, sizeof uri - length, "%s", immutable ? "?immutable=1" : "");
    const int flags = mode == SH_DATABASE_READ ? SQLITE_OPEN_READONLY
                                               : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const int code =
        sqlite3_open_v2(uri, &database->handle,
                        flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL);
    if (code != SQLITE_OK)
        return database->handle == NULL ? sh_fail_memory(sizeof *database, "opening a database")
                                        : failure(database, code);
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_timeout(database->handle, BUSY_MS);
    set_limits(database->handle);
    sqlite3_progress_handler(database->handle, LOOK_EVERY, look, database);
    if (mode == SH_DATABASE_WRITE)
        SH_TRY(sh_database_run(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                                         "PRAGMA cache_size = " WRITER_CACHE ";"));
    return check(database, kind, mode);
}

sh_status sh_database_open(sh_database **database, const char *path, const sh_database_kind *kind,
                           sh_database_mode mode)
{
    /* The system's error is better than SQLite's. */
    const bool reads = mode == SH_DATABASE_READ;
    int file;
    SH_TRY(sh_file_open_own(&file, path, reads ? O_RDONLY : O_RDWR | O_CREAT));
    close(file);
    sh_database *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "opening a database");
    snprintf(fresh->path, sizeof fresh->path, "%s", path);
    fresh->instructions = kind->instructions == 0 ? SH_DATABASE_INSTRUCTIONS : kind->instructions;
    fresh->taken = &fresh->taken_by_runs;
    sh_status status = open_as(fresh, kind, mode, false);
    const bool odd = status == SH_FORMAT || status == SH_LIMIT || status == SH_VERSION ||
                     status == SH_CORRUPT || status == SH_NOT_FOUND;
    if (reads && status != SH_OK && !odd) {
        sqlite3_close(fresh->handle);
        fresh->handle = NULL;
        status = open_as(fresh, kind, mode, true);
    }
    if (status != SH_OK) {
        sh_database_close(fresh);
        return status;
    }
    *database = fresh;
    return SH_OK;
}

void sh_database_close(sh_database *database)
{
    if (database == NULL)
        return;
    sqlite3_close(database->handle);
    free(database);
}

sh_status sh_database_run(sh_database *database, const char *sql)
{
    database->taken_by_runs = 0;
    database->taken = &database->taken_by_runs;
    const int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? SH_OK : failure(database, code);
}

sh_status sh_database_ask(double *value, sh_database *database, const char *sql)
{
    sh_query *query;
    SH_TRY(sh_query_new(&query, database, sql));
    *value = sh_query_row(query) ? sh_query_real(query, 0) : NAN;
    return sh_query_end(query, SH_OK);
}

sh_status sh_query_new(sh_query **query, sh_database *database, const char *sql)
{
    sh_query *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a query");
    fresh->database = database;
    const int code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                        &fresh->statement, NULL);
    if (code != SQLITE_OK) {
        free(fresh);
        return failure(database, code);
    }
    *query = fresh;
    return SH_OK;
}

void sh_query_free(sh_query *query)
{
    if (query == NULL)
        return;
    sqlite3_finalize(query->statement);
    free(query);
}

/* Binding fails only for an unknown parameter or without memory. The value is then NULL. */
void sh_query_bind_integer(sh_query *query, int parameter, int64_t value)
{
    sqlite3_bind_int64(query->statement, parameter, value);
}

void sh_query_bind_real(sh_query *query, int parameter, double value)
{
    sqlite3_bind_double(query->statement, parameter, value); /* SQLite binds NaN as NULL */
}

void sh_query_bind_text(sh_query *query, int parameter, const char *value)
{
    sqlite3_bind_text(query->statement, parameter, value, -1, SQLITE_TRANSIENT);
}

bool sh_query_row(sh_query *query)
{
    if (sqlite3_stmt_busy(query->statement) == 0)
        query->taken = 0;
    query->database->taken = &query->taken;
    const int code = sqlite3_step(query->statement);
    query->database->taken = &query->database->taken_by_runs;
    query->status =
        code == SQLITE_ROW || code == SQLITE_DONE ? SH_OK : failure(query->database, code);
    if (code != SQLITE_ROW)
        sqlite3_reset(query->statement);
    return code == SQLITE_ROW;
}

sh_status sh_query_reset(sh_query *query)
{
    sqlite3_reset(query->statement);
    return query->status;
}

sh_status sh_query_run(sh_query *query)
{
    (void)sh_query_row(query);
    return sh_query_reset(query);
}

sh_status sh_query_end(sh_query *query, sh_status status)
{
    if (status == SH_OK)
        status = query->status;
    sh_query_free(query);
    return status;
}

int sh_query_columns(const sh_query *query)
{
    return sqlite3_column_count(query->statement);
}

const char *sh_query_name(const sh_query *query, int column)
{
    return sqlite3_column_name(query->statement, column);
}

sh_value_kind sh_query_kind(const sh_query *query, int column)
{
    switch (sqlite3_column_type(query->statement, column)) {
    case SQLITE_NULL:
        return SH_VALUE_NULL;
    case SQLITE_INTEGER:
        return SH_VALUE_INTEGER;
    case SQLITE_FLOAT:
        return SH_VALUE_REAL;
    default:
        return SH_VALUE_TEXT;
    }
}

bool sh_query_is_null(const sh_query *query, int column)
{
    return sh_query_kind(query, column) == SH_VALUE_NULL;
}

int64_t sh_query_integer(const sh_query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

double sh_query_real(const sh_query *query, int column)
{
    return sh_query_is_null(query, column) ? NAN : sqlite3_column_double(query->statement, column);
}

const char *sh_query_text(const sh_query *query, int column)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);
    return text == NULL ? "" : (const char *)text;
}
