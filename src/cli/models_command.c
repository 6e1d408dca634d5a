/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/describe.h"

typedef struct models_values {
    const char *sample, *json;
} models_values;

#define FIELD(member) offsetof(models_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "sample", .value = "CxHxW",
     .help = "size of samples, such as 3x64x64 (default: the model's)", .offset = FIELD(sample)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write it to FILE ('-': standard output) instead", .offset = FIELD(json)},
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

/* ---- all models ------------------------------------------------------------------------------ */

static int list_models(void)
{
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

/* ---- one model ------------------------------------------------------------------------------- */

static json_t *problems_json(const sh_model_description *about)
{
    json_t *problems = json_array();
    for (size_t i = 0; i < about->problem_count; i++) {
        const sh_described_problem *problem = &about->problems[i];
        sh_json_append(&problems, json_pack("{s:o, s:o, s:o}", "node", sh_json_text(problem->name),
                                            "operator", sh_json_text(problem->operation), "reason",
                                            sh_json_text(problem->reason)));
    }
    return problems;
}

static json_t *layers_json(const sh_model_description *about)
{
    json_t *layers = json_array();
    for (size_t i = 0; i < about->layer_count; i++) {
        const sh_described_layer *layer = &about->layers[i];
        sh_json_append(&layers,
                       json_pack("{s:o, s:o, s:s, s:I, s:I}", "name", sh_json_text(layer->name),
                                 "operator", sh_json_text(layer->operation), "shape", layer->shape,
                                 "parameters", (json_int_t)layer->parameters, "multiply_adds",
                                 (json_int_t)layer->multiply_adds));
    }
    return layers;
}

static json_t *description_json(const char *model, const sh_model_description *about)
{
    json_t *notes = json_array();
    for (size_t i = 0; i < about->note_count; i++)
        sh_json_append(&notes, sh_json_text(about->notes[i].text));
    json_t *file = NULL;
    if (about->opset > 0)
        file = json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "producer",
                         sh_json_text(about->producer), "opset", (json_int_t)about->opset, "ir",
                         (json_int_t)about->ir, "input", sh_json_text(about->input), "input_shape",
                         sh_json_text(about->input_shape), "output", sh_json_text(about->output),
                         "batch", (json_int_t)about->baked, "nodes", (json_int_t)about->nodes,
                         "known_nodes", (json_int_t)about->known, "batch_norms",
                         (json_int_t)about->norms, "folded_batch_norms", (json_int_t)about->folded);
    return json_pack(
        "{s:o, s:b, s:o*, s:[I, I, I], s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
        "model", sh_json_text(model), "trains", about->problem_count == 0, "file", file, "sample",
        (json_int_t)about->channels, (json_int_t)about->height, (json_int_t)about->width, "outputs",
        (json_int_t)about->outputs, "parameters", (json_int_t)about->parameters, "statistics",
        (json_int_t)about->statistics, "constants", (json_int_t)about->constants, "multiply_adds",
        (json_int_t)about->multiply_adds, "grain", (json_int_t)about->memory.grain, "lane_bytes",
        (json_int_t)about->memory.lane_bytes, "weights_bytes",
        (json_int_t)about->memory.weights_bytes, "layers", layers_json(about), "notes", notes,
        "problems", problems_json(about));
}

static void print_head(const char *model, const sh_model_description *about)
{
    char clean[SH_DESCRIBE_TEXT_BYTES];
    sh_quantity a;
    printf("model       %s", sh_utf8_clean(clean, sizeof clean, model));
    if (about->opset > 0)
        printf(", by %s, opset %" PRId64 ", IR %" PRId64,
               about->producer[0] == '\0' ? "an unnamed producer" : about->producer, about->opset,
               about->ir);
    printf("\ninput       %zux%zux%zu", about->channels, about->height, about->width);
    if (about->input[0] != '\0')
        printf(" as '%s', %s in the file", sh_utf8_clean(clean, sizeof clean, about->input),
               about->input_shape[0] == '\0' ? "of any shape" : about->input_shape);
    if (about->baked > 0)
        printf("; its batch of %" PRIu64 " is ignored", about->baked);
    printf("\noutput      ");
    if (about->output[0] != '\0')
        printf("'%s': ", sh_utf8_clean(clean, sizeof clean, about->output));
    puts(about->outputs == 0 ? "unknown" : sh_quantity_count(&a, about->outputs, "number"));
    putchar('\n');
}

static int print_layers(const sh_model_description *about)
{
    static const char *const heads[] = {"layer", "operator", "output", "parameters",
                                        "multiply-adds"};
    sh_table *table = sh_table_new("<<>>>", heads);
    sh_quantity figure;
    for (size_t i = 0; i < about->layer_count; i++) {
        const sh_described_layer *layer = &about->layers[i];
        sh_table_add(table, layer->name);
        sh_table_add(table, layer->operation);
        sh_table_add(table, layer->shape);
        sh_table_add(table, sh_quantity_whole(&figure, layer->parameters));
        sh_table_add(table, sh_quantity_whole(&figure, layer->multiply_adds));
    }
    sh_table_add(table, "all");
    sh_table_add(table, "");
    sh_table_add(table, "");
    sh_table_add(table, sh_quantity_whole(&figure, about->parameters));
    sh_table_add(table, sh_quantity_whole(&figure, about->multiply_adds));
    return sh_command_print_table(table, "");
}

static int print_rest(const sh_model_description *about)
{
    sh_quantity a, b, c;
    printf("\nweights     %s trained, %s running statistics, %s constants\n",
           sh_quantity_whole(&a, about->parameters), sh_quantity_whole(&b, about->statistics),
           sh_quantity_whole(&c, about->constants));
    if (about->memory.grain > 0)
        printf("memory      %s MB, and %s MB a lane with grains of %u samples\n",
               sh_quantity_megabytes(&a, about->memory.weights_bytes),
               sh_quantity_megabytes(&b, about->memory.lane_bytes), about->memory.grain);
    for (size_t i = 0; i < about->note_count; i++)
        printf("%s%s\n", i == 0 ? "\nnote        " : "            ", about->notes[i].text);
    if (about->problem_count == 0)
        return SH_EXIT_DONE;
    puts("\ncannot be trained:");
    for (size_t i = 0; i < about->problem_count; i++) {
        const sh_described_problem *problem = &about->problems[i];
        if (problem->name[0] != '\0')
            printf("  %s (%s): ", problem->name, problem->operation);
        printf("%s%s\n", problem->name[0] == '\0' ? "  " : "", problem->reason);
    }
    return SH_EXIT_FAILURE;
}

/* "3x64x64" */
static bool read_sample(sh_describe_options *asked, const char *text)
{
    int end = 0;
    return sscanf(text, "%5zux%5zux%5zu%n", &asked->channels, &asked->height, &asked->width,
                  &end) == 3 &&
           text[end] == '\0' && asked->channels > 0 && asked->height > 0 && asked->width > 0;
}

static int describe(const char *model, const models_values *given)
{
    sh_describe_options asked = {.model = model};
    sh_model_description *about;
    if (given->sample != NULL && !read_sample(&asked, given->sample))
        return sh_console_misuse(
            "models", "--sample %s: expected channels, height and width, such as 3x64x64",
            given->sample);
    if (sh_names_check(model, NULL) != SH_OK)
        return sh_console_misuse("models", "%s", sh_message());
    if (sh_model_describe(&about, &asked) != SH_OK)
        return sh_console_fail("%s", sh_message());
    int code = about->problem_count == 0 ? SH_EXIT_DONE : SH_EXIT_FAILURE;
    if (given->json != NULL) {
        code = sh_command_write_json(given->json, description_json(model, about), code);
    } else {
        print_head(model, about);
        if (print_layers(about) == SH_EXIT_DONE)
            code = print_rest(about);
    }
    sh_model_description_free(about);
    return code;
}

static int run(const sh_arguments *arguments, void *values)
{
    const models_values *given = values;
    if (arguments->positional_count == 1)
        return describe(arguments->positionals[0], given);
    if (given->sample != NULL)
        return sh_console_misuse("models", "--sample: needs a MODEL");
    return given->json != NULL ? write_json(given->json) : list_models();
}

const sh_command sh_models_command = {
    .name = "models",
    .usage = "[MODEL] [options]",
    .summary = "lists the built-in models, or describes one",
    .details = "MODEL is an ONNX file or a built-in model. Shows its producer, its layers with "
               "their output and\n"
               "cost, its memory, what training changes, and what cannot be trained, with the "
               "remedy. If something\n"
               "cannot be trained, the exit code is 1.\n"
               "\n"
               "The list has the figures of each example, for samples of the size shown. "
               "Multiply-adds are those of\n"
               "convolutions, dense layers and matrix products in the forward pass of one sample. "
               "MB is the memory\n"
               "of training for weights, summed gradients and momentum; MB a lane is what each "
               "lane needs besides,\n"
               "with grains of 16 samples. shoal plan has the figures of a job.\n"
               "\n"
               "examples:\n"
               "  shoal models network.onnx\n"
               "  shoal models resnet:20 --sample 3x64x64\n",
    .options = options,
    .values_bytes = sizeof(models_values),
    .positionals_most = 1,
    .run = run,
};
