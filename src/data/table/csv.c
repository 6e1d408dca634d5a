/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcsv parses bytes and calls back for each field and each row. It is given *pieces*: the bytes
 * up to and including the next CR or LF. A piece ends at most one row, so sh_csv_next can return
 * after each row, and the line number is always known.
 *
 * The fields of a row are concatenated in `text`, each with a terminating zero, at the offsets
 * `starts`. `text` moves when it grows, so pointers are made only for a complete row.
 *
 * Between blanks that are separators, libcsv reports empty fields. CSV_EMPTY_IS_NULL distinguishes
 * these from "", and they are dropped.
 */
#include "data/table/csv.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/extent.h"
#include "data/unpack.h"

#define BUFFER_BYTES 65536
#define LOOK_LINES 20 /* of the first buffer, to find the separator */
#define BLOCK_BYTES 4096

typedef struct csv_calls {
    SH_LIBRARY_CALL(csv_init);
    SH_LIBRARY_CALL(csv_fini);
    SH_LIBRARY_CALL(csv_free);
    SH_LIBRARY_CALL(csv_error);
    SH_LIBRARY_CALL(csv_parse);
    SH_LIBRARY_CALL(csv_set_delim);
    SH_LIBRARY_CALL(csv_set_blk_size);
} csv_calls;

static const sh_library_name call_names[] = {
    SH_LIBRARY_NAME(csv_calls, csv_init),         SH_LIBRARY_NAME(csv_calls, csv_fini),
    SH_LIBRARY_NAME(csv_calls, csv_free),         SH_LIBRARY_NAME(csv_calls, csv_error),
    SH_LIBRARY_NAME(csv_calls, csv_parse),        SH_LIBRARY_NAME(csv_calls, csv_set_delim),
    SH_LIBRARY_NAME(csv_calls, csv_set_blk_size),
};

static sh_library library = SH_LIBRARY("libcsv.so.3", "libcsv3", call_names);

struct sh_csv {
    csv_calls calls;
    struct csv_parser parser;
    bool parsing; /* the parser must be freed */
    char *path;   /* owned */
    int fd;
    bool streams; /* `fd` belongs to the caller */
    char separator;
    uint32_t skip_lines;

    /* `buffer` holds `filled` bytes that end at `offset` of the file. `at` of them are used. */
    uint64_t offset;
    size_t at, filled;
    bool after_cr;
    uint64_t line; /* of the next byte */
    uint64_t row_line;
    uint64_t field_line;
    bool under_way; /* inside a row */

    /* The current row. */
    char *text; /* owned */
    size_t text_bytes, text_capacity;
    size_t *starts; /* owned */
    size_t starts_capacity;
    const char **fields; /* owned */
    size_t fields_capacity;
    size_t count;
    size_t field_bytes; /* passed to the parser since the last field */
    bool ended;         /* the row is complete */
    bool uneven;        /* and its number of fields differs from the first row's */
    bool held;          /* the row after an uneven one is already read and comes next */
    sh_status failure;  /* of a callback */

    sh_csv_row row;
    uint64_t rows;
    size_t expected; /* fields of each row; 0 before the first */
    uint64_t first_line;
    uint8_t buffer[BUFFER_BYTES];
};

/* --- the file --- */

/* Appends the available bytes, or nothing at the end. */
static sh_status receive(sh_csv *csv, size_t *got)
{
    ssize_t more;
    do
        more = read(csv->fd, csv->buffer + *got, BUFFER_BYTES - *got);
    while (more < 0 && errno == EINTR);
    if (more < 0)
        return sh_fail_errno(errno, "%s: cannot be read", csv->path);
    *got += (size_t)more;
    return SH_OK;
}

/* The first time, reads at least a whole line, as far as it fits. */
static sh_status fill_from_stream(sh_csv *csv)
{
    const bool first = csv->offset == 0;
    size_t got = 0, before;
    do {
        before = got;
        SH_TRY(receive(csv, &got));
    } while (first && got > before && got < BUFFER_BYTES &&
             memchr(csv->buffer + before, '\n', got - before) == NULL);
    csv->offset += got;
    csv->filled = got;
    csv->at = 0;
    return SH_OK;
}

static sh_status fill(sh_csv *csv)
{
    size_t got;
    if (csv->streams)
        return fill_from_stream(csv);
    SH_TRY(sh_fail_in(sh_extent_read(&got, csv->fd, csv->offset, csv->buffer, BUFFER_BYTES), "%s",
                      csv->path));
    csv->offset += got;
    csv->filled = got;
    csv->at = 0;
    return SH_OK;
}

/* CR LF counts once. */
static void count_line(sh_csv *csv, uint8_t last)
{
    csv->line += last == '\r' || (last == '\n' && !csv->after_cr);
    csv->after_cr = last == '\r';
}

/*
 * The bytes up to and including one that ends a line, or to the end of the buffer or file. `*count`
 * is 0 at the end of the file.
 */
static sh_status next_piece(sh_csv *csv, const uint8_t **piece, size_t *count)
{
    if (csv->at == csv->filled)
        SH_TRY(fill(csv));
    *piece = csv->buffer + csv->at;
    const size_t left = csv->filled - csv->at;
    size_t length = 0;
    while (length < left && (*piece)[length] != '\n' && (*piece)[length] != '\r')
        length++;
    length += length < left;
    csv->at += length;
    *count = length;
    return SH_OK;
}

static sh_status skip_start(sh_csv *csv)
{
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    SH_TRY(fill(csv));
    const uint8_t *bytes = csv->buffer;
    if (csv->filled >= 2 &&
        ((bytes[0] == 0xff && bytes[1] == 0xfe) || (bytes[0] == 0xfe && bytes[1] == 0xff)))
        return sh_fail(SH_FORMAT, "%s: is UTF-16 text; save it as UTF-8", csv->path);
    if (csv->filled >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return sh_fail(SH_FORMAT,
                       "%s: is a ZIP archive, as spreadsheets (.xlsx, .ods) are; save the table as "
                       "CSV in UTF-8",
                       csv->path);
    if (csv->filled >= sizeof mark && memcmp(bytes, mark, sizeof mark) == 0)
        csv->at = sizeof mark;
    while (csv->line <= csv->skip_lines) {
        const uint8_t *piece;
        size_t count;
        SH_TRY(next_piece(csv, &piece, &count));
        if (count == 0)
            break;
        count_line(csv, piece[count - 1]);
    }
    if (csv->after_cr && csv->at == csv->filled)
        SH_TRY(fill(csv));
    if (csv->after_cr && csv->at < csv->filled && csv->buffer[csv->at] == '\n')
        csv->at++; /* LF of the CR LF that ends the last skipped line */
    if (csv->at == csv->filled)
        SH_TRY(fill(csv));
    if (csv->filled == 0)
        return csv->skip_lines == 0
                   ? sh_fail(SH_FORMAT, "%s: is empty", csv->path)
                   : sh_fail(SH_FORMAT,
                             "%s: has nothing after the %u lines that --skip-lines skips",
                             csv->path, csv->skip_lines);
    return SH_OK;
}

/* --- the separator --- */

/* Ties go to the first. The comma comes late, since it may be a decimal point; the blank is last,
 * since it separates words. */
static const char separators[] = {'\t', ';', '|', ',', ' '};
#define SEPARATORS (sizeof separators)

/* Counts only outside of quotes. Returns the length of the line. */
static size_t count_separators(const uint8_t *text, size_t bytes, uint32_t counts[SEPARATORS])
{
    bool quoted = false, blank = true; /* ignore leading blanks */
    size_t i = 0;
    for (; i < bytes && (quoted || (text[i] != '\n' && text[i] != '\r')); i++) {
        quoted ^= text[i] == '"';
        if (quoted) {
            blank = false;
            continue;
        }
        for (size_t k = 0; k + 1 < SEPARATORS; k++)
            counts[k] += text[i] == (uint8_t)separators[k];
        if (text[i] == ' ') {
            counts[SEPARATORS - 1] += !blank;
            blank = true;
        } else {
            blank = false;
        }
    }
    if (blank && counts[SEPARATORS - 1] > 0)
        counts[SEPARATORS - 1]--; /* ignore trailing blanks */
    return i;
}

/* Returns the separator that occurs equally often in the most lines. */
static char find_separator(const uint8_t *text, size_t bytes)
{
    uint32_t counts[LOOK_LINES][SEPARATORS] = {{0}};
    size_t lines = 0;
    for (size_t at = 0; at < bytes && lines < LOOK_LINES;) {
        const size_t length = count_separators(text + at, bytes - at, counts[lines]);
        lines += length > 0 && (at + length < bytes || lines == 0); /* not a truncated one */
        at += length + 1;
    }
    char best = ',';
    size_t best_lines = 0;
    for (size_t k = 0; k < SEPARATORS; k++)
        for (size_t i = 0; i < lines; i++) {
            size_t equal = 0;
            for (size_t j = 0; j < lines; j++)
                equal += counts[j][k] == counts[i][k];
            if (separators[k] == ' ' && 2 * equal <= lines) /* probably words */
                continue;
            if (counts[i][k] > 0 && equal > best_lines) {
                best_lines = equal;
                best = separators[k];
            }
        }
    return best;
}

/* --- fields and rows --- */

static sh_status check_text(const sh_csv *csv, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        uint32_t point;
        const size_t length = sh_utf8_read((const unsigned char *)at, &point);
        if (length == 0)
            return sh_fail(SH_FORMAT,
                           "%s: line %" PRIu64
                           ", field %zu: byte 0x%02x is not UTF-8; save the file as UTF-8",
                           csv->path, csv->field_line, csv->count + 1, (unsigned char)*at);
        at += length;
    }
    return SH_OK;
}

static sh_status add_field(sh_csv *csv, const char *text, size_t bytes)
{
    if (csv->count == SH_CSV_FIELDS_MOST)
        return sh_fail(SH_LIMIT, "%s: line %" PRIu64 " has more than %d fields", csv->path,
                       csv->row_line, SH_CSV_FIELDS_MOST);
    if (bytes > SH_CSV_FIELD_MOST)
        return sh_fail(SH_LIMIT, "%s: line %" PRIu64 ", field %zu: is longer than %u bytes",
                       csv->path, csv->field_line, csv->count + 1, SH_CSV_FIELD_MOST);
    if (csv->text_bytes + bytes >= SH_CSV_ROW_MOST)
        return sh_fail(SH_LIMIT, "%s: line %" PRIu64 " is longer than %u bytes", csv->path,
                       csv->row_line, SH_CSV_ROW_MOST);
    SH_TRY(sh_array_grow((void **)&csv->text, &csv->text_capacity, csv->text_bytes + bytes + 1, 1));
    SH_TRY(sh_array_grow((void **)&csv->starts, &csv->starts_capacity, csv->count + 1,
                         sizeof *csv->starts));
    char *copy = csv->text + csv->text_bytes;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    SH_TRY(check_text(csv, copy));
    csv->starts[csv->count++] = csv->text_bytes;
    csv->text_bytes += bytes + 1;
    return SH_OK;
}

static void on_field(void *text, size_t bytes, void *context)
{
    sh_csv *csv = context;
    if (csv->failure == SH_OK && (text != NULL || csv->separator != ' '))
        csv->failure = add_field(csv, text == NULL ? "" : text, text == NULL ? 0 : bytes);
    csv->field_line = csv->line;
    csv->field_bytes = 0;
}

static void on_row(int end, void *context)
{
    (void)end;
    sh_csv *csv = context;
    csv->ended = true;
}

static sh_status refuse(sh_csv *csv)
{
    if (csv->calls.csv_error(&csv->parser) != CSV_EPARSE)
        return sh_fail_memory(csv->field_bytes, "a field of a table");
    if (csv->field_line != csv->line)
        return sh_fail(SH_FORMAT,
                       "%s: line %" PRIu64
                       ", field %zu: its quote is not closed before line %" PRIu64
                       "; close it, and double the quotes inside the text",
                       csv->path, csv->field_line, csv->count + 1, csv->line);
    return sh_fail(SH_FORMAT,
                   "%s: line %" PRIu64 ", field %zu: has a quote inside; put the field in quotes "
                   "and double the one inside, as in \"5\"\" pipe\"",
                   csv->path, csv->line, csv->count + 1);
}

static bool is_blank(const uint8_t *piece, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (piece[i] != ' ' && piece[i] != '\t' && piece[i] != '\r' && piece[i] != '\n')
            return false;
    return true;
}

static sh_status parse(sh_csv *csv, const uint8_t *piece, size_t count)
{
    if (memchr(piece, '\0', count) != NULL)
        return sh_fail(SH_FORMAT,
                       "%s: line %" PRIu64
                       " holds a zero byte: it is not text in UTF-8; save it as UTF-8",
                       csv->path, csv->line);
    if (!csv->under_way) {
        csv->row_line = csv->field_line = csv->line;
        csv->field_bytes = 0;
    }
    csv->field_bytes += count;
    const size_t used = csv->calls.csv_parse(&csv->parser, piece, count, on_field, on_row, csv);
    SH_TRY(csv->failure);
    if (used != count)
        return refuse(csv);
    if (csv->field_bytes > SH_CSV_FIELD_MOST)
        return sh_fail(SH_LIMIT,
                       "%s: line %" PRIu64 ", field %zu: is longer than %u bytes; is a quote not "
                       "closed?",
                       csv->path, csv->field_line, csv->count + 1, SH_CSV_FIELD_MOST);
    csv->under_way = !csv->ended && (csv->under_way || !is_blank(piece, count));
    count_line(csv, piece[count - 1]);
    return SH_OK;
}

/* The last row may lack a line end. */
static sh_status finish(sh_csv *csv)
{
    if (csv->calls.csv_fini(&csv->parser, on_field, on_row, csv) != 0)
        return sh_fail(SH_FORMAT,
                       "%s: line %" PRIu64 ", field %zu: its quote is not closed before the end of "
                       "the file",
                       csv->path, csv->field_line, csv->count + 1);
    return csv->failure;
}

/* csv->count is 0 at the end of the file. */
static sh_status read_row(sh_csv *csv)
{
    csv->count = csv->text_bytes = 0;
    for (bool over = false; csv->count == 0 && !over;) {
        const uint8_t *piece;
        size_t count;
        csv->ended = csv->under_way = false;
        do {
            SH_TRY(next_piece(csv, &piece, &count));
            over = count == 0;
            SH_TRY(over ? finish(csv) : parse(csv, piece, count));
        } while (!over && !csv->ended);
    }
    return SH_OK;
}

/* The second row differs from the first. If the third agrees with it, the first is probably a
 * title. */
static sh_status refuse_second(sh_csv *csv)
{
    const size_t first = csv->expected, second = csv->count;
    const uint64_t first_line = csv->first_line, line = csv->row_line;
    csv->held = read_row(csv) == SH_OK && csv->count != second;
    csv->uneven = csv->held;
    if (!csv->held && csv->count == second)
        return sh_fail(
            SH_FORMAT,
            "%s: line %" PRIu64
            " has %zu fields and those after it have %zu; if the table begins with line %" PRIu64
            ", write --skip-lines %" PRIu64,
            csv->path, first_line, first, second, line, line - 1);
    return sh_fail(SH_FORMAT, "%s: line %" PRIu64 " has %zu fields, but line %" PRIu64 " has %zu",
                   csv->path, line, second, first_line, first);
}

static sh_status complete(sh_csv *csv)
{
    if (csv->expected == 0) {
        csv->expected = csv->count;
        csv->first_line = csv->row_line;
    }
    csv->uneven = csv->count != csv->expected;
    if (csv->uneven)
        return csv->rows == 1 && !csv->streams
                   ? refuse_second(csv)
                   : sh_fail(SH_FORMAT,
                             "%s: line %" PRIu64
                             " has %zu fields, but the lines before it have %zu; fix or remove it",
                             csv->path, csv->row_line, csv->count, csv->expected);
    if (csv->rows == SH_CSV_ROWS_MOST)
        return sh_fail(SH_LIMIT, "%s: has more than %u rows", csv->path, SH_CSV_ROWS_MOST);
    SH_TRY(sh_array_grow((void **)&csv->fields, &csv->fields_capacity, csv->count,
                         sizeof *csv->fields));
    for (size_t i = 0; i < csv->count; i++)
        csv->fields[i] = csv->text + csv->starts[i];
    csv->rows++;
    return SH_OK;
}

bool sh_csv_goes_on(const sh_csv *csv)
{
    return csv->uneven;
}

sh_status sh_csv_next(sh_csv *csv, const sh_csv_row **row)
{
    if (!csv->held)
        SH_TRY(read_row(csv));
    csv->held = csv->uneven = false;
    if (csv->count == 0) {
        *row = NULL;
        return SH_OK;
    }
    SH_TRY(complete(csv));
    csv->row = (sh_csv_row){csv->fields, csv->count, csv->row_line};
    *row = &csv->row;
    return SH_OK;
}

/* --- opening and closing --- */

const char *sh_csv_path(const sh_csv *csv)
{
    return csv->path;
}

sh_status sh_csv_rewind(sh_csv *csv)
{
    if (csv->parsing)
        csv->calls.csv_free(&csv->parser);
    csv->parsing =
        csv->calls.csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL) == 0;
    if (!csv->parsing)
        return sh_fail(SH_INTERNAL, "libcsv does not start");
    csv->calls.csv_set_blk_size(&csv->parser, BLOCK_BYTES);
    csv->offset = csv->rows = 0;
    csv->at = csv->filled = csv->expected = csv->field_bytes = 0;
    csv->after_cr = csv->uneven = csv->held = false;
    csv->line = 1;
    csv->failure = SH_OK;
    SH_TRY(skip_start(csv));
    if (csv->separator == '\0')
        csv->separator = find_separator(csv->buffer + csv->at, csv->filled - csv->at);
    csv->calls.csv_set_delim(&csv->parser, (unsigned char)csv->separator);
    return SH_OK;
}

static sh_status open_file(sh_csv *csv)
{
    struct stat about;
    uint8_t magic[2];
    size_t got;
    csv->fd = open(csv->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* must not block on a pipe */
    if (csv->fd < 0 || fstat(csv->fd, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot open the table", csv->path);
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_INVALID, "%s: is not a regular file; name the file that holds the table",
                       csv->path);
    SH_TRY(sh_fail_in(sh_extent_read(&got, csv->fd, 0, magic, sizeof magic), "%s", csv->path));
    if (got < sizeof magic || magic[0] != 0x1f || magic[1] != 0x8b)
        return SH_OK;
    close(csv->fd);
    csv->fd = -1;
    return sh_unpack_open(&csv->fd, csv->path, SH_CSV_UNPACKED_MOST);
}

sh_status sh_csv_open(sh_csv **csv, const char *path, uint32_t skip_lines)
{
    sh_csv *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "reading a table");
    sh_status status;
    fresh->fd = -1;
    fresh->skip_lines = skip_lines;
    fresh->path = strdup(path);
    if (fresh->path == NULL) {
        status = sh_fail_memory(strlen(path) + 1, "the name of a table");
        goto done;
    }
    SH_TRY_DONE(sh_library_load(&fresh->calls, &library));
    SH_TRY_DONE(open_file(fresh));
    SH_TRY_DONE(sh_csv_rewind(fresh));
    *csv = fresh;
    fresh = NULL;
done:
    sh_csv_close(fresh);
    return status;
}

sh_status sh_csv_open_stream(sh_csv **csv, int fd, const char *name)
{
    sh_csv *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "reading a table");
    sh_status status;
    fresh->fd = fd;
    fresh->streams = true;
    fresh->path = strdup(name);
    if (fresh->path == NULL) {
        status = sh_fail_memory(strlen(name) + 1, "the name of a table");
        goto done;
    }
    SH_TRY_DONE(sh_library_load(&fresh->calls, &library));
    SH_TRY_DONE(sh_csv_rewind(fresh)); /* initialises only; does not seek */
    *csv = fresh;
    fresh = NULL;
done:
    sh_csv_close(fresh);
    return status;
}

sh_status sh_csv_digest(const sh_csv *csv, char hex[SH_DIGEST_TEXT])
{
    sh_digest *digest;
    uint8_t bytes[BUFFER_BYTES / 4];
    sh_status status = SH_OK;
    size_t got = sizeof bytes;
    SH_TRY(sh_digest_new(&digest));
    for (uint64_t offset = 0; status == SH_OK && got == sizeof bytes; offset += got) {
        status = sh_extent_read(&got, csv->fd, offset, bytes, sizeof bytes);
        if (status == SH_OK)
            sh_digest_add(digest, bytes, got);
    }
    const sh_status end = sh_digest_finish(digest, hex);
    SH_TRY(sh_fail_in(status, "%s", csv->path));
    return end;
}

void sh_csv_close(sh_csv *csv)
{
    if (csv == NULL)
        return;
    if (csv->parsing)
        csv->calls.csv_free(&csv->parser);
    if (csv->fd >= 0 && !csv->streams)
        close(csv->fd);
    free(csv->path);
    free(csv->text);
    free(csv->starts);
    free(csv->fields);
    free(csv);
}
