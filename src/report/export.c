/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/listing.h"
#include "store/file.h"

#define BUFFER_BYTES 65536

typedef struct output {
    sh_export_format format;
    sh_file_writer *file; /* NULL: out */
    FILE *out;
    size_t used;
    char buffer[BUFFER_BYTES];
} output;

static sh_status flush(output *o)
{
    const size_t bytes = o->used;
    o->used = 0;
    if (o->file != NULL)
        return sh_file_writer_add(o->file, o->buffer, bytes);
    fwrite(o->buffer, 1, bytes, o->out);
    return SH_OK;
}

static sh_status put(output *o, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        if (o->used == BUFFER_BYTES)
            SH_TRY(flush(o));
        const size_t room = BUFFER_BYTES - o->used, bytes = left < room ? left : room;
        memcpy(o->buffer + o->used, text, bytes);
        o->used += bytes;
        text += bytes;
        left -= bytes;
    }
    return SH_OK;
}

/* As short as it can be without another value. */
static void print_real(char text[40], double value)
{
    if (value == rint(value) && fabs(value) < 1e15) {
        snprintf(text, 40, "%.0f", value);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static sh_status put_csv_text(output *o, const char *text)
{
    char one[2] = "";
    if (text[0] != '\0' && strpbrk(text, ",\"\r\n") == NULL)
        return put(o, text);
    SH_TRY(put(o, "\""));
    for (; *text != '\0'; text++) {
        one[0] = *text;
        SH_TRY(put(o, *text == '"' ? "\"\"" : one));
    }
    return put(o, "\"");
}

static sh_status put_json_text(output *o, const char *text)
{
    uint32_t point;
    SH_TRY(put(o, "\""));
    while (*text != '\0') {
        char one[8] = "?"; /* in the place of a malformed byte, which JSON cannot hold */
        const size_t bytes = sh_utf8_read((const unsigned char *)text, &point);
        if (bytes > 0 && point < 0x20)
            snprintf(one, sizeof one, "\\u%04x", (unsigned)point);
        else if (bytes > 0)
            snprintf(one, sizeof one, "%s%.*s", *text == '"' || *text == '\\' ? "\\" : "",
                     (int)bytes, text);
        SH_TRY(put(o, one));
        text += bytes > 0 ? bytes : 1;
    }
    return put(o, "\"");
}

static sh_status put_value(output *o, const sh_query *query, int column)
{
    const bool json = o->format == SH_EXPORT_JSON;
    char text[40] = "";
    switch (sh_query_kind(query, column)) {
    case SH_VALUE_NULL:
        return put(o, json ? "null" : "");
    case SH_VALUE_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)sh_query_integer(query, column));
        return put(o, text);
    case SH_VALUE_REAL:
        print_real(text, sh_query_real(query, column));
        return put(o, json && !isfinite(sh_query_real(query, column)) ? "null" : text);
    case SH_VALUE_TEXT:
        break;
    }
    return json ? put_json_text(o, sh_query_text(query, column))
                : put_csv_text(o, sh_query_text(query, column));
}

static sh_status put_csv_row(output *o, const sh_query *query, bool head)
{
    const int columns = sh_query_columns(query);
    for (int i = 0; i < columns; i++) {
        SH_TRY(head ? put(o, sh_query_name(query, i)) : put_value(o, query, i));
        SH_TRY(put(o, i + 1 < columns ? "," : "\n"));
    }
    return SH_OK;
}

static sh_status put_json_row(output *o, const sh_query *query, bool first)
{
    const int columns = sh_query_columns(query);
    SH_TRY(put(o, first ? "\n" : ",\n"));
    for (int i = 0; i < columns; i++) {
        SH_TRY(put(o, i == 0 ? "{" : ", "));
        SH_TRY(put_json_text(o, sh_query_name(query, i)));
        SH_TRY(put(o, ": "));
        SH_TRY(put_value(o, query, i));
    }
    return put(o, "}");
}

static sh_status put_rows(output *o, sh_query *query)
{
    const bool json = o->format == SH_EXPORT_JSON;
    bool row;
    SH_TRY(json ? put(o, "[") : put_csv_row(o, query, true));
    for (bool first = true;; first = false) {
        SH_TRY(sh_query_next(query, &row));
        if (!row)
            break;
        SH_TRY(json ? put_json_row(o, query, first) : put_csv_row(o, query, false));
    }
    if (json)
        SH_TRY(put(o, "\n]\n"));
    return flush(o);
}

/* That there is such a table, else the failure that lists them. */
static sh_status check_table(sh_database *database, const sh_export_options *options)
{
    sh_query *query;
    char names[512] = "";
    bool row, found = false;
    SH_TRY(sh_query_new(&query, database, "SELECT name FROM sqlite_schema WHERE sql NOT NULL"));
    sh_status status;
    while ((status = sh_query_next(query, &row)) == SH_OK && row) {
        const size_t used = strlen(names);
        const char *name = sh_query_text(query, 0);
        found = found || strcmp(name, options->table) == 0;
        snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", name);
    }
    sh_query_free(query);
    if (status == SH_OK && !found)
        return sh_fail(SH_INVALID, "%.200s: has no table %.100s, but %s", options->run,
                       options->table, names);
    return status;
}

static sh_status write_table(sh_database *database, const sh_export_options *options)
{
    char sql[256];
    sh_query *query = NULL;
    sh_status status = SH_OK;
    SH_TRY(check_table(database, options));
    snprintf(sql, sizeof sql, "SELECT * FROM %s", options->table);
    output *o = calloc(1, sizeof *o);
    if (o == NULL)
        return sh_fail_memory(sizeof *o, "an export");
    o->format = options->format;
    o->out = options->out;
    SH_TRY_DONE(sh_query_new(&query, database, sql));
    if (options->path != NULL)
        SH_TRY_DONE(sh_file_writer_open(&o->file, options->path));
    SH_TRY_DONE(put_rows(o, query));
    if (o->file != NULL) {
        status = sh_file_writer_commit(o->file);
        o->file = NULL;
    }
done:
    sh_file_writer_discard(o->file);
    sh_query_free(query);
    free(o);
    return status;
}

sh_status sh_run_export(const sh_export_options *options)
{
    sh_database *database;
    SH_TRY(sh_listing_open(&database, options->run));
    const sh_status status = write_table(database, options);
    sh_database_close(database);
    return status;
}
