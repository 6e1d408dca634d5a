/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "report/report_json.h"

/* Unpacks the asset of this name into the file. Writes nothing if there is no such asset. */
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

/* What stands for "{{name}}" in the template. */
static sh_status fill(FILE *file, const char *name, const sh_subject *subjects, size_t count)
{
    const sh_run_digest *first = subjects[0].digest;
    sh_sheet sheet = {.file = file, .format = SH_REPORT_html};
    char title[4 * SH_DIGEST_TEXT_BYTES];
    if (strcmp(name, "data") == 0)
        return sh_report_json(file, subjects, count);
    if (strcmp(name, "summary") == 0) {
        sh_findings_summary(&sheet, subjects, count);
    } else if (strcmp(name, "details") == 0) {
        sh_findings_details(&sheet, subjects, count);
    } else if (strcmp(name, "title") == 0) {
        if (count > 1)
            snprintf(title, sizeof title, "%zu runs", count);
        else
            snprintf(title, sizeof title, "%s: %s on %s", first->name, first->model, first->data);
        sh_escape(file, SH_REPORT_html, title);
    } else {
        return write_asset(file, name);
    }
    return SH_OK;
}

sh_status sh_page_write(FILE *file, const sh_subject *subjects, size_t count)
{
    char *template = NULL, name[32];
    size_t bytes = 0;
    FILE *memory = open_memstream(&template, &bytes);
    if (memory == NULL)
        return sh_fail_memory(bytes, "a page");
    sh_status status = write_asset(memory, "page.html");
    if (fclose(memory) != 0 && status == SH_OK)
        status = sh_fail_memory(bytes, "a page");
    SH_TRY_DONE(status);
    const char *rest = template;
    for (const char *open; (open = strstr(rest, "{{")) != NULL;) {
        const char *close = strstr(open, "}}");
        if (close == NULL)
            break;
        fwrite(rest, 1, (size_t)(open - rest), file);
        snprintf(name, sizeof name, "%.*s", (int)(close - open - 2), open + 2);
        SH_TRY_DONE(fill(file, name, subjects, count));
        rest = close + 2;
    }
    fputs(rest, file);
done:
    free(template);
    return status;
}
