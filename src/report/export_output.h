/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an export goes: text, a piece after the other.
 *
 *     SH_TRY(sh_export_output_open(&output, "steps.json", NULL));
 *     sh_status status = sh_export_put_json(output, name);
 *     return sh_export_output_end(output, status);
 *
 * Threads: one at a time. Failures name the file.
 */
#ifndef SHOAL_REPORT_EXPORT_OUTPUT_H
#define SHOAL_REPORT_EXPORT_OUTPUT_H

#include <stdio.h>

#include "base/fail.h"

typedef struct sh_export_output sh_export_output;

/*
 * A file is replaced as a whole or not at all; what is there and no regular file (a pipe) is
 * written to directly. `path` NULL: `out`, borrowed, whose errors are the caller's to look for.
 * Owned: end it.
 */
sh_status sh_export_output_open(sh_export_output **output, const char *path,
                                FILE *out) SHOAL_CHECKED;

sh_status sh_export_put(sh_export_output *output, const char *text) SHOAL_CHECKED;

/* As a string of JSON, with '?' for malformed UTF-8. */
sh_status sh_export_put_json(sh_export_output *output, const char *text) SHOAL_CHECKED;

/* Brings the rest to its place where `status` is SH_OK; else the file stays as it was, and that is
 * returned. Frees the output. */
sh_status sh_export_output_end(sh_export_output *output, sh_status status) SHOAL_CHECKED;

#endif
