/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of an export.
 *
 *     SH_TRY(sh_export_output_open(&output, "steps.json", NULL));
 *     sh_status status = sh_export_put_json(output, name);
 *     return sh_export_output_end(output, status);
 *
 * Threads: caller locks. Failures name the file.
 */
#ifndef SHOAL_REPORT_EXPORT_OUTPUT_H
#define SHOAL_REPORT_EXPORT_OUTPUT_H

#include <stdio.h>

#include "base/fail.h"

typedef struct sh_export_output sh_export_output;

/* Owned: end it. Replaces a regular file atomically; writes another kind (a pipe) directly. `path`
 * NULL: writes to `out`, borrowed; the caller checks it for errors. */
sh_status sh_export_output_open(sh_export_output **output, const char *path,
                                FILE *out) SHOAL_CHECKED;

sh_status sh_export_put(sh_export_output *output, const char *text) SHOAL_CHECKED;

/* A JSON string, with '?' for malformed UTF-8. */
sh_status sh_export_put_json(sh_export_output *output, const char *text) SHOAL_CHECKED;

/* Completes the file if `status` is SH_OK; else leaves it unchanged and returns `status`. Frees the
 * output. */
sh_status sh_export_output_end(sh_export_output *output, sh_status status) SHOAL_CHECKED;

#endif
