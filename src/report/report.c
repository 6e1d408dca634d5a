/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/findings.h"
#include "report/page.h"
#include "report/report_json.h"
#include "shoal/sweep.h"
#include "store/file.h"
#include "store/sweep_schema.h"

/* Runs with equal names get their long names. */
static void tell_apart(const sh_subject *subjects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool twice = false;
        for (size_t j = i + 1; j < count; j++)
            if (strcmp(subjects[i].digest->name, subjects[j].digest->name) == 0) {
                memcpy(subjects[j].digest->name, subjects[j].digest->long_name,
                       sizeof subjects[j].digest->name);
                twice = true;
            }
        if (twice)
            memcpy(subjects[i].digest->name, subjects[i].digest->long_name,
                   sizeof subjects[i].digest->name);
    }
}

/* `*text` is owned. */
static sh_status report_runs(char **text, const sh_report_options *options)
{
    const size_t count = options->run_count;
    sh_subject *subjects = calloc(count, sizeof *subjects);
    if (subjects == NULL)
        return sh_fail_memory(count * sizeof *subjects, "a report");
    char *fresh = NULL;
    size_t bytes = 0;
    sh_status status;
    for (size_t i = 0; i < count; i++)
        SH_TRY_DONE(sh_subject_init(&subjects[i], options->runs[i]));
    tell_apart(subjects, count);
    FILE *file = open_memstream(&fresh, &bytes);
    if (file == NULL)
        SH_TRY_DONE(sh_fail_memory(bytes, "a report"));
    if (options->format == SH_REPORT_json) {
        status = sh_report_json(file, subjects, count);
    } else if (options->format == SH_REPORT_html) {
        status = sh_page_write(file, subjects, count);
    } else {
        sh_sheet sheet = {.file = file, .format = options->format};
        sh_findings_summary(&sheet, subjects, count);
        sh_findings_details(&sheet, subjects, count);
    }
    const bool failed = ferror(file) != 0;
    if ((fclose(file) != 0 || failed) && status == SH_OK)
        status = sh_fail_memory(bytes, "a report");
    if (status == SH_OK)
        *text = fresh;
    else
        free(fresh);
done:
    for (size_t i = 0; i < count; i++)
        sh_subject_release(&subjects[i]);
    free(subjects);
    return status;
}

sh_status sh_report(const sh_report_options *options, char **text)
{
    const bool markdown = options->format == SH_REPORT_markdown;
    char *fresh, sweep[SH_PATH_BYTES];
    if (options->run_count == 0)
        return sh_fail(SH_INVALID, "no run to report on");
    if (options->run_count > 1 ||
        sh_path_join(sweep, options->runs[0], SH_SWEEP_DATABASE) != SH_OK ||
        access(sweep, F_OK) != 0)
        SH_TRY(report_runs(&fresh, options));
    else if (options->format == SH_REPORT_text || markdown)
        SH_TRY(sh_sweep_tables(&fresh, options->runs[0], markdown));
    else
        return sh_fail(SH_UNSUPPORTED,
                       "%s is a sweep, reported as text or Markdown; shoal sweep --list --json has "
                       "all figures",
                       options->runs[0]);
    if (options->output == NULL) {
        *text = fresh;
        return SH_OK;
    }
    const sh_status status = sh_file_replace(options->output, fresh, strlen(fresh));
    if (status == SH_OK)
        *text = NULL;
    free(fresh);
    return status;
}
