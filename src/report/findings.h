/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says of runs, as headings, sentences and tables.
 *
 *     sh_findings_summary(&sheet, subjects, count);
 *     sh_findings_details(&sheet, subjects, count);
 *
 * Threads: any.
 */
#ifndef SHOAL_REPORT_FINDINGS_H
#define SHOAL_REPORT_FINDINGS_H

#include <stdbool.h>

#include "report/quality.h"
#include "report/run_digest.h"
#include "report/sheet.h"
#include "report/verdict.h"
#include "report/worst.h"

typedef struct sh_subject {
    sh_run_digest *digest; /* owned */
    sh_verdict verdict;
    json_t *quality; /* owned; NULL where the run has none (report/quality.h) */
    json_t *worst;   /* owned; NULL where the run has none (report/worst.h) */
} sh_subject;

/* Reads a run and judges it: release the subject. Failures are those of sh_run_digest_new and of
 * sh_quality_read. */
sh_status sh_subject_init(sh_subject *subject, const char *path) SHOAL_CHECKED;
void sh_subject_release(sh_subject *subject);

/* Of all its devices together; NaN where no device knows. */
double sh_subject_total(const sh_subject *subject, sh_figure figure);

/* Which runs, how long, how good; and who held them up. */
void sh_findings_summary(sh_sheet *sheet, const sh_subject *subjects, size_t count);

/* Of each run: how good the model is, devices, a step's time, epochs, views. */
void sh_findings_details(sh_sheet *sheet, const sh_subject *subjects, size_t count);

#endif
