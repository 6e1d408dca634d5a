/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the quality of a run's model from its metrics.json (format: node/record/assessment.h):
 * tables of classes and confusions.
 *
 *     json_t *quality;
 *     SH_TRY(sh_quality_read(&quality, "runs/a"));
 *     sh_quality_write(&sheet, quality);
 *     json_decref(quality);
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_QUALITY_H
#define SHOAL_REPORT_QUALITY_H

#include <jansson.h>

#include "base/fail.h"
#include "report/sheet.h"

#define SH_QUALITY_FILE "metrics.json"

/* `*quality` is owned; NULL: the folder has none, or `folder` is a file. SH_FORMAT: not JSON. */
sh_status sh_quality_read(json_t **quality, const char *folder) SHOAL_CHECKED;

/* Likewise for another JSON file in the folder. */
sh_status sh_quality_file(json_t **json, const char *folder, const char *name) SHOAL_CHECKED;

/* Omits members that are missing or of another type, and a large confusion matrix. NULL writes
 * nothing. */
void sh_quality_write(sh_sheet *sheet, const json_t *quality);

#endif
