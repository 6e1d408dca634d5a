/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a model's worst samples from worst.json (format: node/record/worst_pictures.h): as
 * pictures in pages, else as a table.
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

/* `*worst` is owned; NULL: the folder has none, or `folder` is a file. SH_FORMAT: not JSON. */
sh_status sh_worst_read(json_t **worst, const char *folder) SHOAL_CHECKED;

/* Omits members that are missing or of another type. NULL: a page says why there is nothing. */
void sh_worst_write(sh_sheet *sheet, const json_t *worst);

#endif
