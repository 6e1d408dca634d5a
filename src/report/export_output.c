/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "store/file.h"

#define BUFFER_BYTES 65536

struct sh_export_output {
    sh_file_writer *file; /* NULL: writes to `out` */
    FILE *out;
    const char *direct; /* path of `out` if this closes it; else NULL */
    size_t used;
    char buffer[BUFFER_BYTES];
};

sh_status sh_export_output_open(sh_export_output **output, const char *path, FILE *out)
{
    struct stat about;
    sh_export_output *o = calloc(1, sizeof *o);
    sh_status status = SH_OK;
    if (o == NULL)
        return sh_fail_memory(sizeof *o, "an export");
    o->out = out;
    if (path != NULL && (stat(path, &about) != 0 || S_ISREG(about.st_mode) ||
                         S_ISDIR(about.st_mode))) { /* refused by the writer */
        status = sh_file_writer_open(&o->file, path);
    } else if (path != NULL) {
        o->direct = path;
        o->out = fopen(path, "we");
        if (o->out == NULL)
            status = sh_fail_errno(errno, "%s: cannot open", path);
    }
    if (status != SH_OK) {
        free(o);
        return status;
    }
    *output = o;
    return SH_OK;
}

static sh_status flush(sh_export_output *o)
{
    const size_t bytes = o->used;
    o->used = 0;
    if (o->file != NULL)
        return sh_file_writer_add(o->file, o->buffer, bytes);
    if (fwrite(o->buffer, 1, bytes, o->out) != bytes && o->direct != NULL)
        return sh_fail_errno(errno, "%s: cannot write", o->direct);
    return SH_OK;
}

sh_status sh_export_put(sh_export_output *o, const char *text)
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

sh_status sh_export_put_json(sh_export_output *o, const char *text)
{
    uint32_t point;
    SH_TRY(sh_export_put(o, "\""));
    while (*text != '\0') {
        char one[8] = "?"; /* JSON cannot hold a malformed byte */
        const size_t bytes = sh_utf8_read((const unsigned char *)text, &point);
        if (bytes > 0 && sh_utf8_is_control(point))
            snprintf(one, sizeof one, "\\u%04x", (unsigned)point);
        else if (bytes > 0)
            snprintf(one, sizeof one, "%s%.*s", *text == '"' || *text == '\\' ? "\\" : "",
                     (int)bytes, text);
        SH_TRY(sh_export_put(o, one));
        text += bytes > 0 ? bytes : 1;
    }
    return sh_export_put(o, "\"");
}

sh_status sh_export_output_end(sh_export_output *o, sh_status status)
{
    if (status == SH_OK)
        status = flush(o);
    if (status == SH_OK && o->file != NULL)
        status = sh_file_writer_commit(o->file);
    else
        sh_file_writer_discard(o->file);
    if (o->direct != NULL && fclose(o->out) != 0 && status == SH_OK)
        status = sh_fail_errno(errno, "%s: cannot write", o->direct);
    free(o);
    return status;
}
