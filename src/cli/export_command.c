/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/export.h"

typedef struct export_values {
    sh_model_export options;
    const char *format, *json;
    bool last, bake, fold, quiet;
} export_values;

#define FIELD(member) offsetof(export_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "output", .letter = 'o', .value = "FILE",
     .help = "the file to write, such as model.onnx", .offset = FIELD(options.output)},
    {SH_OPTION_TEXT, .name = "format", .value = "NAME", .words = "onnx|safetensors|npz",
     .suggests = true, .help = "onnx, safetensors or npz (default: from the name of FILE)",
     .offset = FIELD(format)},
    {SH_OPTION_FLAG, .name = "last", .help = "export the last checkpoint, not the best",
     .offset = FIELD(last)},
    {SH_OPTION_FLAG, .name = "bake",
     .help = "onnx: the model takes pixels from 0 to 255 and normalises them itself",
     .offset = FIELD(bake)},
    {SH_OPTION_FLAG, .name = "fold",
     .help = "onnx: fold batch normalisations into the layers before them", .offset = FIELD(fold)},
    {SH_OPTION_U32, .name = "int8", .value = "N", .min = 1, .max = 1000000,
     .help = "onnx: quantise to 8-bit integers by the ranges of N training samples",
     .offset = FIELD(options.int8)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write what was done to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {.kind = SH_OPTION_END},
};

/* False: an unknown format, or none in the file's name. */
static bool find_format(sh_model_format *format, const export_values *given)
{
    static const char *const names[] = {
        [SH_MODEL_AS_ONNX] = "onnx",
        [SH_MODEL_AS_SAFETENSORS] = "safetensors",
        [SH_MODEL_AS_NPZ] = "npz",
    };
    if (given->format == NULL)
        return sh_model_format_of_file(format, given->options.output) != 0;
    for (int i = SH_MODEL_AS_ONNX; i <= SH_MODEL_AS_NPZ; i++)
        if (strcmp(given->format, names[i]) == 0) {
            *format = (sh_model_format)i;
            return true;
        }
    return false;
}

static const char *figure(sh_quantity *text, const sh_model_figures *figures)
{
    return isnan(figures->accuracy) ? sh_quantity_loss(text, figures->mae)
                                    : sh_quantity_percent(text, figures->accuracy, 2);
}

static void print_quantised(const sh_model_quantised *found)
{
    sh_quantity a, b, c;
    if (found->samples == 0)
        return;
    printf("%-11s %s in int8, %s in float32 (%s)\n",
           isnan(found->after.accuracy) ? "error" : "accuracy", figure(&a, &found->after),
           figure(&b, &found->before), sh_quantity_count(&c, found->samples, "validation sample"));
}

static json_t *figures_json(const sh_model_figures *figures)
{
    return json_pack("{s:o, s:o, s:o}", "loss", sh_json_number(figures->loss), "accuracy",
                     sh_json_number(figures->accuracy), "mae", sh_json_number(figures->mae));
}

static void add_quantised(json_t *json, const sh_model_quantised *found)
{
    if (found->samples == 0)
        return;
    (void)json_object_set_new(json, "float32", figures_json(&found->before));
    (void)json_object_set_new(json, "int8", figures_json(&found->after));
    (void)json_object_set_new(json, "samples", json_integer((json_int_t)found->samples));
}

static int run(const sh_arguments *arguments, void *values)
{
    export_values *given = values;
    sh_model_export *asked = &given->options;
    sh_model_exported result;
    sh_quantity a;
    char clean[SH_RUN_BYTES];
    asked->weights = arguments->positionals[0];
    asked->last = given->last;
    asked->bake = given->bake;
    asked->fold = given->fold;
    if (asked->output == NULL)
        return sh_console_misuse("export", "export: needs -o FILE, such as -o model.onnx");
    if (!find_format(&asked->format, given))
        return sh_console_misuse("export", "export: --format is onnx, safetensors or npz, or "
                                           "FILE ends so");
    if (asked->int8 > 0 && asked->format != SH_MODEL_AS_ONNX)
        return sh_console_misuse(
            "export", "export: --int8 is for onnx: the other formats hold the trained weights");
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (sh_export_model(asked, &result) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (!given->quiet && !sh_json_is_output(given->json)) {
        printf("model       %s, %s\n", sh_utf8_clean(clean, sizeof clean, result.model),
               sh_quantity_count(&a, result.parameters, "parameter"));
        printf("weights     %s\n", sh_utf8_clean(clean, sizeof clean, result.weights));
        printf("written     %s, %s\n", sh_utf8_clean(clean, sizeof clean, asked->output),
               sh_quantity_of(&a, (double)result.bytes, SH_UNIT_bytes));
        print_quantised(&result.quantised);
    }
    json_t *json =
        json_pack("{s:o, s:o, s:o, s:I, s:I}", "model", sh_json_text(result.model), "weights",
                  sh_json_text(result.weights), "output", sh_json_text(asked->output), "parameters",
                  (json_int_t)result.parameters, "bytes", (json_int_t)result.bytes);
    add_quantised(json, &result.quantised);
    return sh_command_write_json(given->json, json, SH_EXIT_DONE);
}

const sh_command sh_export_command = {
    .name = "export",
    .usage = "RUN -o FILE [options]",
    .summary = "writes a trained model as ONNX, safetensors or NumPy arrays",
    .details = "RUN is the folder of a training or a checkpoint. From a folder the best checkpoint "
               "is exported if it\n"
               "has one, or else the last. The training data are needed only for --int8.\n"
               "\n"
               "onnx: operators of version 17. The input is \"input\" [N, C, H, W] for any N; "
               "\"output\" has a logit for\n"
               "each class or label, or numbers. The metadata have the names of classes, task, "
               "imgsz, channels, and\n"
               "the mean and std that normalise pixels from 0 to 1 (with --bake the model does "
               "that itself).\n"
               "A network from an ONNX file keeps its own nodes, names and operator version.\n"
               "--int8 quantises weights and values to 8-bit integers (QuantizeLinear, "
               "DequantizeLinear) and folds\n"
               "batch normalisations. It prints the loss of accuracy.\n"
               "safetensors, npz: only the weights, under their names.\n"
               "\n"
               "examples:\n"
               "  shoal export runs/RUN -o model.onnx\n"
               "  shoal export runs/RUN -o model.onnx --bake\n"
               "  shoal export runs/RUN -o model.onnx --int8 200\n"
               "  shoal export runs/RUN -o model.safetensors\n"
               "  shoal export runs/RUN -o model.npz\n",
    .options = options,
    .values_bytes = sizeof(export_values),
    .positionals_least = 1,
    .positionals_most = 1,
    .run = run,
};
