/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"

typedef struct report_values {
    const char *output;
    char format[16];
} report_values;

#define FIELD(member) offsetof(report_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "output", .letter = 'o', .value = "FILE",
     .help = "write to FILE; a name that ends in .html makes a page", .offset = FIELD(output)},
    {SH_OPTION_NAME, .name = "format", .value = "NAME", .words = "text|markdown|html|json",
     .suggests = true,
     .help = "text, markdown, html, json (default: from the name of FILE, or else text)",
     .offset = FIELD(format), .max = sizeof((report_values *)0)->format - 1},
    {.kind = SH_OPTION_END},
};

static const char *const names[] = {
#define FORMAT_NAME(name, what) #name,
    SH_REPORT_MAP(FORMAT_NAME)
#undef FORMAT_NAME
        NULL,
};

/* From --format, else from the output's extension; false: unknown. */
static bool choose(const report_values *given, sh_report_format *format)
{
    static const char *const ends[] = {".txt", ".md", ".html", ".json"};
    const size_t length = given->output != NULL ? strlen(given->output) : 0;
    *format = SH_REPORT_text;
    for (int i = 0; names[i] != NULL; i++) {
        const size_t end = strlen(ends[i]);
        const bool fits = length > end && strcmp(given->output + length - end, ends[i]) == 0;
        if (given->format[0] != '\0' ? strcmp(given->format, names[i]) == 0 : fits) {
            *format = (sh_report_format)i;
            return true;
        }
    }
    return given->format[0] == '\0';
}

static int run(const sh_arguments *arguments, void *values)
{
    const report_values *given = values;
    sh_report_options asked = {.runs = arguments->positionals,
                               .run_count = arguments->positional_count,
                               .output = given->output};
    char *text;
    if (!choose(given, &asked.format))
        return sh_console_misuse("report", "--format %s: text, markdown, html or json",
                                 given->format);
    if (sh_report(&asked, &text) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (text != NULL)
        fputs(text, stdout);
    free(text);
    return SH_EXIT_DONE;
}

const sh_command sh_report_command = {
    .name = "report",
    .usage = "RUN... [options]",
    .summary = "reports on runs: tables, or a page with charts",
    .details = "Shows where the time went, on which device, and which device delayed the others. "
               "Several runs are\n"
               "shown side by side. A page is one file that loads nothing else.\n"
               "\n"
               "examples:\n"
               "  shoal report runs/a\n"
               "  shoal report runs/STUDY                the tables of a sweep\n"
               "  shoal report runs/a runs/b -o report.html\n",
    .options = options,
    .values_bytes = sizeof(report_values),
    .positionals_least = 1,
    .positionals_most = SH_POSITIONALS_MAX,
    .run = run,
};
