/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a report's headings, sentences and tables.
 *
 *     sh_findings_summary(&sheet, subjects, count);
 *     sh_findings_details(&sheet, subjects, count);
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_FINDINGS_H
#define SHOAL_REPORT_FINDINGS_H

#include <stdbool.h>

#include "report/bottleneck.h"
#include "report/quality.h"
#include "report/run_digest.h"
#include "report/sheet.h"
#include "report/worst.h"

typedef struct sh_subject {
    sh_run_digest *digest; /* owned */
    sh_bottleneck bottleneck;
    json_t *quality; /* owned, or NULL (report/quality.h) */
    json_t *worst;   /* owned, or NULL (report/worst.h) */
} sh_subject;

/* Fails as sh_run_digest_new and sh_quality_read. */
sh_status sh_subject_init(sh_subject *subject, const char *path) SHOAL_CHECKED;
void sh_subject_release(sh_subject *subject);

/* The sum over its devices; NaN: none has the figure. */
double sh_subject_total(const sh_subject *subject, sh_figure figure);

void sh_findings_summary(sh_sheet *sheet, const sh_subject *subjects, size_t count);

void sh_findings_details(sh_sheet *sheet, const sh_subject *subjects, size_t count);

#endif
