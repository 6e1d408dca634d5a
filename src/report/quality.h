/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good the model of a run is, by what the training left in metrics.json (its form:
 * node/record/assessment.h): a table of the classes and which are taken for which.
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

/* `*quality` is owned; NULL where the folder has none, or `folder` is a file. SH_FORMAT: it is not
 * JSON. */
sh_status sh_quality_read(json_t **quality, const char *folder) SHOAL_CHECKED;

/* The same of another JSON file in the folder. */
sh_status sh_quality_file(json_t **json, const char *folder, const char *name) SHOAL_CHECKED;

/* Tables of the classes, the confusion matrix where it is small enough to be read, and targets.
 * What is missing or of another type is left out. NULL writes nothing. */
void sh_quality_write(sh_sheet *sheet, const json_t *quality);

#endif
