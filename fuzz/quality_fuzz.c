/* SPDX-License-Identifier: Apache-2.0 */
/* Arbitrary bytes as the metrics.json of a run: a report is written whatever it contains. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "report/quality.h"
#include "report/worst.h"

#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {SH_QUALITY_FILE};
    static const sh_report_format formats[] = {SH_REPORT_text, SH_REPORT_markdown, SH_REPORT_html};
    json_t *quality;
    folder_make(names, 1);
    folder_put(0, data, size, 0);
    if (sh_quality_read(&quality, folder_path) != SH_OK) {
        if (sh_message()[0] == '\0')
            abort(); /* a failure without a message */
        return 0;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        if (file == NULL)
            abort();
        sh_sheet sheet = {.file = file, .format = formats[i]};
        sh_quality_write(&sheet, quality);
        sh_worst_write(&sheet, quality); /* as if it were worst.json */
        if (fclose(file) != 0)
            abort();
        free(text);
    }
    json_decref(quality);
    return 0;
}
