/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page that needs nothing but itself: the template page.html with its style, its scripts and what
 * reports say.
 *
 *     SH_TRY(sh_page_write(file, subjects, count));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_PAGE_H
#define SHOAL_REPORT_PAGE_H

#include <stdio.h>

#include "report/findings.h"

/* A file that pages are made of, which the build has packed into the library (src/CMakeLists.txt):
 * page.html, data.html, page.css, page.js, and chart.js where Chart.js was found. */
typedef struct sh_asset {
    const char *name;
    const unsigned char *packed; /* by gzip */
    unsigned bytes;
} sh_asset;

/* Generated; one without a name ends it. */
extern const sh_asset sh_assets[];

/* What stands for "{{name}}" in a template; nothing where `write` is NULL. */
typedef struct sh_page_part {
    const char *name;
    sh_status (*write)(FILE *file, const void *context);
} sh_page_part;

/* Writes the asset `template`; in place of "{{name}}" the part of this name, else the asset, else
 * nothing. A part without a name ends `parts`. SH_NO_MEMORY, and as the parts fail. */
sh_status sh_page_fill(FILE *file, const char *template, const sh_page_part *parts,
                       const void *context) SHOAL_CHECKED;

/* The same as text: `*html` is owned: free(). */
sh_status sh_page_text(char **html, const char *template, const sh_page_part *parts,
                       const void *context) SHOAL_CHECKED;

/* At least one subject. SH_NO_MEMORY; that the file failed shows in ferror(file). */
sh_status sh_page_write(FILE *file, const sh_subject *subjects, size_t count) SHOAL_CHECKED;

#endif
