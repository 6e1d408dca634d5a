/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page that needs nothing but itself: the template page.html with its style, its scripts and what
 * it is to show.
 *
 *     SH_TRY(sh_page_write(file, &(sh_page){.title = "a", .summary = html, .data = json}));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_PAGE_H
#define SHOAL_REPORT_PAGE_H

#include <stdio.h>

#include "base/fail.h"

/* All borrowed during the call; NULL: nothing. */
typedef struct sh_page {
    const char *title;   /* text */
    const char *summary; /* HTML, above the charts */
    const char *details; /* HTML, below them */
    const char *data;    /* JSON without '<', for page.js */
} sh_page;

sh_status sh_page_write(FILE *file, const sh_page *page) SHOAL_CHECKED;

#endif
