/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/report_json.h"

/* Writes nothing for an unknown name. */
static sh_status write_asset(FILE *file, const char *name)
{
    enum { GZIP = 16 };
    const sh_asset *asset = sh_assets;
    while (asset->name != NULL && strcmp(asset->name, name) != 0)
        asset++;
    if (asset->name == NULL)
        return SH_OK;
    unsigned char chunk[16384];
    z_stream stream = {.next_in = (z_const Bytef *)asset->packed, .avail_in = asset->bytes};
    int code = inflateInit2(&stream, MAX_WBITS + GZIP);
    while (code == Z_OK) {
        stream.next_out = chunk;
        stream.avail_out = sizeof chunk;
        code = inflate(&stream, Z_NO_FLUSH);
        fwrite(chunk, 1, sizeof chunk - stream.avail_out, file);
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END ? SH_OK : sh_fail_memory(sizeof chunk, "a page");
}

static sh_status fill_one(FILE *file, const char *name, const sh_page_part *parts,
                          const void *context)
{
    while (parts->name != NULL && strcmp(parts->name, name) != 0)
        parts++;
    if (parts->name == NULL)
        return write_asset(file, name);
    return parts->write != NULL ? parts->write(file, context) : SH_OK;
}

sh_status sh_page_fill(FILE *file, const char *template, const sh_page_part *parts,
                       const void *context)
{
    char *text = NULL, name[32];
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory == NULL)
        return sh_fail_memory(bytes, "a page");
    sh_status status = write_asset(memory, template);
    if (fclose(memory) != 0 && status == SH_OK)
        status = sh_fail_memory(bytes, "a page");
    SH_TRY_DONE(status);
    const char *rest = text;
    for (const char *open; (open = strstr(rest, "{{")) != NULL;) {
        const char *close = strstr(open, "}}");
        if (close == NULL)
            break;
        fwrite(rest, 1, (size_t)(open - rest), file);
        snprintf(name, sizeof name, "%.*s", (int)(close - open - 2), open + 2);
        SH_TRY_DONE(fill_one(file, name, parts, context));
        rest = close + 2;
    }
    fputs(rest, file);
done:
    free(text);
    return status;
}

sh_status sh_page_text(char **html, const char *template, const sh_page_part *parts,
                       const void *context)
{
    char *fresh = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&fresh, &bytes);
    if (file == NULL)
        return sh_fail_memory(bytes, "a page");
    sh_status status = sh_page_fill(file, template, parts, context);
    const bool failed = ferror(file) != 0;
    if ((fclose(file) != 0 || failed) && status == SH_OK)
        status = sh_fail_memory(bytes, "a page");
    if (status == SH_OK)
        *html = fresh;
    else
        free(fresh);
    return status;
}

/* ---- the page of runs ------------------------------------------------------------------------ */

typedef struct runs {
    const sh_subject *subjects;
    size_t count;
} runs;

static sh_status write_title(FILE *file, const void *context)
{
    const runs *all = context;
    const sh_run_digest *first = all->subjects[0].digest;
    char title[4 * SH_DIGEST_TEXT_BYTES];
    if (all->count > 1)
        snprintf(title, sizeof title, "%zu runs", all->count);
    else
        snprintf(title, sizeof title, "%s: %s on %s", first->name, first->model, first->data);
    sh_escape(file, SH_REPORT_html, title);
    return SH_OK;
}

static sh_status write_summary(FILE *file, const void *context)
{
    const runs *all = context;
    sh_sheet sheet = {.file = file, .format = SH_REPORT_html};
    sh_findings_summary(&sheet, all->subjects, all->count);
    return SH_OK;
}

static sh_status write_details(FILE *file, const void *context)
{
    const runs *all = context;
    sh_sheet sheet = {.file = file, .format = SH_REPORT_html};
    sh_findings_details(&sheet, all->subjects, all->count);
    return SH_OK;
}

static sh_status write_data(FILE *file, const void *context)
{
    const runs *all = context;
    return sh_report_json(file, all->subjects, all->count);
}

sh_status sh_page_write(FILE *file, const sh_subject *subjects, size_t count)
{
    static const sh_page_part parts[] = {{"title", write_title},
                                         {"summary", write_summary},
                                         {"details", write_details},
                                         {"data", write_data},
                                         {NULL, NULL}};
    return sh_page_fill(file, "page.html", parts, &(runs){subjects, count});
}
