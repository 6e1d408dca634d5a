/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/shoal.h"

typedef struct eval_values {
    sh_eval_options options;
    const char *json;
    bool quiet, verbose;
} eval_values;

#define FIELD(member) offsetof(eval_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "weights", .value = "FILE",
     .help = "a safetensors file, or the folder of a run", .offset = FIELD(options.weights)},
    {SH_OPTION_U32, .name = "lanes", .value = "N", .help = "cores to compute on (default all)",
     .offset = FIELD(options.lanes), .min = 1, .max = 4096},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES",
     .help = "most memory to take, such as 96M (default: any)", .offset = FIELD(options.memory),
     .min = 1},
    {SH_OPTION_U32, .name = "resize", .value = "N",
     .help = "pixels of the images each way (default: as in training)",
     .offset = FIELD(options.resize), .min = 1},
    {SH_OPTION_TEXT, .name = "normalize", .value = "NAME",
     .help = "dataset, imagenet or none (default: as in training)",
     .offset = FIELD(options.normalize)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the result to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {SH_OPTION_FLAG, .name = "verbose", .help = "log lines on standard error",
     .offset = FIELD(verbose)},
    {.kind = SH_OPTION_END},
};

static int run(const sh_arguments *arguments, void *values)
{
    eval_values *given = values;
    const sh_eval_options *asked = &given->options;
    if (asked->weights == NULL)
        return sh_console_misuse("eval", "eval: needs --weights FILE");
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    given->options.model = arguments->positionals[0];
    given->options.data = arguments->positionals[1];
    sh_eval_result result;
    if (sh_eval(asked, &result) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (!given->quiet && !sh_json_is_output(given->json)) {
        sh_quantity a;
        char clean[SH_RUN_BYTES];
        printf("model       %s, %s\n", sh_utf8_clean(clean, sizeof clean, asked->model),
               sh_quantity_count(&a, result.parameters, "parameter"));
        printf("data        %s, %s\n", sh_utf8_clean(clean, sizeof clean, asked->data),
               sh_quantity_count(&a, result.samples, "sample"));
        printf("weights     %s\n", sh_utf8_clean(clean, sizeof clean, result.weights_hash));
        printf("loss        %s\n", sh_quantity_loss(&a, result.loss));
        if (isnan(result.accuracy))
            printf("error       %s, mean absolute\n", sh_quantity_loss(&a, result.mae));
        else
            printf("accuracy    %s\n", sh_quantity_percent(&a, result.accuracy, 2));
        printf("time        %s\n", sh_quantity_duration(&a, result.seconds));
    }
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "model", sh_json_text(asked->model),
        "data", sh_json_text(asked->data), "weights", sh_json_text(asked->weights), "parameters",
        (json_int_t)result.parameters, "samples", (json_int_t)result.samples, "loss",
        sh_json_number(result.loss), "accuracy", sh_json_number(result.accuracy), "mae",
        sh_json_number(result.mae), "seconds", sh_json_number(result.seconds), "weights_hash",
        sh_json_text(result.weights_hash));
    return sh_command_write_json(given->json, json, SH_EXIT_DONE);
}

const sh_command sh_eval_command = {
    .name = "eval",
    .usage = "MODEL DATA --weights FILE [options]",
    .summary = "measures trained weights",
    .details = "How images were resized and normalised in training is taken from the weights where "
               "a run has\nwritten them.\n"
               "\nexamples:\n"
               "  shoal eval lenet mnist:DIR --weights runs/RUN\n"
               "  shoal eval lenet cifar10:DIR --weights lenet.safetensors --normalize imagenet\n",
    .options = options,
    .values_bytes = sizeof(eval_values),
    .positionals_least = 2,
    .positionals_most = 2,
    .run = run,
};
