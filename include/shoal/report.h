/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs have left behind, for people to read: tables, or a page with charts.
 *
 *     const char *const runs[] = {"runs/a", "runs/b"};
 *     char *text;
 *     if (sh_report(&(sh_report_options){.runs = runs, .run_count = 2}, &text) == SH_OK)
 *         fputs(text, stdout);
 *     free(text);
 *
 * Threads: the call blocks, and may be made from any thread; a run may be going on meanwhile.
 */
#ifndef SHOAL_REPORT_H
#define SHOAL_REPORT_H

#include <stddef.h>

#include "shoal/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One list: name, what it is. */
#define SH_REPORT_MAP(X)                                                                           \
    X(text, "tables for a terminal")                                                               \
    X(markdown, "the same in Markdown")                                                            \
    X(html, "one page with charts, which asks for nothing from outside")                           \
    X(json, "all figures and the series of the charts")

typedef enum sh_report_format {
#define SH_REPORT_ENUM(name, what) SH_REPORT_##name,
    SH_REPORT_MAP(SH_REPORT_ENUM)
#undef SH_REPORT_ENUM
} sh_report_format;

typedef struct sh_report_options {
    /* Their folders, or databases; compared where there are several. Or a sweep's folder, alone, of
     * which the tables of its study are made, as text or Markdown. */
    const char *const *runs;
    size_t run_count;
    sh_report_format format;
    const char *output; /* file that is replaced as a whole; NULL: `*text` */
} sh_report_options;

/*
 * `*text` is owned: free() it; NULL where there is an output. SH_NOT_FOUND without the database of
 * a run, SH_FORMAT, SH_VERSION and SH_CORRUPT where it cannot be read; each names the file.
 */
SHOAL_API sh_status sh_report(const sh_report_options *options, char **text) SHOAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
