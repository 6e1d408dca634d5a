/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database in a file (SQLite), of a known kind and version, and the queries on it.
 *
 *     SH_TRY(sh_database_open(&database, "runs/a/run.db", &kind, SH_DATABASE_READ));
 *     SH_TRY(sh_query_new(&query, database, "SELECT step, loss FROM steps WHERE step > ?1"));
 *     sh_query_bind_integer(query, 1, 100);
 *     while (sh_query_row(query))
 *         printf("%lld %f\n", sh_query_integer(query, 0), sh_query_real(query, 1));
 *     status = sh_query_end(query, SH_OK);
 *     sh_database_close(database);
 *
 * A program that is killed, or a machine that loses power, leaves a database as it was after some
 * earlier transaction. One writes while others read (write-ahead log).
 *
 * A database may have come from somebody else, so what is in it cannot act: it is opened through no
 * symbolic link, its schema has to be that of its kind, word for word, without triggers or views of
 * others, functions in it are not trusted, and a query ends after a number of SQLite's
 * instructions.
 *
 * Failures: SH_NOT_FOUND without the file, or with an empty one to read; SH_FORMAT where it is no
 * database, or of another kind or with another schema;
 * SH_VERSION where its version is not known here; SH_CORRUPT where it
 * is damaged; SH_NO_SPACE; SH_PERMISSION where it cannot be written; SH_REFUSED where somebody else
 * holds it for too long, or where it is a symbolic link; SH_LIMIT where a query takes too many
 * instructions; SH_IO. Each names the file.
 *
 * Threads: the caller locks each database; several may be open on one file.
 */
#ifndef SHOAL_STORE_DATABASE_H
#define SHOAL_STORE_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_database sh_database;
typedef struct sh_query sh_query;

/* The longest query of ours takes 0.15e9, over a million rows. */
#define SH_DATABASE_INSTRUCTIONS UINT64_C(2000000000)

typedef struct sh_database_kind {
    const char *what;      /* for messages: "a run's database" */
    uint32_t application;  /* PRAGMA application_id */
    uint32_t version;      /* PRAGMA user_version; the only one that is taken */
    const char *schema;    /* statements that make it in an empty file, but for the two above */
    const char *grows;     /* a table that other versions have more or fewer columns of, or NULL */
    const char *spare;     /* how the names of those begin; they are TEXT */
    uint64_t instructions; /* that a query may take; 0: SH_DATABASE_INSTRUCTIONS */
} sh_database_kind;

typedef enum sh_database_mode {
    SH_DATABASE_READ,  /* must be there; also from a folder that cannot be written */
    SH_DATABASE_WRITE, /* made where it is missing */
} sh_database_mode;

/* `path` and `kind` are borrowed during the call; `*database` is owned: close it. */
sh_status sh_database_open(sh_database **database, const char *path, const sh_database_kind *kind,
                           sh_database_mode mode) SHOAL_CHECKED;

/* NULL is fine. Queries must be freed before. */
void sh_database_close(sh_database *database);

/* Runs statements that have no result. */
sh_status sh_database_run(sh_database *database, const char *sql) SHOAL_CHECKED;

/* The first number of a query's first row; NaN where that is NULL, or there is no row. */
sh_status sh_database_ask(double *value, sh_database *database, const char *sql) SHOAL_CHECKED;

/* One statement, made ready to be run often. `*query` is owned; its database must stay open. */
sh_status sh_query_new(sh_query **query, sh_database *database, const char *sql) SHOAL_CHECKED;
void sh_query_free(sh_query *query); /* NULL is fine */

/* Values of the parameters ?1, ?2, ...: they stay until bound again. A real that is NaN, and a text
 * that is NULL, are bound as NULL; text is copied. */
void sh_query_bind_integer(sh_query *query, int parameter, int64_t value);
void sh_query_bind_real(sh_query *query, int parameter, double value);
void sh_query_bind_text(sh_query *query, int parameter, const char *value);

/* Goes to the next row. False behind the last one, and where it failed, which the functions below
 * tell; the query then begins again with the next call. */
bool sh_query_row(sh_query *query);

/* Makes a query ready to begin again. Fails as its last row did. */
sh_status sh_query_reset(sh_query *query) SHOAL_CHECKED;

/* Runs a query that has no rows, and makes it ready again. */
sh_status sh_query_run(sh_query *query) SHOAL_CHECKED;

/* Frees a query. Returns `status`, or where that is SH_OK the failure of its last row. */
sh_status sh_query_end(sh_query *query, sh_status status) SHOAL_CHECKED;

/* Columns of the row, from 0. NULL is 0, NaN and "". Text is borrowed until the next call for this
 * query. */
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
