/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports on runs: tables, or a page with charts.
 *
 *     const char *const runs[] = {"runs/a", "runs/b"};
 *     char *text;
 *     if (sh_report(&(sh_report_options){.runs = runs, .run_count = 2}, &text) == SH_OK)
 *         fputs(text, stdout);
 *     free(text);
 *
 * Threads: any; the call blocks. A run may be active meanwhile.
 */
#ifndef SHOAL_REPORT_H
#define SHOAL_REPORT_H

#include <stddef.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Name, description. */
#define SH_REPORT_MAP(X)                                                                           \
    X(text, "tables for a terminal")                                                               \
    X(markdown, "the same in Markdown")                                                            \
    X(html, "one page with charts, which loads nothing else")                                      \
    X(json, "all figures and the series of the charts")

typedef enum sh_report_format {
#define SH_REPORT_ENUM(name, what) SH_REPORT_##name,
    SH_REPORT_MAP(SH_REPORT_ENUM)
#undef SH_REPORT_ENUM
} sh_report_format;

typedef struct sh_report_options {
    /* Folders or databases of runs; several are compared. Or one sweep's folder: tables of its
     * study, as text or Markdown. */
    const char *const *runs;
    size_t run_count;
    sh_report_format format;
    const char *output; /* file, replaced atomically; NULL: `*text` */
} sh_report_options;

/* `*text` is owned: free() it; NULL with an output. SH_NOT_FOUND: a run has no database. SH_FORMAT,
 * SH_VERSION, SH_CORRUPT: it cannot be read. The message names the file. */
SHOAL_API sh_status sh_report(const sh_report_options *options, char **text) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
