/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "report/asset.h"
#include "report/sheet.h"

/* What stands for "{{name}}" in the template. */
static sh_status fill(FILE *file, const sh_page *page, const char *name, size_t length)
{
    const struct {
        const char *name, *text;
    } parts[] = {{"summary", page->summary}, {"details", page->details}, {"data", page->data}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strlen(parts[i].name) == length && memcmp(parts[i].name, name, length) == 0) {
            fputs(parts[i].text == NULL ? "" : parts[i].text, file);
            return SH_OK;
        }
    if (length == 5 && memcmp(name, "title", length) == 0) {
        sh_escape(file, SH_REPORT_html, page->title);
        return SH_OK;
    }
    char asset[32];
    snprintf(asset, sizeof asset, "%.*s", (int)length, name);
    return sh_asset_write(file, asset);
}

sh_status sh_page_write(FILE *file, const sh_page *page)
{
    char *template = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&template, &bytes);
    if (memory == NULL)
        return sh_fail_memory(bytes, "a page");
    sh_status status = sh_asset_write(memory, "page.html");
    if (fclose(memory) != 0 && status == SH_OK)
        status = sh_fail_memory(bytes, "a page");
    SH_TRY_DONE(status);
    const char *rest = template;
    for (const char *open; (open = strstr(rest, "{{")) != NULL;) {
        const char *close = strstr(open, "}}");
        if (close == NULL)
            break;
        fwrite(rest, 1, (size_t)(open - rest), file);
        SH_TRY_DONE(fill(file, page, open + 2, (size_t)(close - open - 2)));
        rest = close + 2;
    }
    fputs(rest, file);
done:
    free(template);
    return status;
}
