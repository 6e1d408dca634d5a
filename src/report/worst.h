/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples that a model is worst at, by what a training left in worst.json (its form:
 * node/record/worst_pictures.h): as pictures in pages, as a table elsewhere.
 *
 *     json_t *worst;
 *     SH_TRY(sh_worst_read(&worst, "runs/a"));
 *     sh_worst_write(&sheet, worst);
 *     json_decref(worst);
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_WORST_H
#define SHOAL_REPORT_WORST_H

#include <jansson.h>

#include "base/fail.h"
#include "report/sheet.h"

/* `*worst` is owned; NULL where the folder has none, or `folder` is a file. SH_FORMAT: it is not
 * JSON. */
sh_status sh_worst_read(json_t **worst, const char *folder) SHOAL_CHECKED;

/* What is missing or of another type is left out. With NULL a page says that there is nothing to
 * show and why; other formats say nothing. */
void sh_worst_write(sh_sheet *sheet, const json_t *worst);

#endif
