/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "cli/signals.h"
#include "shoal/about.h"
#include "shoal/sweep.h"

#define WORDS_BYTES 512

typedef struct sweep_values {
    sh_sweep_options options;
    const char *json;
    bool quiet, verbose, markdown;
} sweep_values;

#define FIELD(member) offsetof(sweep_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "run", .value = "DIR",
     .help = "folder of the sweep (default: runs/ and the file's name)",
     .offset = FIELD(options.folder), .max = SH_RUN_BYTES - 1},
    {SH_OPTION_TEXT, .name = "only", .value = "LIST",
     .help = "only trials with these settings: model=lenet,devices=1",
     .offset = FIELD(options.only)},
    {SH_OPTION_FLAG, .name = "retry", .help = "repeat trials that failed",
     .offset = FIELD(options.retry)},
    {SH_OPTION_FLAG, .name = "list", .help = "print the trials and their states; run nothing",
     .offset = FIELD(options.list)},
    {SH_OPTION_FLAG, .name = "markdown", .help = "print the tables as Markdown",
     .offset = FIELD(markdown)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write all trials to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {SH_OPTION_FLAG, .name = "verbose", .help = "print log lines on standard error",
     .offset = FIELD(verbose)},
    {.kind = SH_OPTION_END},
};

/* The settings except the data: first the model, last the seed, which is mostly the same. */
static const char *words_of(const sh_trial *trial, char words[WORDS_BYTES])
{
    size_t length = 0;
    char clean[256];
    words[0] = '\0';
    for (int i = 0; i < SH_SETTING_COUNT && length < WORDS_BYTES; i++) {
        const sh_setting each = (sh_setting)((i + SH_SETTING_model) % SH_SETTING_COUNT);
        const bool is_model = each == SH_SETTING_model;
        if (trial->settings[each] == NULL || each == SH_SETTING_data)
            continue;
        length += (size_t)snprintf(words + length, WORDS_BYTES - length, "%s%s%s%s",
                                   length > 0 ? ", " : "", is_model ? "" : sh_setting_name(each),
                                   is_model ? "" : " ",
                                   sh_utf8_clean(clean, sizeof clean, trial->settings[each]));
    }
    return words;
}

/* ---- progress ---- */

static void show(void *context, const sh_sweep_event *event)
{
    const sweep_values *given = context;
    const sh_trial *trial = event->trial;
    char words[WORDS_BYTES], clean[120], outcome[160] = "", line[WORDS_BYTES + 320], left[80] = "";
    sh_quantity a, b;
    const bool terminal = sh_console_is_terminal(STDERR_FILENO),
               is_end = event->kind == SH_SWEEP_END;
    if (given->quiet || (!is_end && !terminal))
        return;
    if (is_end && trial->state == SH_TRIAL_FAILED)
        snprintf(outcome, sizeof outcome, "failed: %s, ",
                 sh_utf8_clean(clean, sizeof clean, trial->message));
    else if (is_end && trial->state == SH_TRIAL_DONE)
        snprintf(outcome, sizeof outcome, "%s samples/s, %s, ",
                 sh_quantity_rate(&a, trial->figures[SH_TRIAL_FIGURE_samples_per_second]),
                 sh_quantity_percent(&b, trial->figures[SH_TRIAL_FIGURE_val_accuracy], 2));
    else if (is_end)
        snprintf(outcome, sizeof outcome, "aborted, ");
    if (isfinite(event->left_seconds) && !(is_end && event->number == event->count))
        snprintf(left, sizeof left, ", about %s left",
                 sh_quantity_duration(&a, event->left_seconds));
    const int length =
        snprintf(line, sizeof line, "[%u/%u] %s: %s%s%s", event->number, event->count,
                 words_of(trial, words), outcome, sh_quantity_duration(&b, event->seconds), left);
    if (is_end) {
        fprintf(stderr, "%s%s\n", terminal ? "\r\033[K" : "", line);
        return;
    }
    const int room = (int)sh_console_width(STDERR_FILENO) - 1;
    fprintf(stderr, "\r\033[K%.*s", length < room ? length : room, line);
    fflush(stderr);
}

/* ---- results ---- */

static json_t *text_or_null(const char *text)
{
    return text[0] == '\0' ? json_null() : sh_json_text(text);
}

static json_t *trial_json(const sh_trial *trial)
{
    json_t *root = json_pack(
        "{s:s, s:o, s:s, s:I, s:o}", "id", trial->id, "block", sh_json_text(trial->block), "status",
        sh_trial_state_text(trial->state), "attempts", (json_int_t)trial->attempts, "spent_seconds",
        sh_json_number(trial->spent_seconds));
    json_t *settings = json_object();
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        if (trial->settings[i] != NULL)
            sh_json_set(&settings, sh_setting_name((sh_setting)i),
                        sh_json_text(trial->settings[i]));
    for (int i = 0; i < SH_TRIAL_FIGURE_COUNT; i++)
        sh_json_set(&root, sh_trial_figure_name((sh_trial_figure)i),
                    sh_json_number(trial->figures[i]));
    sh_json_set(&root, "weights_hash", text_or_null(trial->weights_hash));
    sh_json_set(&root, "message", text_or_null(trial->message));
    sh_json_set(&root, "settings", settings);
    return root;
}

static int print_list(const sh_sweep_result *result)
{
    static const char *const heads[] = {"trial", "", "block", "settings"};
    sh_table *table = sh_table_new("<<<<", heads);
    for (size_t i = 0; i < result->trial_count; i++) {
        char words[WORDS_BYTES];
        const sh_trial *trial = &result->trials[i];
        sh_table_add(table, trial->id);
        sh_table_add(table, sh_trial_state_text(trial->state));
        sh_table_add(table, trial->block);
        sh_table_add(table, words_of(trial, words));
    }
    return sh_command_print_table(table, "");
}

static int conclude(const sweep_values *given, sh_status status, const sh_sweep_result *result)
{
    sh_quantity figure;
    char clean[SH_RUN_BYTES], *text;
    int code = result->failed > 0 && !given->options.list ? SH_EXIT_FAILURE : SH_EXIT_DONE;
    if (status == SH_STOPPED)
        code = sh_signals_exit();
    if (!given->quiet && !sh_json_is_output(given->json)) {
        const bool has_tables = result->done + result->failed > 0;
        int printed = SH_EXIT_DONE;
        if (given->options.list && !given->markdown) {
            printed = print_list(result);
        } else if (has_tables && sh_sweep_tables(&text, result->folder, given->markdown) != SH_OK) {
            printed = sh_console_fail("%s", sh_message());
        } else if (has_tables) {
            fputs(text, stdout);
            free(text);
        }
        code = printed != SH_EXIT_DONE ? printed : code;
        sh_console_note("%s in %s: %u done, %u failed, %u waiting",
                        sh_quantity_count(&figure, result->trial_count, "trial"),
                        sh_utf8_clean(clean, sizeof clean, result->folder), result->done,
                        result->failed, result->waiting);
        if (result->others > 0)
            sh_console_note("%s of earlier versions of the study: kept, not shown",
                            sh_quantity_count(&figure, result->others, "trial"));
    }
    json_t *trials = json_array();
    for (size_t i = 0; i < result->trial_count; i++)
        sh_json_append(&trials, trial_json(&result->trials[i]));
    json_t *json = json_pack(
        "{s:o, s:I, s:I, s:I, s:I, s:o}", "folder", sh_json_text(result->folder), "done",
        (json_int_t)result->done, "failed", (json_int_t)result->failed, "waiting",
        (json_int_t)result->waiting, "others", (json_int_t)result->others, "trials", trials);
    code = sh_command_write_json(given->json, json, code);
    if (status == SH_STOPPED && !given->quiet)
        sh_console_note("stopped; repeat the command to continue");
    return code;
}

static int run(const sh_arguments *arguments, void *values)
{
    sweep_values *given = values;
    sh_sweep_result result;
    given->options.file = arguments->positionals[0];
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    if (sh_stop_new(&given->options.stop) != SH_OK)
        return sh_console_fail("%s", sh_message());
    given->options.observer = show;
    given->options.context = given;
    sh_signals_catch(given->options.stop,
                     given->quiet ? NULL : "\naborting the trial; again: at once\n",
                     SH_SIGNALS_TOGETHER_MS);
    const sh_status status = sh_sweep(&given->options, &result);
    sh_signals_release();
    int code;
    if (status == SH_OK || status == SH_STOPPED) {
        code = conclude(given, status, &result);
        sh_sweep_result_release(&result);
    } else {
        code = sh_console_fail("%s", sh_message());
    }
    sh_stop_free(given->options.stop);
    return code;
}

const sh_command sh_sweep_command = {
    .name = "sweep",
    .usage = "STUDY.yaml [options]",
    .summary = "runs the trainings of a study, one after another",
    .details =
        "Every combination of a block's values is trained once. Results are kept, so the same "
        "command\n"
        "continues after a stop or a crash. If the file changes, new trials are run; old trials "
        "that it no\n"
        "longer names are kept but not shown. shoal report prints the tables.\n"
        "\n"
        "  name: my study\n"
        "  all:                          # for every block, unless the block overrides it\n"
        "    data: mnist:$DATA/mnist     # $NAME: an environment variable\n"
        "    lr: 0.02\n"
        "  blocks:\n"
        "    - name: time\n"
        "      model: [lenet, mlp:784-128-10]\n"
        "      devices: 1..4\n"
        "      batch-size: [64, 256]\n"
        "      lr: null                  # the default\n"
        "      exclude:\n"
        "        - {devices: 4, batch-size: 64}\n"
        "\n"
        "Settings are model, data and options of shoal train by their names (devices, batch-size,\n"
        "batch-per-device, strategy, wire, grain, seed, steps, epochs and others). Settings of the "
        "lab are\n"
        "cpu (cores of a device), link (100Mbit), delay (5ms) and ram (512M). A trial with one of "
        "them runs\n"
        "in lab/lab, as root; 'lab: PATH' beside 'name', or SHOAL_LAB, gives its path.\n"
        "\n"
        "examples:\n"
        "  shoal sweep study.yaml\n"
        "  shoal sweep study.yaml --only devices=1 --run runs/first\n",
    .options = options,
    .values_bytes = sizeof(sweep_values),
    .positionals_least = 1,
    .positionals_most = 1,
    .stops = true,
    .run = run,
};
