/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "shoal/about.h"
#include "shoal/bench.h"

typedef struct bench_values {
    sh_bench_options options;
    float seconds;
    const char *json;
    bool quiet;
} bench_values;

#define USUAL_GRAIN 16

#define FIELD(member) offsetof(bench_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "models", .value = "LIST",
     .help = "models to measure layer by layer, such as lenet,mlp (default: all, as a whole)",
     .offset = FIELD(options.models)},
    {SH_OPTION_U32, .name = "resize", .value = "N",
     .help = "with --models: width and height of images in pixels (default: the model's example)",
     .offset = FIELD(options.resize), .min = 1},
    {SH_OPTION_FLOAT, .name = "seconds", .value = "X", .help = "approximate time for each model",
     .offset = FIELD(seconds), .shows_default = true},
    {SH_OPTION_U32, .name = "lanes", .value = "N", .help = "cores to compute on (default: all)",
     .offset = FIELD(options.lanes), .min = 1, .max = 1024},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the result to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {.kind = SH_OPTION_END},
};

static void init(void *values)
{
    ((bench_values *)values)->seconds = 1.5f;
}

static json_t *rate_json(const sh_bench_rate *rate)
{
    return json_pack("{s:o, s:o}", "one", sh_json_number(rate->one), "all",
                     sh_json_number(rate->all));
}

/* Operations per second of each part; null: not computed. */
static json_t *layers_json(const sh_bench_model *model)
{
    json_t *layers = json_array();
    for (size_t i = 0; i < model->layer_count; i++) {
        const sh_bench_layer *layer = &model->layers[i];
        json_t *rates[SH_BENCH_PARTS];
        for (int part = 0; part < SH_BENCH_PARTS; part++)
            rates[part] = sh_json_number(layer->parts[part].flops / layer->parts[part].seconds);
        sh_json_append(&layers,
                       json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "layer", layer->name, "weights",
                                 layer->weights, "result", layer->result, "forward",
                                 rates[SH_BENCH_FORWARD], "input_gradient", rates[SH_BENCH_INPUT],
                                 "weight_gradient", rates[SH_BENCH_WEIGHTS]));
    }
    return layers;
}

static json_t *result_json(const sh_bench_result *result)
{
    json_t *models = json_array();
    for (size_t i = 0; i < result->model_count; i++) {
        const sh_bench_model *model = &result->models[i];
        json_t *item =
            json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "model",
                      sh_json_text(model->model), "grain", (json_int_t)model->grain,
                      "grains_per_second", sh_json_number(model->grains_per_second),
                      "samples_per_second", sh_json_number(model->samples_per_second),
                      "flops_per_second", sh_json_number(model->flops_per_second), "step_seconds",
                      sh_json_number(model->step_seconds), "predicted_seconds",
                      sh_json_number(model->predicted_seconds), "layers", layers_json(model));
        sh_json_append(&models, item);
    }
    return json_pack(
        "{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "lanes", (json_int_t)result->lanes,
        "variant", result->variant, "multiply_add_flops_per_second",
        rate_json(&result->multiply_add), "matrix_flops_per_second", rate_json(&result->matrix),
        "convolution_flops_per_second", rate_json(&result->convolution), "copy_bytes_per_second",
        rate_json(&result->copy), "triad_bytes_per_second", rate_json(&result->triad), "seconds",
        sh_json_number(result->seconds), "models", models, "file", sh_json_text(result->file));
}

/* Shows each layer's parts relative to the peak per core when all cores compute. */
static int print_layers(const sh_bench_result *result, const sh_bench_model *model)
{
    static const char *const heads[] = {"layer",   "weights",        "result",
                                        "forward", "input gradient", "weight gradient"};
    const double peak = result->multiply_add.all / result->lanes;
    printf("\n%s, grain %u: GFLOP/s of a core, and of its peak (%.1f)\n\n", model->model,
           model->grain, peak * 1e-9);
    sh_table *table = sh_table_new("<<<>>>", heads);
    for (size_t i = 0; i < model->layer_count; i++) {
        const sh_bench_layer *layer = &model->layers[i];
        const char *const texts[] = {layer->name, layer->weights, layer->result};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            sh_table_add(table, texts[k]);
        for (int part = 0; part < SH_BENCH_PARTS; part++) {
            const double rate = layer->parts[part].flops / layer->parts[part].seconds;
            if (layer->parts[part].seconds > 0)
                sh_table_format(table, "%.1f  %3.0f %%", rate * 1e-9, 100 * rate / peak);
            else
                sh_table_add(table, "-");
        }
    }
    return sh_command_print_table(table, "");
}

static int print_result(const sh_bench_result *result, bool layers)
{
    const struct {
        const char *name, *unit;
        const sh_bench_rate *rate;
    } rows[] = {
        {"multiply-adds", "GFLOP/s", &result->multiply_add},
        {"matrix product", "GFLOP/s", &result->matrix},
        {"convolution", "GFLOP/s", &result->convolution},
        {"memory copy", "GB/s", &result->copy},
        {"memory triad", "GB/s", &result->triad},
    };
    static const char *const heads[] = {"model",     "grain",   "grains/s",
                                        "samples/s", "GFLOP/s", "step ms"};
    sh_quantity figure;
    char clean[SH_RUN_BYTES];
    printf("variant     %s\n", result->variant);
    printf("time        %s\n", sh_quantity_duration(&figure, result->seconds));
    if (result->file[0] != '\0')
        printf("kept in     %s\n", sh_utf8_clean(clean, sizeof clean, result->file));
    putchar('\n');

    const char *const rate_heads[] = {"", "one core",
                                      sh_quantity_count(&figure, result->lanes, "lane"), ""};
    sh_table *rates = sh_table_new("<>><", rate_heads);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sh_table_add(rates, rows[i].name);
        sh_table_format(rates, "%.1f", rows[i].rate->one * 1e-9);
        sh_table_format(rates, "%.1f", rows[i].rate->all * 1e-9);
        sh_table_add(rates, rows[i].unit);
    }
    if (sh_command_print_table(rates, "") != SH_EXIT_DONE)
        return SH_EXIT_FAILURE;
    putchar('\n');

    sh_table *models = sh_table_new("<>>>>>", heads);
    for (size_t i = 0; i < result->model_count; i++) {
        const sh_bench_model *model = &result->models[i];
        sh_table_add(models, model->model);
        sh_table_add(models, sh_quantity_whole(&figure, model->grain));
        sh_table_add(models, sh_quantity_rate(&figure, model->grains_per_second));
        sh_table_add(models, sh_quantity_rate(&figure, model->samples_per_second));
        sh_table_format(models, "%.1f", model->flops_per_second * 1e-9);
        sh_table_format(models, "%.2f", model->step_seconds * 1e3);
    }
    int code = sh_command_print_table(models, "");
    for (size_t i = 0; i < result->model_count && layers && code == SH_EXIT_DONE; i++) {
        const sh_bench_model *model = &result->models[i];
        const bool last = i + 1 == result->model_count || strcmp(model[1].model, model->model) != 0;
        /* Of each model, only the largest grain that jobs choose by default. */
        if (last ? model->grain <= USUAL_GRAIN : model[1].grain > USUAL_GRAIN)
            code = print_layers(result, model);
    }
    return code;
}

static void observe(void *context, const sh_event *event)
{
    const bench_values *given = context;
    if (event->kind == SH_EVENT_NOTE && !given->quiet)
        sh_console_note("%s", event->text);
}

static sh_status check_models(const char *list)
{
    for (const char *next = list; next != NULL; next = strchr(next, ',')) {
        char name[SH_MODEL_BYTES];
        next += next[0] == ',';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(next, ","), next);
        if (name[0] == '\0')
            return sh_fail(SH_INVALID, "--models: expected names with commas between them");
        SH_TRY(sh_fail_in(sh_names_check(name, NULL), "--models"));
    }
    return SH_OK;
}

static int run(const sh_arguments *arguments, void *values)
{
    (void)arguments;
    bench_values *given = values;
    sh_bench_result result;
    if (!(given->seconds > 0 && given->seconds <= 3600))
        return sh_console_misuse("bench", "--seconds %g: must be more than 0 and at most 3600",
                                 (double)given->seconds);
    if (check_models(given->options.models) != SH_OK)
        return sh_console_misuse("bench", "%s", sh_message());
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    given->options.seconds = (double)given->seconds;
    given->options.observer = observe;
    given->options.context = given;
    if (sh_bench(&given->options, &result) != SH_OK)
        return sh_console_fail("%s", sh_message());
    int code = SH_EXIT_DONE;
    if (!given->quiet && !sh_json_is_output(given->json))
        code = print_result(&result, given->options.models != NULL);
    code = sh_command_write_json(given->json, result_json(&result), code);
    sh_bench_result_release(&result);
    return code;
}

const sh_command sh_bench_command = {
    .name = "bench",
    .usage = "[options]",
    .summary = "measures what this device can do",
    .details = "Measures peak rates of arithmetic and memory, and the speed of the built-in models "
               "on random data,\n"
               "with one grain on each lane. The device should do nothing else meanwhile. shoal "
               "plan uses the\n"
               "figures.\n"
               "\n"
               "examples:\n"
               "  shoal bench --models lenet,mlp --seconds 1\n"
               "  shoal bench --models mobilenetv2 --resize 64\n",
    .options = options,
    .values_bytes = sizeof(bench_values),
    .init = init,
    .run = run,
};
