/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/figures_output.h"
#include "cli/json_file.h"
#include "shoal/shoal.h"

#define WORST 1000

typedef struct eval_values {
    sh_eval_options options;
    const char *json, *errors;
    uint32_t most;
    bool quiet, verbose, confusion;
} eval_values;

#define FIELD(member) offsetof(eval_values, member)

static const sh_option options[] = {
    {SH_OPTION_FLAG, .name = "confusion", .help = "print the confusion matrix",
     .offset = FIELD(confusion)},
    {SH_OPTION_TEXT, .name = "errors", .value = "FILE",
     .help = "largest losses: write samples as CSV ('-': print), or to FILE.html as pictures",
     .offset = FIELD(errors)},
    {SH_OPTION_U32, .name = "most", .value = "N",
     .help = "most samples that --errors writes (default 1000)", .offset = FIELD(most), .min = 1,
     .max = SH_EVAL_WORST_MOST},
    {SH_OPTION_TEXT, .name = "weights", .value = "FILE",
     .help = "safetensors file or folder of a run; give MODEL if the file does not name it",
     .offset = FIELD(options.weights)},
    {SH_OPTION_U32, .name = "lanes", .value = "N", .help = "cores to compute on (default: all)",
     .offset = FIELD(options.lanes), .min = 1, .max = 4096},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES",
     .help = "memory limit, such as 96M (default: none)", .offset = FIELD(options.memory),
     .min = 1},
    {SH_OPTION_U32, .name = "resize", .value = "N",
     .help = "width and height of images in pixels (default: as in training)",
     .offset = FIELD(options.resize), .min = 1},
    {SH_OPTION_TEXT, .name = "normalize", .value = "NAME", .words = "dataset|imagenet|none",
     .suggests = true, .help = "normalise by: dataset, imagenet, none (default: as in training)",
     .offset = FIELD(options.normalize)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the result to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {SH_OPTION_FLAG, .name = "verbose", .help = "print log lines on standard error",
     .offset = FIELD(verbose)},
    {.kind = SH_OPTION_END},
};

static void print_result(const sh_eval_result *result, const json_t *figures)
{
    sh_quantity a;
    char clean[SH_RUN_BYTES];
    printf("model       %s, %s\n", sh_utf8_clean(clean, sizeof clean, result->model),
           sh_quantity_count(&a, result->parameters, "parameter"));
    printf("data        %s, %s\n", sh_utf8_clean(clean, sizeof clean, result->data),
           sh_quantity_count(&a, result->samples, "sample"));
    printf("file        %s\n", sh_utf8_clean(clean, sizeof clean, result->weights));
    printf("weights     %s\n", sh_utf8_clean(clean, sizeof clean, result->weights_hash));
    printf("loss        %s\n", sh_quantity_loss(&a, result->loss));
    sh_figures_print(figures);
    printf("time        %s\n", sh_quantity_duration(&a, result->seconds));
}

/* Takes `figures` over. */
static json_t *result_json(const sh_eval_result *result, json_t *figures)
{
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "model", sh_json_text(result->model),
        "data", sh_json_text(result->data), "weights", sh_json_text(result->weights), "parameters",
        (json_int_t)result->parameters, "samples", (json_int_t)result->samples, "loss",
        sh_json_number(result->loss), "accuracy", sh_json_number(result->accuracy), "mae",
        sh_json_number(result->mae), "seconds", sh_json_number(result->seconds), "weights_hash",
        sh_json_text(result->weights_hash));
    sh_json_set(&json, "metrics", figures);
    return json;
}

/* Writes the samples with the largest losses: a page if the file's name ends in .html, else CSV. */
static sh_status write_errors(const char *path, const sh_eval_result *result)
{
    static const char end[] = ".html";
    char title[SH_MODEL_BYTES + SH_DATA_BYTES + 8], *html;
    const size_t length = strlen(path);
    if (length < sizeof end || strcmp(path + length - (sizeof end - 1), end) != 0)
        return sh_result_file_write("--errors", path, result->worst);
    snprintf(title, sizeof title, "%s on %s", result->model, result->data);
    sh_status status = sh_eval_page(&html, result->pictures, title);
    if (status != SH_OK)
        return status;
    status = sh_result_file_write("--errors", path, html);
    free(html);
    return status;
}

static int show(const eval_values *given, const sh_eval_result *result)
{
    int code = SH_EXIT_DONE;
    const bool prints =
        !given->quiet && !sh_json_is_output(given->json) && !sh_json_is_output(given->errors);
    json_t *figures = json_loads(result->metrics, 0, NULL);
    if (figures == NULL)
        return sh_console_fail("not enough memory");
    if (result->note[0] != '\0')
        sh_console_note("%s", result->note);
    if (prints)
        print_result(result, figures);
    if (prints && given->confusion)
        code = sh_figures_print_classes(figures);
    if (code == SH_EXIT_DONE && given->errors != NULL &&
        write_errors(given->errors, result) != SH_OK)
        code = sh_console_fail("%s", sh_message());
    return sh_command_write_json(given->json, result_json(result, figures), code);
}

static int run(const sh_arguments *arguments, void *values)
{
    eval_values *given = values;
    sh_eval_options *asked = &given->options;
    const char *first = arguments->positionals[0];
    const bool two = arguments->positional_count == 2;
    if (asked->weights == NULL && access(first, F_OK) != 0)
        return sh_console_misuse(
            "eval", "eval: no run %.160s; needs RUN, or [MODEL] DATA --weights FILE", first);
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->errors != NULL && !sh_json_is_output(given->errors) &&
        sh_result_file_check("--errors", given->errors) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (sh_json_is_output(given->json) && sh_json_is_output(given->errors))
        return sh_console_misuse("eval", "eval: --json and --errors cannot both be '-'");
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    asked->data = two ? arguments->positionals[1] : NULL;
    if (asked->weights == NULL)
        asked->weights = first;
    else if (two)
        asked->model = first;
    else
        asked->data = first;
    asked->worst = given->errors == NULL ? 0 : given->most > 0 ? given->most : WORST;
    sh_eval_result result;
    if (sh_eval(asked, &result) != SH_OK)
        return sh_console_fail("%s", sh_message());
    const int code = show(given, &result);
    sh_eval_result_release(&result);
    return code;
}

const sh_command sh_eval_command = {
    .name = "eval",
    .usage = "RUN [DATA] [options]",
    .summary = "measures a trained model",
    .details =
        "RUN is the folder of a training or a checkpoint. From a folder the best checkpoint is "
        "measured if it\n"
        "has one, or else the last. It is measured on the validation samples of its own data, or "
        "on those of\n"
        "DATA; if DATA has no split of its own, on all of its samples. Tables and photos are "
        "prepared as in\n"
        "the training: columns and classes are matched by name, and numbers are scaled by the "
        "figures of the\n"
        "training samples. A word that no training row had counts as missing.\n"
        "shoal eval FILE.onnx DATA measures an ONNX file. A file of shoal export is measured like "
        "its\n"
        "run. Any other gets images with bytes divided by 255, unless --normalize says otherwise.\n"
        "shoal eval [MODEL] DATA --weights FILE measures weights of any origin; a checkpoint names "
        "its MODEL.\n"
        "\n"
        "ROC AUC is the probability that a sample of a class scores higher for it than another "
        "sample. AP is\n"
        "the mean precision over recall. R2 is the part of the targets' variance that the model "
        "explains.\n"
        "error 95 % is the error that 95 % of the samples do not exceed, a threshold for "
        "anomalies.\n"
        "\n"
        "examples:\n"
        "  shoal eval runs/RUN --confusion\n"
        "  shoal eval runs/RUN photos:NEW --errors worst.csv\n"
        "  shoal eval runs/RUN --errors worst.html\n"
        "  shoal eval model.onnx photos:NEW\n"
        "  shoal eval lenet mnist:DIR --weights lenet.safetensors --normalize imagenet\n",
    .options = options,
    .values_bytes = sizeof(eval_values),
    .positionals_least = 1,
    .positionals_most = 2,
    .run = run,
};
