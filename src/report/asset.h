/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that pages are made of, which the build has packed into the library (src/CMakeLists.txt):
 * page.html, page.css, page.js, and chart.js where Chart.js was found.
 *
 *     SH_TRY(sh_asset_write(file, "page.css"));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_ASSET_H
#define SHOAL_REPORT_ASSET_H

#include <stdio.h>

#include "base/fail.h"

typedef struct sh_asset {
    const char *name;
    const unsigned char *packed; /* by gzip */
    unsigned bytes;
} sh_asset;

/* Generated; one without a name ends it. */
extern const sh_asset sh_assets[];

/* Unpacks it into a stream; nothing where there is none of that name. */
sh_status sh_asset_write(FILE *file, const char *name) SHOAL_CHECKED;

#endif
