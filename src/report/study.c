/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table per block, one row per combination of settings; trials that differ only in the seed are
 * averaged. Settings that all rows share stand above the table.
 *
 * Speed-up: samples per second relative to the row with the same other settings and the fewest
 * devices. Processor time: of a device, with start and validation, per time of the trial, in per
 * cent of a core. Traffic: of a device, per time of training.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "shoal/sweep.h"
#include "store/file.h"
#include "store/sweep_schema.h"

#define ROWS_MAX 10000
#define COLUMNS_MAX (SH_SETTING_COUNT + 16)

typedef struct row {
    const char *block, *state, *message, *hash;
    const char *settings[SH_SETTING_COUNT]; /* NULL: not set */
    double figures[SH_TRIAL_FIGURE_COUNT];  /* sums over `runs`, finally means */
    unsigned runs;                          /* finished trials */
} row;

typedef struct report {
    sh_arena arena;
    row *rows;
    size_t count, capacity;
    FILE *file;
    bool markdown;

    /* The current block: */
    const row *first;
    size_t block_count;
    bool varies[SH_SETTING_COUNT], has_seeds;
    const char **cells; /* row by row, heads first */
    size_t columns, cell_count;
} report;

static bool are_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* ---- reading ---- */

static const char *text_at(report *self, const sh_query *query, int column)
{
    if (sh_query_is_null(query, column))
        return NULL;
    const char *text = sh_query_text(query, column);
    const size_t bytes = strlen(text) + 1;
    char *clean = sh_arena_take(&self->arena, bytes, 1);
    return clean == NULL ? NULL : sh_utf8_clean(clean, bytes, text);
}

enum { FIGURES = 3, HASH = FIGURES + SH_TRIAL_FIGURE_COUNT, SETTINGS = HASH + 1 };

/* Whether all settings except the seed and `other` are equal. */
static bool are_alike(const row *a, const row *b, sh_setting other)
{
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        if (i != SH_SETTING_seed && i != (int)other && !are_equal(a->settings[i], b->settings[i]))
            return false;
    return true;
}

static bool merge(report *self, const row *fresh)
{
    for (size_t i = self->count; i > 0 && fresh->runs > 0; i--) {
        row *other = &self->rows[i - 1];
        if (other->runs == 0 || !are_equal(other->block, fresh->block) ||
            !are_alike(other, fresh, SH_SETTING_seed))
            continue;
        for (int f = 0; f < SH_TRIAL_FIGURE_COUNT; f++)
            other->figures[f] += fresh->figures[f];
        other->runs++;
        return true;
    }
    return false;
}

static sh_status take_row(report *self, const sh_query *query)
{
    row fresh = {.block = text_at(self, query, 0),
                 .state = text_at(self, query, 1),
                 .message = text_at(self, query, 2),
                 .hash = text_at(self, query, HASH)};
    for (int i = 0; i < SH_TRIAL_FIGURE_COUNT; i++)
        fresh.figures[i] = sh_query_real(query, FIGURES + i);
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        fresh.settings[i] = text_at(self, query, SETTINGS + i);
    if (fresh.block == NULL || fresh.state == NULL)
        return sh_fail_memory(0, "a report");
    fresh.runs = strcmp(fresh.state, "done") == 0;
    if (merge(self, &fresh))
        return SH_OK;
    SH_TRY(sh_array_grow((void **)&self->rows, &self->capacity, self->count + 1, sizeof fresh));
    self->rows[self->count++] = fresh;
    return SH_OK;
}

static sh_status read_folder(report *self, const char *folder)
{
    char path[SH_PATH_BYTES], settings[SH_SWEEP_LIST_BYTES], sql[4096];
    sh_database *database;
    sh_query *query;
    SH_TRY(sh_path_join(path, folder, SH_SWEEP_DATABASE));
    SH_TRY(sh_database_open(&database, path, sh_sweep_schema(), SH_DATABASE_READ));
    sh_status status;
    SH_TRY_DONE(sh_sweep_schema_select(settings, database));
    snprintf(sql, sizeof sql,
             "SELECT block, state, message, %s, %s FROM study JOIN trials ON id = trial "
             "ORDER BY place",
             sh_sweep_schema_figures(), settings);
    SH_TRY_DONE(sh_query_new(&query, database, sql));
    for (size_t i = 0; status == SH_OK && i < ROWS_MAX && sh_query_row(query); i++)
        status = take_row(self, query);
    SH_TRY_DONE(sh_query_end(query, status));
    for (size_t i = 0; i < self->count; i++)
        for (int f = 0; self->rows[i].runs > 0 && f < SH_TRIAL_FIGURE_COUNT; f++)
            self->rows[i].figures[f] /= self->rows[i].runs;
done:
    sh_database_close(database);
    return status;
}

/* ---- cells ---- */

__attribute__((format(printf, 2, 3))) static void add(report *self, const char *format, ...)
{
    char text[SH_TRIAL_MESSAGE_BYTES + 32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == '|')
            *at = ' ';
    const char *kept = sh_arena_text(&self->arena, text);
    self->cells[self->cell_count++] = kept == NULL ? "" : kept;
}

/* "-": not available. */
static void add_number(report *self, int decimals, double number)
{
    if (isfinite(number))
        add(self, "%.*f", decimals, number);
    else
        add(self, "-");
}

static double devices_of(const row *each)
{
    const char *text = each->settings[SH_SETTING_devices];
    return text == NULL ? 1 : strtod(text, NULL);
}

static double speed_up(const report *self, const row *of)
{
    const row *base = of;
    for (size_t r = 0; r < self->block_count; r++) {
        const row *other = &self->first[r];
        if (other->runs > 0 && devices_of(other) < devices_of(base) &&
            are_alike(other, of, SH_SETTING_devices))
            base = other;
    }
    return of->figures[SH_TRIAL_FIGURE_samples_per_second] /
           base->figures[SH_TRIAL_FIGURE_samples_per_second];
}

static void add_row(report *self, const row *each)
{
    const double *f = each->figures, seconds = f[SH_TRIAL_FIGURE_seconds];
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        if (self->varies[i])
            add(self, "%s", each->settings[i] == NULL ? "" : each->settings[i]);
    if (each->runs == 0) {
        if (each->message == NULL)
            add(self, "%s", each->state);
        else
            add(self, "%s: %s", each->state, each->message);
        while (self->cell_count % self->columns != 0)
            add(self, "%s", "");
        return;
    }
    if (self->has_seeds)
        add(self, "%u", each->runs);
    if (self->varies[SH_SETTING_devices])
        add_number(self, 2, speed_up(self, each));
    add_number(self, 2, seconds);
    add_number(self, 0, f[SH_TRIAL_FIGURE_samples_per_second]);
    add_number(self, 2, 100 * f[SH_TRIAL_FIGURE_val_accuracy]);
    add_number(self, 1, 100 * f[SH_TRIAL_FIGURE_cpu_seconds] / f[SH_TRIAL_FIGURE_wall_seconds]);
    add_number(self, 1, f[SH_TRIAL_FIGURE_memory_mean] * 1e-6);
    add_number(self, 1, f[SH_TRIAL_FIGURE_received_mean] * 1e-3 / seconds);
    add_number(self, 1, f[SH_TRIAL_FIGURE_sent_mean] * 1e-3 / seconds);
    add(self, "%.8s", each->runs == 1 && each->hash != NULL ? each->hash : "");
}

/* ---- printing ---- */

/* True if the rest of the row is empty. */
static bool ends_row(const report *self, size_t cell)
{
    for (; cell % self->columns != 0; cell++)
        if (self->cells[cell][0] != '\0')
            return false;
    return true;
}

static void print_cells(const report *self, const size_t *widths)
{
    const char *between = self->markdown ? " | " : "  ";
    for (size_t i = 0; i < self->cell_count; i++) {
        const size_t column = i % self->columns;
        if (!self->markdown && column > 0 && ends_row(self, i)) {
            fputc('\n', self->file);
            i += self->columns - column - 1;
            continue;
        }
        fprintf(self->file, "%s%*s",
                column > 0       ? between
                : self->markdown ? "| "
                                 : "",
                (int)widths[column], self->cells[i]);
        if (column + 1 < self->columns)
            continue;
        fputs(self->markdown ? " |\n" : "\n", self->file);
        for (size_t c = 0; self->markdown && i + 1 == self->columns && c < self->columns; c++)
            fputs(c + 1 < self->columns ? "|---:" : "|---:|\n", self->file);
    }
}

static sh_status print_block(report *self)
{
    static const char *const heads[] = {"seconds",   "samples/s", "accuracy %", "CPU %",
                                        "memory MB", "in kB/s",   "out kB/s",   "weights"};
    size_t widths[COLUMNS_MAX];
    for (int i = 0; i < SH_SETTING_COUNT; i++) {
        self->varies[i] = false;
        for (size_t r = 1; i != SH_SETTING_seed && r < self->block_count; r++)
            self->varies[i] |= !are_equal(self->first[0].settings[i], self->first[r].settings[i]);
    }
    self->has_seeds = false;
    for (size_t r = 0; r < self->block_count; r++)
        self->has_seeds |= self->first[r].runs > 1;
    self->cells =
        sh_arena_take(&self->arena, (self->block_count + 1) * COLUMNS_MAX, sizeof *self->cells);
    if (self->cells == NULL)
        return sh_fail_memory(self->block_count * COLUMNS_MAX * sizeof *self->cells, "a report");
    self->cell_count = 0;
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        if (self->varies[i])
            add(self, "%s", sh_setting_name((sh_setting)i));
    if (self->has_seeds)
        add(self, "runs");
    if (self->varies[SH_SETTING_devices])
        add(self, "speed-up");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        add(self, "%s", heads[i]);
    self->columns = self->cell_count;
    for (size_t r = 0; r < self->block_count; r++)
        add_row(self, &self->first[r]);
    for (size_t c = 0; c < self->columns; c++) {
        widths[c] = 3;
        for (size_t i = c; i < self->cell_count; i += self->columns) {
            const size_t length = strlen(self->cells[i]);
            const bool overflows = c + 1 < self->columns && self->cells[i + 1][0] == '\0';
            widths[c] = length > widths[c] && !overflows ? length : widths[c];
        }
    }
    fprintf(self->file, "%s%s%s\n\n", self->markdown ? "**" : "", self->first->block,
            self->markdown ? "**" : "");
    const char *comma = "";
    for (int i = 0; i < SH_SETTING_COUNT; i++) {
        const char *value = self->first->settings[i];
        if (self->varies[i] || value == NULL || i == SH_SETTING_seed)
            continue;
        const bool named = i != SH_SETTING_model && i != SH_SETTING_data;
        fprintf(self->file, "%s%s%s%s", comma, named ? sh_setting_name((sh_setting)i) : "",
                named ? " " : "", value);
        comma = ", ";
    }
    fputs("\n\n", self->file);
    print_cells(self, widths);
    fputc('\n', self->file);
    return SH_OK;
}

sh_status sh_sweep_tables(char **text, const char *folder, bool markdown)
{
    report self = {.markdown = markdown};
    char *made = NULL;
    size_t bytes = 0;
    sh_arena_init(&self.arena);
    sh_status status;
    SH_TRY_DONE(read_folder(&self, folder));
    self.file = open_memstream(&made, &bytes);
    if (self.file == NULL)
        SH_TRY_DONE(sh_fail_memory(0, "a report"));
    for (size_t at = 0; status == SH_OK && at < self.count; at += self.block_count) {
        self.first = &self.rows[at];
        self.block_count = 1;
        while (at + self.block_count < self.count &&
               are_equal(self.first->block, self.first[self.block_count].block))
            self.block_count++;
        status = print_block(&self);
    }
    if (fclose(self.file) != 0 && status == SH_OK)
        status = sh_fail_memory(bytes, "a report");
    if (status == SH_OK)
        *text = made;
    else
        free(made);
done:
    sh_arena_release(&self.arena);
    free(self.rows);
    return status;
}
