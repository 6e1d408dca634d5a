/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "cli/run_rows.h"
#include "shoal/runs.h"

typedef struct runs_values {
    const char *json, *table, *format, *output;
} runs_values;

#define FIELD(member) offsetof(runs_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "export", .value = "TABLE",
     .words = "run|sessions|devices|views|epochs|steps|work|step_parts|samples|events|trace",
     .suggests = true, .help = "print this table of one run instead, such as steps",
     .offset = FIELD(table)},
    {SH_OPTION_TEXT, .name = "format", .value = "NAME", .words = "csv|json", .suggests = true,
     .help = "format of the export: csv, json", .offset = FIELD(format)},
    {SH_OPTION_TEXT, .name = "output", .letter = 'o', .value = "FILE",
     .help = "write the export to FILE (default: standard output)", .offset = FIELD(output)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the list to FILE ('-': standard output) instead", .offset = FIELD(json)},
    {.kind = SH_OPTION_END},
};

static int print_list(const sh_run_list *list)
{
    static const char *const heads[] = {"run",   "state",        "model",   "data", "devices",
                                        "steps", "val accuracy", "started", "time"};
    sh_table *table = sh_table_new("<<<<>>>>>", heads);
    for (size_t i = 0; i < list->count; i++) {
        const sh_run_about *run = &list->runs[i];
        const bool known = run->state != SH_STATE_UNREADABLE;
        sh_quantity a, b;
        sh_table_add(table, run->name);
        sh_table_add(table, sh_run_state_text(run->state));
        sh_table_add(table, known ? run->model : "-");
        sh_table_add(table, known ? run->data : "-");
        sh_table_add(table, known ? sh_quantity_whole(&a, run->devices) : "-");
        sh_table_format(table, known ? "%s/%s" : "-", sh_quantity_whole(&a, run->step),
                        sh_quantity_whole(&b, run->steps));
        sh_table_add(table, sh_quantity_percent(&a, run->val_accuracy, 2));
        sh_table_add(table, sh_quantity_date(&a, run->started));
        sh_table_add(table, sh_quantity_duration(&a, run->seconds));
    }
    return sh_command_print_table(table, "");
}

static int export_table(const char *run, const runs_values *given)
{
    const bool json = given->format != NULL && strcmp(given->format, "json") == 0;
    const bool prints = given->output == NULL || strcmp(given->output, "-") == 0;
    if (run == NULL)
        return sh_console_misuse("runs", "runs: --export needs the folder of a run");
    if (given->format != NULL && !json && strcmp(given->format, "csv") != 0)
        return sh_console_misuse("runs", "--format %s: must be csv or json", given->format);
    if (given->format != NULL && !json && strcmp(given->table, "trace") == 0)
        return sh_console_misuse("runs", "--format csv: a trace is always json");
    const sh_export_options asked = {.run = run,
                                     .table = given->table,
                                     .format = json ? SH_EXPORT_JSON : SH_EXPORT_CSV,
                                     .path = prints ? NULL : given->output,
                                     .out = stdout};
    return sh_run_export(&asked) == SH_OK ? SH_EXIT_DONE : sh_console_fail("%s", sh_message());
}

static int run(const sh_arguments *arguments, void *values)
{
    const runs_values *given = values;
    const char *folder = arguments->positional_count > 0 ? arguments->positionals[0] : NULL;
    sh_run_list list;
    int code = SH_EXIT_DONE;
    if (given->table != NULL)
        return export_table(folder, given);
    if (given->format != NULL || given->output != NULL)
        return sh_console_misuse("runs", "runs: --format and --output are for --export");
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (sh_runs_list(&list, folder) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->json != NULL) {
        json_t *runs = json_array();
        for (size_t i = 0; i < list.count; i++)
            sh_json_append(&runs, sh_run_about_json(&list.runs[i]));
        code = sh_command_write_json(given->json, json_pack("{s:o}", "runs", runs), code);
    } else if (list.count == 0) {
        sh_console_note("%s: no runs there", folder == NULL ? "runs" : folder);
    } else {
        code = print_list(&list);
    }
    for (size_t i = 0; given->json == NULL && i < list.count; i++)
        if (list.runs[i].reason[0] != '\0')
            sh_console_note("%s: %s", sh_run_state_text(list.runs[i].state), list.runs[i].reason);
    sh_run_list_release(&list);
    return code;
}

const sh_command sh_runs_command = {
    .name = "runs",
    .usage = "[FOLDER] [options]",
    .summary = "lists trainings, finished and running; exports their records",
    .details = "FOLDER contains runs, or is a run (default: runs). A run without a "
               "record of its end is\n"
               "listed as killed.\n"
               "\n"
               "tables (--export); times are in seconds since 1970, and an empty field means not "
               "available:\n"
               "  run         what was started\n"
               "  sessions    each start: of the training, and of every time it was resumed\n"
               "  devices     which devices took part, and when\n"
               "  views       which devices computed how many grains, from which step on, and why\n"
               "  epochs      loss and accuracy after each epoch\n"
               "  steps       loss and accuracy of each step\n"
               "  work        how long each part of a step took on each device\n"
               "  step_parts  the same, with the time of exchanges split into wait and network\n"
               "  samples     each device's processor, memory, network, heat, power; counters are "
               "cumulative\n"
               "  events      what happened\n"
               "  trace       not a table: a timeline of all that for https://ui.perfetto.dev or\n"
               "              chrome://tracing (JSON)\n"
               "\n"
               "examples:\n"
               "  shoal runs\n"
               "  shoal runs runs/RUN --export steps -o steps.csv\n"
               "  shoal runs runs/RUN --export trace -o trace.json\n",
    .options = options,
    .values_bytes = sizeof(runs_values),
    .positionals_most = 1,
    .run = run,
};
