/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a digest holds, as JSON: what `--format json` gives, and what a page draws its charts
 * of.
 *
 *     SH_TRY(sh_report_json(file, subjects, count));
 *
 * {"report": 1, "runs": [...]}: units as in the names of figures (src/monitor/figures.def), else
 * seconds and shares of 1; what is not available is null. A series is an array, one value a part;
 * `points` go by steps, a device's `split` by equal parts of the steps, its `series` by equal parts
 * of the time. `<`, `>` and `&` are escaped, so that a page may hold it in a script.
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_REPORT_JSON_H
#define SHOAL_REPORT_REPORT_JSON_H

#include <stdio.h>

#include "report/findings.h"

/* SH_NO_MEMORY; that the file failed shows in ferror(file). */
sh_status sh_report_json(FILE *file, const sh_subject *subjects, size_t count) SHOAL_CHECKED;

#endif
