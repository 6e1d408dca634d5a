/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/figures.h"
#include "cli/json_file.h"
#include "cli/table.h"
#include "shoal/about.h"

typedef struct models_values {
    const char *json;
} models_values;

static const sh_option options[] = {
    {.kind = SH_OPTION_TEXT,
     .name = "json",
     .value = "FILE",
     .help = "write them to FILE ('-': standard output) instead",
     .offset = offsetof(models_values, json)},
    {.kind = SH_OPTION_END},
};

static int write_json(const char *path)
{
    json_t *models = json_array();
    sh_model_info info;
    for (size_t i = 0; models != NULL && sh_model_list(i, &info) == SH_OK; i++) {
        json_t *model =
            json_pack("{s:s, s:s, s:s, s:s, s:[I, I, I], s:I, s:I, s:I}", "name", info.name,
                      "usage", info.usage, "summary", info.summary, "example", info.example,
                      "sample", (json_int_t)info.channels, (json_int_t)info.height,
                      (json_int_t)info.width, "classes", (json_int_t)info.classes, "parameters",
                      (json_int_t)info.parameters, "multiply_adds", (json_int_t)info.multiply_adds);
        if (json_array_append_new(models, model) != 0) {
            json_decref(models);
            models = NULL;
        }
    }
    json_t *root = json_pack("{s:o}", "models", models);
    sh_trouble trouble;
    if (!sh_json_file_write(&trouble, path, root))
        return sh_console_fail("%s", trouble.text);
    return SH_EXIT_DONE;
}

static int run(const sh_arguments *arguments, void *values)
{
    (void)arguments;
    const models_values *given = values;
    if (given->json != NULL)
        return write_json(given->json);
    static const char *const heads[] = {"model", "what it is", "for example", "parameters",
                                        "multiply-adds"};
    sh_table *table = sh_table_new("<<<>>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        sh_table_add(table, heads[i]);
    sh_model_info info;
    for (size_t i = 0; sh_model_list(i, &info) == SH_OK; i++) {
        sh_figure figure;
        sh_table_add(table, info.usage);
        sh_table_add(table, info.summary);
        sh_table_add(table, info.example);
        sh_table_add(table, sh_figure_whole(&figure, info.parameters));
        sh_table_add(table, sh_figure_whole(&figure, info.multiply_adds));
    }
    const bool good = sh_table_print(table, stdout, "");
    sh_table_free(table);
    return good ? SH_EXIT_DONE : sh_console_fail("not enough memory");
}

const sh_command sh_models_command = {
    .name = "models",
    .usage = "[--json FILE]",
    .summary = "lists the built-in models",
    .details = "Parameters and multiply-adds (of one sample's forward pass) are the example's.\n",
    .options = options,
    .values_bytes = sizeof(models_values),
    .run = run,
};
