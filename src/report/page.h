/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a self-contained page: the template page.html with its style, scripts and report.
 *
 *     SH_TRY(sh_page_write(file, subjects, count));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_PAGE_H
#define SHOAL_REPORT_PAGE_H

#include <stdio.h>

#include "report/findings.h"

/* The build packs page.html, data.html, page.css, page.js, and chart.js if Chart.js was found. */
typedef struct sh_asset {
    const char *name;
    const unsigned char *packed; /* gzip */
    unsigned bytes;
} sh_asset;

/* A NULL name ends the list. */
extern const sh_asset sh_assets[];

/* NULL `write` writes nothing. */
typedef struct sh_page_part {
    const char *name;
    sh_status (*write)(FILE *file, const void *context);
} sh_page_part;

/* Writes the asset `template`, and for "{{name}}" the part of this name, else the asset, else
 * nothing. A NULL name ends `parts`. SH_NO_MEMORY, and failures of the parts. */
sh_status sh_page_fill(FILE *file, const char *template, const sh_page_part *parts,
                       const void *context) SHOAL_CHECKED;

/* Likewise as text; `*html` is owned: free(). */
sh_status sh_page_text(char **html, const char *template, const sh_page_part *parts,
                       const void *context) SHOAL_CHECKED;

/* There is at least one subject. SH_NO_MEMORY; check ferror(file). */
sh_status sh_page_write(FILE *file, const sh_subject *subjects, size_t count) SHOAL_CHECKED;

#endif
