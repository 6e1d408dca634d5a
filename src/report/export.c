/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/export_output.h"
#include "report/listing.h"
#include "report/trace.h"

/* The shortest text of the same value. */
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

/* Untrusted text cannot start a line, control a terminal or act as a formula. */
static sh_status put_csv_text(sh_export_output *out, const char *text)
{
    const bool formula = sh_utf8_is_formula(text);
    const bool quoted = *text == '\0' || formula || strpbrk(text, ",\"") != NULL;
    SH_TRY(sh_export_put(out, formula ? "\"'" : quoted ? "\"" : ""));
    while (*text != '\0') {
        uint32_t point;
        char one[8];
        const size_t bytes = sh_utf8_read((const unsigned char *)text, &point);
        snprintf(one, sizeof one, "%.*s", bytes > 0 ? (int)bytes : 1, text);
        SH_TRY(sh_export_put(out, bytes == 0 || sh_utf8_is_control(point) ? "?"
                                  : *text == '"'                          ? "\"\""
                                                                          : one));
        text += bytes > 0 ? bytes : 1;
    }
    return sh_export_put(out, quoted ? "\"" : "");
}

static sh_status put_value(sh_export_output *out, const sh_query *query, int column, bool json)
{
    char text[40] = "";
    switch (sh_query_kind(query, column)) {
    case SH_VALUE_NULL:
        return sh_export_put(out, json ? "null" : "");
    case SH_VALUE_INTEGER:
        snprintf(text, sizeof text, "%lld", (long long)sh_query_integer(query, column));
        return sh_export_put(out, text);
    case SH_VALUE_REAL:
        print_real(text, sh_query_real(query, column));
        return sh_export_put(out, json && !isfinite(sh_query_real(query, column)) ? "null" : text);
    case SH_VALUE_TEXT:
        break;
    }
    return json ? sh_export_put_json(out, sh_query_text(query, column))
                : put_csv_text(out, sh_query_text(query, column));
}

static sh_status check_table(sh_database *database, const sh_export_options *options)
{
    sh_query *query;
    char names[512] = "";
    bool found = false;
    SH_TRY(sh_query_new(&query, database, "SELECT name FROM sqlite_schema WHERE sql NOT NULL"));
    while (sh_query_row(query)) {
        const size_t used = strlen(names);
        const char *name = sh_query_text(query, 0);
        found = found || strcmp(name, options->table) == 0;
        snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", name);
    }
    SH_TRY(sh_query_end(query, SH_OK));
    if (!found)
        return sh_fail(SH_INVALID, "%.200s: has no table %.100s, but %s, trace", options->run,
                       options->table, names);
    return SH_OK;
}

static sh_status write_table(sh_export_output *out, sh_database *database,
                             const sh_export_options *options)
{
    const bool json = options->format == SH_EXPORT_JSON;
    const char *between = json ? "" : ",", *end = json ? "}" : "\n";
    char sql[256];
    sh_query *query;
    sh_status status = SH_OK;
    snprintf(sql, sizeof sql, "SELECT * FROM %s", options->table);
    SH_TRY(sh_query_new(&query, database, sql));
    const int columns = sh_query_columns(query);
    if (json)
        SH_TRY_DONE(sh_export_put(out, "["));
    for (int i = 0; !json && i < columns; i++) {
        SH_TRY_DONE(sh_export_put(out, sh_query_name(query, i)));
        SH_TRY_DONE(sh_export_put(out, i + 1 < columns ? between : end));
    }
    for (const char *before = "\n{"; sh_query_row(query); before = ",\n{")
        for (int i = 0; i < columns; i++) {
            if (json) {
                SH_TRY_DONE(sh_export_put(out, i > 0 ? ", " : before));
                SH_TRY_DONE(sh_export_put_json(out, sh_query_name(query, i)));
                SH_TRY_DONE(sh_export_put(out, ": "));
            }
            SH_TRY_DONE(put_value(out, query, i, json));
            SH_TRY_DONE(sh_export_put(out, i + 1 < columns ? between : end));
        }
done:
    SH_TRY(sh_query_end(query, status));
    return json ? sh_export_put(out, "\n]\n") : SH_OK;
}

sh_status sh_run_export(const sh_export_options *options)
{
    const bool is_trace = strcmp(options->table, "trace") == 0;
    sh_database *database;
    sh_export_output *out;
    sh_status status;
    SH_TRY(sh_listing_open(&database, options->run));
    if (!is_trace)
        SH_TRY_DONE(check_table(database, options));
    SH_TRY_DONE(sh_export_output_open(&out, options->path, options->out));
    status = sh_export_output_end(out, is_trace ? sh_trace_write(out, database, options->run)
                                                : write_table(out, database, options));
done:
    sh_database_close(database);
    return status;
}
