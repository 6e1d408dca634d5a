/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/quantity.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/about.h"

typedef struct models_values {
    const char *json;
} models_values;

#define FIELD(member) offsetof(models_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write them to FILE ('-': standard output) instead", .offset = FIELD(json)},
    {.kind = SH_OPTION_END},
};

static int write_json(const char *path)
{
    json_t *models = json_array();
    sh_model_info info;
    sh_model_memory memory;
    for (size_t i = 0; models != NULL && sh_model_list(i, &info) == SH_OK; i++) {
        if (sh_model_memory_of(i, &memory) != SH_OK) {
            json_decref(models);
            return sh_console_fail("%s", sh_message());
        }
        json_t *model = json_pack(
            "{s:s, s:s, s:s, s:s, s:[I, I, I], s:I, s:I, s:I, s:I, s:I, s:I}", "name", info.name,
            "usage", info.usage, "summary", info.summary, "example", info.example, "sample",
            (json_int_t)info.channels, (json_int_t)info.height, (json_int_t)info.width, "classes",
            (json_int_t)info.classes, "parameters", (json_int_t)info.parameters, "multiply_adds",
            (json_int_t)info.multiply_adds, "grain", (json_int_t)memory.grain, "lane_bytes",
            (json_int_t)memory.lane_bytes, "weights_bytes", (json_int_t)memory.weights_bytes);
        sh_json_append(&models, model);
    }
    return sh_command_write_json(path, json_pack("{s:o}", "models", models), SH_EXIT_DONE);
}

static int run(const sh_arguments *arguments, void *values)
{
    (void)arguments;
    const models_values *given = values;
    if (given->json != NULL)
        return write_json(given->json);
    static const char *const heads[] = {"model",      "what it is",    "for example", "sample",
                                        "parameters", "multiply-adds", "MB",          "MB a lane"};
    sh_table *table = sh_table_new("<<<<>>>>", heads);
    sh_model_info info;
    sh_model_memory memory;
    for (size_t i = 0; sh_model_list(i, &info) == SH_OK; i++) {
        sh_quantity figure;
        if (sh_model_memory_of(i, &memory) != SH_OK) {
            sh_table_free(table);
            return sh_console_fail("%s", sh_message());
        }
        sh_table_add(table, info.usage);
        sh_table_add(table, info.summary);
        sh_table_add(table, info.example);
        sh_table_format(table, "%zux%zux%zu", info.channels, info.height, info.width);
        sh_table_add(table, sh_quantity_whole(&figure, info.parameters));
        sh_table_add(table, sh_quantity_whole(&figure, info.multiply_adds));
        sh_table_add(table, sh_quantity_megabytes(&figure, memory.weights_bytes));
        sh_table_add(table, sh_quantity_megabytes(&figure, memory.lane_bytes));
    }
    return sh_command_print_table(table, "");
}

const sh_command sh_models_command = {
    .name = "models",
    .usage = "[--json FILE]",
    .summary = "lists the built-in models",
    .details = "Figures are the example's, for samples of the size shown. Multiply-adds: of "
               "convolutions and\n"
               "dense layers, forward, for one sample. MB: memory of training, for weights, summed "
               "gradients\n"
               "and momentum, and for each lane beside them, with grains of 16 samples. shoal plan "
               "has the\n"
               "figures of a job.\n",
    .options = options,
    .values_bytes = sizeof(models_values),
    .run = run,
};
