/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite databases of a known kind and version, and queries on them.
 *
 *     while (sh_query_row(query))
 *         printf("%f\n", sh_query_real(query, 0));
 *     status = sh_query_end(query, SH_OK);
 *
 * After a crash or power failure a database is in the state after some earlier transaction. One
 * process can write while others read (write-ahead log).
 *
 * A database may come from an untrusted source and must not run anything. Therefore it is not
 * opened through a symbolic link, its schema must equal that of its kind word for word, SQLite does
 * not trust functions in it, and a query ends after a number of SQLite's instructions.
 *
 * Errors:
 * - SH_NOT_FOUND: the file does not exist, or is opened for reading and empty.
 * - SH_FORMAT: not a database, or another kind or schema. SH_VERSION: unknown version.
 * - SH_CORRUPT: damaged. SH_NO_SPACE. SH_PERMISSION: not writable. SH_IO.
 * - SH_REFUSED: locked for too long by another process, or a symbolic link.
 * - SH_LIMIT: a query took too many instructions.
 *
 * Threads: caller locks each database. One file may be open more than once.
 */
#ifndef SHOAL_STORE_DATABASE_H
#define SHOAL_STORE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_database sh_database;
typedef struct sh_query sh_query;

/* Default limit of a query. The longest known query takes 0.15e9 on a million rows. */
#define SH_DATABASE_INSTRUCTIONS UINT64_C(2000000000)

typedef struct sh_database_kind {
    const char *what;      /* "a run's database" */
    uint32_t application;  /* PRAGMA application_id */
    uint32_t version;      /* PRAGMA user_version; others are refused */
    const char *schema;    /* statements that make the tables in an empty file */
    const char *grows;     /* table whose columns differ between versions, or NULL */
    const char *spare;     /* prefix of their names; they are TEXT */
    uint64_t instructions; /* limit of a query; 0: SH_DATABASE_INSTRUCTIONS */
} sh_database_kind;

typedef enum sh_database_mode {
    SH_DATABASE_READ,  /* the file must exist; its folder may be read-only */
    SH_DATABASE_WRITE, /* makes the file if it is missing */
} sh_database_mode;

/* The arguments are borrowed during the call; `*database` is owned: close it. */
sh_status sh_database_open(sh_database **database, const char *path, const sh_database_kind *kind,
                           sh_database_mode mode) SHOAL_CHECKED;

/* Free its queries first. */
void sh_database_close(sh_database *database);

sh_status sh_database_run(sh_database *database, const char *sql) SHOAL_CHECKED;

/* Returns the first number of the first row; NaN if it is NULL or there is no row. */
sh_status sh_database_ask(double *value, sh_database *database, const char *sql) SHOAL_CHECKED;

/* `*query` is owned: free it before the database is closed. */
sh_status sh_query_new(sh_query **query, sh_database *database, const char *sql) SHOAL_CHECKED;
void sh_query_free(sh_query *query);

/* Bind the parameters ?1, ?2, ... A value stays until bound again. NaN and a NULL text are bound as
 * NULL. Text is copied. */
void sh_query_bind_integer(sh_query *query, int parameter, int64_t value);
void sh_query_bind_real(sh_query *query, int parameter, double value);
void sh_query_bind_text(sh_query *query, int parameter, const char *value);

/* Moves to the next row. Returns false after the last row and on failure, which the functions below
 * return; the next call starts the query again. */
bool sh_query_row(sh_query *query);

/* Returns the failure of its last row, if any. */
sh_status sh_query_reset(sh_query *query) SHOAL_CHECKED;

/* Runs a query without rows and resets it. */
sh_status sh_query_run(sh_query *query) SHOAL_CHECKED;

/* Frees a query. Returns `status`, or if that is SH_OK the failure of its last row. */
sh_status sh_query_end(sh_query *query, sh_status status) SHOAL_CHECKED;

/* Columns count from 0. NULL is returned as 0, NaN or "". Text is borrowed until the next call for
 * this query. */
typedef enum sh_value_kind {
    SH_VALUE_NULL,
    SH_VALUE_INTEGER,
    SH_VALUE_REAL,
    SH_VALUE_TEXT
} sh_value_kind;

int sh_query_columns(const sh_query *query);
const char *sh_query_name(const sh_query *query, int column);
sh_value_kind sh_query_kind(const sh_query *query, int column);
bool sh_query_is_null(const sh_query *query, int column);
int64_t sh_query_integer(const sh_query *query, int column);
double sh_query_real(const sh_query *query, int column);
const char *sh_query_text(const sh_query *query, int column);

#endif
