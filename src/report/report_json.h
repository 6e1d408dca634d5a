/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A digest as JSON, for `--format json` and the charts of pages.
 *
 * {"report": 1, "runs": [...]}. Units are those in the names of figures (src/monitor/figures.def),
 * else seconds and fractions of 1; null: not available. A series is an array with one value per
 * part. `points` are ordered by steps; a device's `split` has equal parts of the steps, its
 * `series` equal parts of the time. `<`, `>` and `&` are escaped.
 *
 *     SH_TRY(sh_report_json(file, subjects, count));
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_REPORT_JSON_H
#define SHOAL_REPORT_REPORT_JSON_H

#include <stdio.h>

#include "report/findings.h"

/* SH_NO_MEMORY; check ferror(file). */
sh_status sh_report_json(FILE *file, const sh_subject *subjects, size_t count) SHOAL_CHECKED;

#endif
