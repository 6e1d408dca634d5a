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

typedef sh_status write_part(FILE *file, const sh_subject *subjects, size_t count,
                             sh_report_format format);

static sh_status write_summary(FILE *file, const sh_subject *subjects, size_t count,
                               sh_report_format format)
{
    sh_sheet sheet = {.file = file, .format = format};
    sh_findings_summary(&sheet, subjects, count);
    return SH_OK;
}

static sh_status write_details(FILE *file, const sh_subject *subjects, size_t count,
                               sh_report_format format)
{
    sh_sheet sheet = {.file = file, .format = format};
    for (size_t i = 0; i < count; i++)
        sh_findings_details(&sheet, &subjects[i], count > 1);
    return SH_OK;
}

static sh_status write_tables(FILE *file, const sh_subject *subjects, size_t count,
                              sh_report_format format)
{
    SH_TRY(write_summary(file, subjects, count, format));
    return write_details(file, subjects, count, format);
}

static sh_status write_json(FILE *file, const sh_subject *subjects, size_t count,
                            sh_report_format format)
{
    (void)format;
    return sh_report_json(file, subjects, count);
}

/* What a part writes, as a text: owned. */
static sh_status gather(char **text, write_part *write, const sh_subject *subjects, size_t count,
                        sh_report_format format)
{
    size_t bytes = 0;
    char *fresh = NULL;
    FILE *file = open_memstream(&fresh, &bytes);
    if (file == NULL)
        return sh_fail_memory(bytes, "a report");
    sh_status status = write(file, subjects, count, format);
    const bool failed = ferror(file) != 0;
    if ((fclose(file) != 0 || failed) && status == SH_OK)
        status = sh_fail_memory(bytes, "a report");
    if (status == SH_OK)
        *text = fresh;
    else
        free(fresh);
    return status;
}

static sh_status write_page(FILE *file, const sh_subject *subjects, size_t count,
                            sh_report_format format)
{
    const sh_run_digest *first = subjects[0].digest;
    char title[4 * SH_DIGEST_TEXT_BYTES], *summary = NULL, *details = NULL, *data = NULL;
    sh_status status;
    if (count > 1)
        snprintf(title, sizeof title, "%zu runs", count);
    else
        snprintf(title, sizeof title, "%s: %s on %s", first->name, first->model, first->data);
    SH_TRY_DONE(gather(&summary, write_summary, subjects, count, format));
    SH_TRY_DONE(gather(&details, write_details, subjects, count, format));
    SH_TRY_DONE(gather(&data, write_json, subjects, count, format));
    SH_TRY_DONE(sh_page_write(file, &(sh_page){title, summary, details, data}));
done:
    free(summary);
    free(details);
    free(data);
    return status;
}

/* Runs that have one name get their long ones. */
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

static bool is_sweep(const char *folder)
{
    char path[SH_PATH_BYTES];
    return sh_path_join(path, folder, SH_SWEEP_DATABASE) == SH_OK && access(path, F_OK) == 0;
}

sh_status sh_report(const sh_report_options *options, char **text)
{
    static write_part *const writers[] = {
        [SH_REPORT_text] = write_tables,
        [SH_REPORT_markdown] = write_tables,
        [SH_REPORT_html] = write_page,
        [SH_REPORT_json] = write_json,
    };
    const size_t count = options->run_count;
    if (count == 0)
        return sh_fail(SH_INVALID, "no run to report of");
    sh_subject *subjects = calloc(count, sizeof *subjects);
    if (subjects == NULL)
        return sh_fail_memory(count * sizeof *subjects, "a report");
    char *fresh = NULL;
    sh_status status = SH_OK;
    if (count == 1 && is_sweep(options->runs[0])) {
        if (options->format != SH_REPORT_text && options->format != SH_REPORT_markdown)
            SH_TRY_DONE(sh_fail(SH_UNSUPPORTED,
                                "%s is a sweep, which has tables as text or Markdown; shoal sweep "
                                "--list --json has all figures",
                                options->runs[0]));
        SH_TRY_DONE(
            sh_sweep_tables(&fresh, options->runs[0], options->format == SH_REPORT_markdown));
    } else {
        for (size_t i = 0; i < count; i++)
            SH_TRY_DONE(sh_subject_init(&subjects[i], options->runs[i]));
        tell_apart(subjects, count);
        SH_TRY_DONE(gather(&fresh, writers[options->format], subjects, count, options->format));
    }
    if (options->output != NULL)
        SH_TRY_DONE(sh_file_replace(options->output, fresh, strlen(fresh)));
    *text = options->output == NULL ? fresh : NULL;
    fresh = options->output == NULL ? NULL : fresh;
done:
    free(fresh);
    for (size_t i = 0; i < count; i++)
        sh_subject_release(&subjects[i]);
    free(subjects);
    return status;
}
