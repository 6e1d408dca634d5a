/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite keeps the newest transactions of a database in the write-ahead log beside it and needs a
 * third file to read it, so a reader in a folder that cannot be written is told to take the
 * database as immutable: it then sees what a checkpoint has brought into the main file, which is
 * all of it once the writer has closed.
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
#include "store/file.h"

#define BUSY_MS 5000
#define WRITER_CACHE "-64" /* KiB of pages: rows are added at the end of tables */

struct sh_database {
    sqlite3 *handle;
    char path[SH_PATH_BYTES];
};

struct sh_query {
    sqlite3_stmt *statement;
    sh_database *database;
    sh_status status; /* of the last row */
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
    return sh_fail(status, "%s: %s", database->path, text);
}

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

/* That it is of the kind; an empty file becomes one where it is to be written. */
static sh_status check(sh_database *database, const sh_database_kind *kind, sh_database_mode mode)
{
    double application, version, tables;
    sh_status status;
    /* One transaction: another process may be making the database between two of these. */
    SH_TRY(sh_database_run(database, "BEGIN"));
    SH_TRY_DONE(sh_database_ask(&application, database, "PRAGMA application_id"));
    SH_TRY_DONE(sh_database_ask(&version, database, "PRAGMA user_version"));
    SH_TRY_DONE(sh_database_ask(&tables, database, "SELECT count(*) FROM sqlite_schema"));
done:
    sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    SH_TRY(status);
    const bool empty = tables == 0 && application == 0;
    if (empty && mode == SH_DATABASE_WRITE)
        return make(database, kind);
    if (empty)
        return sh_fail(SH_NOT_FOUND,
                       "%s is empty: whoever writes it has only just begun, or was ended then",
                       database->path);
    if (application != kind->application)
        return sh_fail(SH_FORMAT, "%s is not %s, but another program's", database->path,
                       kind->what);
    if (version != kind->version)
        return sh_fail(SH_VERSION,
                       "%s: its schema has version %.0f, this shoal knows version %u: use the one "
                       "that wrote it",
                       database->path, version, kind->version);
    return SH_OK;
}

static sh_status open_as(sh_database *database, const sh_database_kind *kind, sh_database_mode mode,
                         bool immutable)
{
    char uri[3 * SH_PATH_BYTES + 32] = "file:";
    size_t length = strlen(uri);
    for (const char *at = database->path; *at != '\0'; at++) {
        if (strchr("?#%", *at) != NULL)
            length += (size_t)snprintf(uri + length, 4, "%%%02X", (unsigned char)*at);
        else
            uri[length++] = *at;
    }
    snprintf(uri + length, sizeof uri - length, "%s", immutable ? "?immutable=1" : "");
    const int flags = mode == SH_DATABASE_READ ? SQLITE_OPEN_READONLY
                                               : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const int code = sqlite3_open_v2(uri, &database->handle,
                                     flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return database->handle == NULL ? sh_fail_memory(sizeof *database, "opening a database")
                                        : failure(database, code);
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_timeout(database->handle, BUSY_MS);
    if (mode == SH_DATABASE_WRITE)
        SH_TRY(sh_database_run(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
                                         "PRAGMA cache_size = " WRITER_CACHE ";"));
    return check(database, kind, mode);
}

sh_status sh_database_open(sh_database **database, const char *path, const sh_database_kind *kind,
                           sh_database_mode mode)
{
    /* The system says better than SQLite why a file cannot be opened. */
    const bool reads = mode == SH_DATABASE_READ;
    const int file = open(path, O_CLOEXEC | (reads ? O_RDONLY : O_RDWR | O_CREAT), 0666);
    if (file < 0)
        return sh_fail_errno(errno, "%s: cannot be %s", path, reads ? "read" : "written");
    close(file);
    sh_database *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "opening a database");
    snprintf(fresh->path, sizeof fresh->path, "%s", path);
    sh_status status = open_as(fresh, kind, mode, false);
    const bool odd = status == SH_FORMAT || status == SH_VERSION || status == SH_CORRUPT ||
                     status == SH_NOT_FOUND;
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

/* Binding fails only without such a parameter, or without memory; then the value is NULL. */
void sh_query_bind_integer(sh_query *query, int parameter, int64_t value)
{
    sqlite3_bind_int64(query->statement, parameter, value);
}

void sh_query_bind_real(sh_query *query, int parameter, double value)
{
    sqlite3_bind_double(query->statement, parameter, value); /* SQLite itself takes NaN as NULL */
}

void sh_query_bind_text(sh_query *query, int parameter, const char *value)
{
    sqlite3_bind_text(query->statement, parameter, value, -1, SQLITE_TRANSIENT);
}

bool sh_query_row(sh_query *query)
{
    const int code = sqlite3_step(query->statement);
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
