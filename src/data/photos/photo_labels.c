/* SPDX-License-Identifier: Apache-2.0 */
/* libcsv gets one line at a time, so that a row's line number is known even if fields span lines.
 * Its callbacks cannot return errors; they store the status, which stops the parsing. */
#include "data/photos/photo_labels.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library.h"
#include "base/utf8.h"
#include "data/extent.h"
#include "data/photos/label_text.h"

#define VALUES_MOST (1u << 28)
#define SHOWN_BYTES 128 /* of a cell in a message */

typedef struct csv_calls {
    SH_LIBRARY_CALL(csv_init);
    SH_LIBRARY_CALL(csv_set_delim);
    SH_LIBRARY_CALL(csv_parse);
    SH_LIBRARY_CALL(csv_fini);
    SH_LIBRARY_CALL(csv_free);
    SH_LIBRARY_CALL(csv_error);
    SH_LIBRARY_CALL(csv_strerror);
} csv_calls;

#define NAME(call) SH_LIBRARY_NAME(csv_calls, call)
static const sh_library_name call_names[] = {
    NAME(csv_init), NAME(csv_set_delim), NAME(csv_parse),   NAME(csv_fini),
    NAME(csv_free), NAME(csv_error),     NAME(csv_strerror)};
#undef NAME

static sh_library library = SH_LIBRARY("libcsv.so.3", "libcsv3", call_names);

typedef struct row {
    const char *file;   /* path below the folder */
    const char *source; /* name of the CSV file */
    uint32_t line;
    const char **cells; /* [label_count] */
} row;

struct sh_photo_labels {
    const char *columns; /* label columns, or ""; borrowed */
    sh_arena arena;
    const char **header;
    size_t header_count;
    size_t file_column;
    size_t *label_columns;
    size_t label_count;
    row *rows; /* owned */
    size_t count, capacity;
};

typedef struct reading {
    sh_photo_labels *labels;
    const char *name, *below;
    uint32_t line;       /* from 1 */
    bool is_first;       /* the header is not read yet */
    const char **fields; /* of the current row; owned */
    size_t count, capacity;
    sh_status status;
} reading;

static sh_status fail_arena(void)
{
    return sh_fail_memory(0, "the labels of photos");
}

/* --- rows --- */

static size_t find_column(const char **fields, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(fields[i]) == length && memcmp(fields[i], name, length) == 0)
            return i;
    return count;
}

static sh_status take_columns(sh_photo_labels *labels, const char *name)
{
    for (const char *at = labels->columns; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        const size_t column = find_column(labels->header, labels->header_count, at, length);
        if (column == labels->header_count || column == labels->file_column)
            return sh_fail(SH_INVALID, "--target: %s has no column of labels called '%.*s'", name,
                           (int)length, at);
        if (labels->label_count == labels->header_count)
            return sh_fail(SH_INVALID, "--target: names a column of %s twice", name);
        labels->label_columns[labels->label_count++] = column;
        at += length + (at[length] == ',');
    }
    return SH_OK;
}

static sh_status take_header(reading *r)
{
    static const char *const names[] = {"file_name", "filename", "image", "file", "path"};
    sh_photo_labels *labels = r->labels;
    const size_t count = r->count;
    if (labels->header != NULL) {
        for (size_t i = 0; i < count || i < labels->header_count; i++)
            if (count != labels->header_count || strcmp(labels->header[i], r->fields[i]) != 0)
                return sh_fail(SH_FORMAT, "%s:%u: its columns differ from those of earlier labels",
                               r->name, r->line);
        return SH_OK;
    }
    labels->file_column = count;
    for (size_t i = 0; i < sizeof names / sizeof *names && labels->file_column == count; i++)
        labels->file_column = find_column(r->fields, count, names[i], strlen(names[i]));
    if (labels->file_column == count)
        return sh_fail(SH_FORMAT,
                       "%s:%u: the header has no column file_name (or filename, image, "
                       "file, path)",
                       r->name, r->line);
    labels->header = sh_arena_take(&labels->arena, count, sizeof *labels->header);
    labels->label_columns = sh_arena_take(&labels->arena, count, sizeof *labels->label_columns);
    if (labels->header == NULL || labels->label_columns == NULL)
        return fail_arena();
    memcpy(labels->header, r->fields, count * sizeof *labels->header);
    labels->header_count = count;
    if (labels->columns[0] != '\0')
        return take_columns(labels, r->name);
    for (size_t i = 0; i < count; i++)
        if (i != labels->file_column)
            labels->label_columns[labels->label_count++] = i;
    return labels->label_count > 0
               ? SH_OK
               : sh_fail(SH_FORMAT, "%s:%u: the header has no column of labels beside %s", r->name,
                         r->line, labels->header[labels->file_column]);
}

static const char *path_of(reading *r, const char *file)
{
    while (strncmp(file, "./", 2) == 0)
        file += 2;
    if (r->below[0] == '\0')
        return file;
    const size_t below = strlen(r->below), length = strlen(file);
    char *path = sh_arena_take(&r->labels->arena, below + length + 2, 1);
    if (path != NULL) {
        memcpy(path, r->below, below);
        path[below] = '/';
        memcpy(path + below + 1, file, length + 1);
    }
    return path;
}

static sh_status take_row(reading *r)
{
    sh_photo_labels *labels = r->labels;
    if (r->is_first) {
        r->is_first = false;
        return take_header(r);
    }
    if (r->count != labels->header_count)
        return sh_fail(SH_FORMAT,
                       "%s:%u: has %zu fields, but the header %zu; quote fields that "
                       "hold the separator",
                       r->name, r->line, r->count, labels->header_count);
    SH_TRY(sh_array_grow((void **)&labels->rows, &labels->capacity, labels->count + 1,
                         sizeof *labels->rows));
    row *fresh = &labels->rows[labels->count];
    *fresh =
        (row){.file = path_of(r, r->fields[labels->file_column]),
              .source = r->name,
              .line = r->line,
              .cells = sh_arena_take(&labels->arena, labels->label_count, sizeof *fresh->cells)};
    if (fresh->file == NULL || fresh->cells == NULL)
        return fail_arena();
    for (size_t i = 0; i < labels->label_count; i++)
        fresh->cells[i] = r->fields[labels->label_columns[i]];
    labels->count++;
    return labels->count < UINT32_MAX ? SH_OK : sh_fail(SH_LIMIT, "%s: has too many rows", r->name);
}

static sh_status keep_field(reading *r, const char *text, size_t bytes)
{
    if (r->count == SH_PHOTO_COLUMNS_MOST)
        return sh_fail(SH_LIMIT, "%s:%u: has more than %d columns", r->name, r->line,
                       SH_PHOTO_COLUMNS_MOST);
    if (bytes > 0 && memchr(text, '\0', bytes) != NULL)
        return sh_fail(SH_FORMAT, "%s:%u: holds a zero byte; save it as UTF-8", r->name, r->line);
    char *copy = sh_arena_take(&r->labels->arena, bytes + 1, 1);
    if (copy == NULL)
        return fail_arena();
    if (bytes > 0)
        memcpy(copy, text, bytes);
    SH_TRY(sh_array_grow((void **)&r->fields, &r->capacity, r->count + 1, sizeof *r->fields));
    r->fields[r->count++] = copy;
    return SH_OK;
}

static void on_field(void *text, size_t bytes, void *context)
{
    reading *r = context;
    if (r->status == SH_OK)
        r->status = keep_field(r, text, bytes);
}

static void on_row(int end, void *context)
{
    (void)end;
    reading *r = context;
    if (r->status == SH_OK)
        r->status = take_row(r);
    r->count = 0;
}

/* --- files --- */

/* Returns the first of comma, semicolon and tab in the first line; else comma. */
static unsigned char separator_of(const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);
    const size_t line = end == NULL ? count : (size_t)(end - bytes);
    static const char separators[] = {',', ';', '\t'};
    for (size_t i = 0; i < sizeof separators; i++)
        if (memchr(bytes, separators[i], line) != NULL)
            return (unsigned char)separators[i];
    return ',';
}

static sh_status parse_lines(reading *r, const csv_calls *calls, struct csv_parser *parser,
                             const char *bytes, size_t count)
{
    for (size_t at = 0; at < count && r->status == SH_OK; r->line++) {
        const char *end = memchr(bytes + at, '\n', count - at);
        const size_t length = end == NULL ? count - at : (size_t)(end - bytes) - at + 1;
        if (calls->csv_parse(parser, bytes + at, length, on_field, on_row, r) != length &&
            r->status == SH_OK)
            return sh_fail(SH_FORMAT,
                           "%s:%u: a quote is inside a field; double it, and quote the field",
                           r->name, r->line);
        at += length;
    }
    SH_TRY(r->status);
    r->line -= r->line > 1; /* a last row without a newline ends in the last line */
    if (calls->csv_fini(parser, on_field, on_row, r) != 0)
        return sh_fail(SH_FORMAT, "%s: a quote is never closed", r->name);
    SH_TRY(r->status);
    return r->is_first ? sh_fail(SH_FORMAT, "%s: has no header and no rows", r->name) : SH_OK;
}

sh_status sh_photo_labels_parse(sh_photo_labels *labels, const char *name, const char *below,
                                const char *bytes, size_t count)
{
    csv_calls calls;
    struct csv_parser parser;
    SH_TRY(sh_library_load(&calls, &library));
    reading r = {.labels = labels, .below = below, .line = 1, .is_first = true, .status = SH_OK};
    r.name = sh_arena_text(&labels->arena, name);
    if (r.name == NULL || calls.csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return fail_arena();
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        count -= 3;
    }
    calls.csv_set_delim(&parser, separator_of(bytes, count));
    const sh_status status = parse_lines(&r, &calls, &parser, bytes, count);
    calls.csv_free(&parser);
    free(r.fields);
    return status;
}

sh_status sh_photo_labels_read(sh_photo_labels *labels, const char *folder, const char *name,
                               const char *below)
{
    char path[SH_PHOTO_PATH];
    struct stat about;
    size_t got = 0;
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return sh_fail(SH_LIMIT, "%s: the path is too long", name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sh_fail_errno(errno, "%s: cannot be opened", path);
    sh_status status = SH_OK;
    char *bytes = NULL;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_size > (off_t)SH_PHOTO_LABELS_BYTES)
        SH_TRY_DONE(sh_fail(SH_INVALID, "%s: is not a regular file of at most %u MB", path,
                            SH_PHOTO_LABELS_BYTES >> 20));
    bytes = malloc((size_t)about.st_size + 1);
    if (bytes == NULL)
        SH_TRY_DONE(sh_fail_memory((size_t)about.st_size, "the labels of photos"));
    SH_TRY_DONE(sh_extent_read(&got, fd, 0, (uint8_t *)bytes, (size_t)about.st_size));
    status = sh_fail_in(sh_photo_labels_parse(labels, name, below, bytes, got), "%s", folder);
done:
    free(bytes);
    close(fd);
    return status;
}

/* --- matching --- */

static int by_name(const void *key, const void *item)
{
    return strcmp(key, ((const sh_photo_file *)item)->name);
}

void sh_photo_labels_match(const sh_photo_labels *labels, sh_photo_files *files,
                           sh_diagnostics *bad)
{
    for (size_t i = 0; i < files->count; i++)
        files->items[i].label = UINT32_MAX;
    for (size_t i = 0; i < labels->count; i++) {
        const row *each = &labels->rows[i];
        sh_photo_file *file = files->count == 0 ? NULL
                                                : bsearch(each->file, files->items, files->count,
                                                          sizeof *files->items, by_name);
        if (file == NULL)
            sh_diagnostics_add(bad, "%s:%u: there is no photo %s", each->source, each->line,
                               each->file);
        else if (file->label != UINT32_MAX)
            sh_diagnostics_add(bad, "%s:%u: %s has labels already in line %u", each->source,
                               each->line, each->file, labels->rows[file->label].line);
        else
            file->label = (uint32_t)i;
    }
    for (size_t i = 0; i < files->count; i++)
        if (files->items[i].label == UINT32_MAX)
            sh_diagnostics_add(bad, "%s has no labels: no row of the CSV file names it",
                               files->items[i].name);
}

/* --- targets --- */

static sh_status fail_cell(const row *r, const char *cell, const char *what)
{
    char clean[SHOWN_BYTES];
    return sh_fail(SH_FORMAT, "%s:%u: '%s' %s", r->source, r->line,
                   sh_utf8_clean(clean, sizeof clean, cell), what);
}

static sh_label_kind kind_of(const sh_photo_labels *labels)
{
    sh_label_kind widest = SH_LABEL_EMPTY;
    for (size_t i = 0; i < labels->count; i++)
        for (size_t c = 0; c < labels->label_count; c++) {
            const sh_label_kind kind = sh_label_kind_of(labels->rows[i].cells[c]);
            widest = kind > widest ? kind : widest;
        }
    return widest;
}

static sh_target choose(const sh_photo_labels *labels, sh_label_kind kind)
{
    if (kind == SH_LABEL_LIST)
        return SH_TARGET_LABELS;
    if (labels->label_count == 1)
        return kind == SH_LABEL_NUMBER ? SH_TARGET_NUMBERS : SH_TARGET_CLASS;
    return kind == SH_LABEL_WORD || kind <= SH_LABEL_BIT ? SH_TARGET_LABELS : SH_TARGET_NUMBERS;
}

static sh_status make_classes(sh_photo_targets *t, const sh_photo_labels *labels,
                              const sh_label_names *names)
{
    t->outputs = (uint32_t)names->count;
    t->classes = malloc((labels->count + 1) * sizeof *t->classes);
    if (t->classes == NULL)
        return fail_arena();
    for (size_t i = 0; i < labels->count; i++) {
        const char *cell = labels->rows[i].cells[0];
        if (cell[0] == '\0')
            return fail_cell(&labels->rows[i], labels->rows[i].file, "has no class");
        t->classes[i] = sh_label_names_find(names, cell, strlen(cell));
    }
    return names->count >= 2
               ? SH_OK
               : sh_fail(SH_INVALID, "there is only one class; classification needs two or more");
}

static sh_status check_values(const sh_photo_labels *labels, size_t count)
{
    if (count == 0)
        return sh_fail(SH_INVALID, "no photo has a label");
    if (count > SH_LABEL_NAMES_MOST || labels->count > VALUES_MOST / count)
        return sh_fail(SH_LIMIT, "%zu labels of %zu photos are too many", count, labels->count);
    return SH_OK;
}

static sh_status make_labels(sh_photo_targets *t, const sh_photo_labels *labels,
                             const sh_label_names *names)
{
    SH_TRY(check_values(labels, names->count));
    t->outputs = (uint32_t)names->count;
    t->labels = calloc(labels->count * names->count + 1, sizeof *t->labels);
    if (t->labels == NULL)
        return fail_arena();
    for (size_t i = 0; i < labels->count; i++)
        for (size_t c = 0; c < labels->label_count; c++) {
            const char *at = labels->rows[i].cells[c];
            for (size_t length; sh_label_next(&at, &length); at += length)
                t->labels[i * names->count + sh_label_names_find(names, at, length)] = 1;
        }
    return SH_OK;
}

/* If `bits`, values are labels, 0 or 1; an empty cell is 0. */
static sh_status make_numbers(sh_photo_targets *t, const sh_photo_labels *labels, bool bits)
{
    const size_t count = labels->label_count;
    SH_TRY(check_values(labels, count));
    t->outputs = (uint32_t)count;
    t->numbers = bits ? NULL : calloc(labels->count * count + 1, sizeof *t->numbers);
    t->labels = bits ? calloc(labels->count * count + 1, sizeof *t->labels) : NULL;
    if (t->numbers == NULL && t->labels == NULL)
        return fail_arena();
    for (size_t i = 0; i < labels->count; i++)
        for (size_t c = 0; c < count; c++) {
            const char *cell = labels->rows[i].cells[c];
            double number = 0;
            if (!sh_label_number(&number, cell) && !(bits && cell[0] == '\0'))
                return fail_cell(&labels->rows[i], cell, "is not a number, which regression needs");
            if (bits)
                t->labels[i * count + c] = (float)number;
            else
                t->numbers[i * count + c] = number;
        }
    return SH_OK;
}

static sh_status gather(sh_label_names *names, const sh_photo_labels *labels, bool lists)
{
    for (size_t i = 0; i < labels->count; i++)
        for (size_t c = 0; c < labels->label_count; c++) {
            const char *at = labels->rows[i].cells[c];
            size_t length = strlen(at);
            if (!lists && length > 0)
                SH_TRY(sh_label_names_add(names, at, length));
            for (; lists && sh_label_next(&at, &length); at += length)
                SH_TRY(sh_label_names_add(names, at, length));
        }
    sh_label_names_sort(names);
    return SH_OK;
}

static sh_status make(sh_photo_targets *t, const sh_photo_labels *labels, sh_label_names *names,
                      bool bits)
{
    const bool words = t->target == SH_TARGET_CLASS || (t->target == SH_TARGET_LABELS && !bits);
    if (words) {
        SH_TRY(gather(names, labels, t->target == SH_TARGET_LABELS));
        SH_TRY(t->target == SH_TARGET_CLASS ? make_classes(t, labels, names)
                                            : make_labels(t, labels, names));
    } else {
        SH_TRY(make_numbers(t, labels, bits));
    }
    t->names = json_array();
    for (size_t i = 0; i < t->outputs; i++) {
        char clean[512];
        const char *name = words ? names->texts[i] : labels->header[labels->label_columns[i]];
        if (json_array_append_new(t->names,
                                  json_string(sh_utf8_clean(clean, sizeof clean, name))) != 0)
            return fail_arena();
    }
    return SH_OK;
}

sh_status sh_photo_labels_decide(sh_photo_targets *targets, const sh_photo_labels *labels,
                                 const char *task)
{
    const sh_label_kind kind = kind_of(labels);
    sh_photo_targets fresh = {.target = choose(labels, kind)};
    if (task[0] != '\0' && !sh_target_find(&fresh.target, task))
        return sh_fail(SH_INVALID, "--task %s: no such task", task);
    if (fresh.target == SH_TARGET_CLASS && labels->label_count > 1)
        return sh_fail(SH_INVALID,
                       "classification needs one column of labels, but there are %zu; choose one "
                       "with --target",
                       labels->label_count);
    const bool bits =
        fresh.target == SH_TARGET_LABELS && kind <= SH_LABEL_BIT && labels->label_count > 1;
    sh_label_names names;
    sh_label_names_init(&names);
    const sh_status status = make(&fresh, labels, &names, bits);
    sh_label_names_release(&names);
    if (status == SH_OK)
        *targets = fresh;
    else
        sh_photo_targets_release(&fresh);
    return status;
}

void sh_photo_targets_release(sh_photo_targets *targets)
{
    free(targets->classes);
    free(targets->labels);
    free(targets->numbers);
    json_decref(targets->names);
    *targets = (sh_photo_targets){0};
}

/* --- the table --- */

sh_status sh_photo_labels_new(sh_photo_labels **labels, const char *columns)
{
    sh_photo_labels *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return fail_arena();
    fresh->columns = columns;
    sh_arena_init(&fresh->arena);
    *labels = fresh;
    return SH_OK;
}

size_t sh_photo_labels_rows(const sh_photo_labels *labels)
{
    return labels->count;
}

void sh_photo_labels_free(sh_photo_labels *labels)
{
    if (labels == NULL)
        return;
    sh_arena_release(&labels->arena);
    free(labels->rows);
    free(labels);
}
