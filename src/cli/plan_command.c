/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/figures.h"
#include "cli/json_file.h"
#include "cli/table.h"
#include "shoal/plan.h"

typedef struct plan_values {
    sh_plan_options options;
    const char *json;
    bool quiet;
} plan_values;

#define FIELD(member) offsetof(plan_values, member)

static const sh_option options[] = {
    {SH_OPTION_U32, .name = "batch-size", .value = "N", .help = "samples of one step",
     .offset = FIELD(options.job.batch_size), .min = 1, .shows_default = true},
    {SH_OPTION_U32, .name = "grain", .value = "N",
     .help = "samples of one unit of work (default: from the batch size)",
     .offset = FIELD(options.job.grain), .min = 1},
    {SH_OPTION_NAME, .name = "strategy", .value = "NAME",
     .help = "when devices synchronise, as train has it", .offset = FIELD(options.job.strategy),
     .max = SH_STRATEGY_BYTES - 1, .shows_default = true},
    {SH_OPTION_U32, .name = "workers", .value = "N", .help = "of local:H (default 4)",
     .offset = FIELD(options.job.workers), .min = 1},
    {SH_OPTION_NAME, .name = "optimizer", .value = "NAME",
     .help = "what updates the weights: sgd, adam, adamw, rmsprop",
     .offset = FIELD(options.job.optimizer), .max = SH_OPTIMIZER_BYTES - 1, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "momentum", .value = "X",
     .help = "momentum of sgd and rmsprop, below 1", .offset = FIELD(options.job.momentum),
     .max = 1, .shows_default = true},
    {SH_OPTION_NAME, .name = "augment", .value = "LIST",
     .help = "of training images: crop or crop:N, flip (default: none)",
     .offset = FIELD(options.job.augment), .max = SH_AUGMENT_BYTES - 1},
    {SH_OPTION_U32, .name = "resize", .value = "N",
     .help = "pixels of the images each way (default: as published)",
     .offset = FIELD(options.job.resize), .min = 1},
    {SH_OPTION_U32, .name = "wire", .value = "N", .help = "bits of a summed gradient: 32, 16, 8",
     .offset = FIELD(options.job.wire), .min = 1, .shows_default = true},
    {SH_OPTION_U32, .name = "lanes", .value = "N", .help = "cores to compute on (default all)",
     .offset = FIELD(options.lanes), .min = 1, .max = 1024},
    {SH_OPTION_NAME, .name = "freeze", .value = "GLOBS",
     .help = "weights that stay as they are: layer1.*,bn1.* (default: none)",
     .offset = FIELD(options.job.freeze), .max = SH_FREEZE_BYTES - 1},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES",
     .help = "most memory to take, such as 96M (default: any)", .offset = FIELD(options.memory),
     .min = 1},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the plan to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {SH_OPTION_END},
};

static void init(void *values)
{
    sh_job_init(&((plan_values *)values)->options.job);
}

static json_t *layer_json(const sh_plan_layer *layer)
{
    return json_pack(
        "{s:o, s:o, s:I, s:o, s:o, s:I, s:o}", "name", sh_json_text(layer->name), "shape",
        sh_json_text(layer->shape), "parameters", (json_int_t)layer->parameters, "forward_flops",
        sh_json_number(layer->forward_flops), "backward_flops",
        sh_json_number(layer->backward_flops), "activation_bytes",
        (json_int_t)layer->activation_bytes, "seconds", sh_json_number(layer->seconds));
}

static json_t *grain_json(const sh_plan_grain *row)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "grain", (json_int_t)row->grain, "grains", (json_int_t)row->grains, "weights_bytes",
        (json_int_t)row->weights_bytes, "sum_bytes", (json_int_t)row->sum_bytes, "optimizer_bytes",
        (json_int_t)row->optimizer_bytes, "prepared_bytes", (json_int_t)row->prepared_bytes,
        "activations_bytes", (json_int_t)row->activations_bytes, "input_bytes",
        (json_int_t)row->input_bytes, "worker_bytes", (json_int_t)row->worker_bytes, "base_bytes",
        (json_int_t)row->base_bytes, "total_bytes", (json_int_t)row->total_bytes, "step_seconds",
        sh_json_number(row->step_seconds), "compute_seconds", sh_json_number(row->compute_seconds),
        "prepare_seconds", sh_json_number(row->prepare_seconds), "optimizer_seconds",
        sh_json_number(row->optimizer_seconds), "other_seconds", sh_json_number(row->other_seconds),
        "epoch_seconds", sh_json_number(row->epoch_seconds));
}

/* Takes `item` into `*array`, which becomes NULL where memory is out. */
static void append(json_t **array, json_t *item)
{
    if (*array != NULL && json_array_append_new(*array, item) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

static json_t *plan_json(const sh_plan_options *asked, const sh_plan_result *plan)
{
    json_t *layers = json_array(), *grains = json_array();
    for (size_t i = 0; i < plan->layer_count; i++)
        append(&layers, layer_json(&plan->layers[i]));
    for (size_t i = 0; i < plan->grain_count; i++)
        append(&grains, grain_json(&plan->grains[i]));
    return json_pack("{s:o, s:o, s:I, s:I, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "model",
                     sh_json_text(asked->job.model), "data", sh_json_text(asked->job.data),
                     "batch_size", (json_int_t)asked->job.batch_size, "lanes",
                     (json_int_t)plan->lanes, "backend", plan->backend, "parameters",
                     (json_int_t)plan->parameters, "samples", (json_int_t)plan->samples, "timed",
                     plan->timed, "note", sh_json_text(plan->note), "read_seconds",
                     sh_json_number(plan->read_seconds), "layers", layers, "grains", grains);
}

static void add_heads(sh_table *table, const char *const *heads)
{
    for (; *heads != NULL; heads++)
        sh_table_add(table, *heads);
}

/* With this many decimals; "-" where it is no number. */
static void add_number(sh_table *table, double number, int decimals)
{
    char text[48] = "-";
    if (isfinite(number))
        snprintf(text, sizeof text, "%.*f", decimals, number);
    sh_table_add(table, text);
}

static void add_layer(sh_table *table, const sh_plan_layer *layer)
{
    sh_figure figure;
    sh_table_add(table, layer->name);
    sh_table_add(table, layer->shape);
    sh_table_add(table, sh_figure_whole(&figure, layer->parameters));
    add_number(table, layer->forward_flops * 1e-6, 1);
    add_number(table, layer->backward_flops * 1e-6, 1);
    add_number(table, (double)layer->activation_bytes * 1e-6, 2);
    add_number(table, layer->seconds * 1e3, 3);
}

static bool print_layers(const sh_plan_result *plan)
{
    static const char *const heads[] = {"layer",          "output", "parameters", "MFLOP forward",
                                        "MFLOP backward", "MB",     "ms",         NULL};
    sh_plan_layer all = {.name = "all"};
    sh_table *table = sh_table_new("<<>>>>>");
    add_heads(table, heads);
    for (size_t i = 0; i < plan->layer_count; i++) {
        const sh_plan_layer *layer = &plan->layers[i];
        add_layer(table, layer);
        all.parameters += layer->parameters;
        all.forward_flops += layer->forward_flops;
        all.backward_flops += layer->backward_flops;
        all.activation_bytes += layer->activation_bytes;
        all.seconds += layer->seconds;
    }
    add_layer(table, &all);
    const bool good = sh_table_print(table, stdout, "");
    sh_table_free(table);
    return good;
}

static bool print_memory(const sh_plan_result *plan)
{
    static const char *const heads[] = {"grain",   "weights", "sum",    "optimizer", "prepared",
                                        "lane",    "input",   "worker", "base",      "all lanes",
                                        "step ms", "epoch",   NULL};
    const bool workers = plan->grain_count > 0 && plan->grains[0].worker_bytes > 0;
    enum { WORKER = 7 }; /* the column, where there are any */
    sh_table *table = sh_table_new(workers ? ">>>>>>>>>>>>" : ">>>>>>>>>>>");
    for (size_t i = 0; heads[i] != NULL; i++)
        if (workers || i != WORKER)
            sh_table_add(table, heads[i]);
    for (size_t i = 0; i < plan->grain_count; i++) {
        const sh_plan_grain *row = &plan->grains[i];
        const uint64_t bytes[] = {row->weights_bytes,  row->sum_bytes,         row->optimizer_bytes,
                                  row->prepared_bytes, row->activations_bytes, row->input_bytes,
                                  row->worker_bytes,   row->base_bytes,        row->total_bytes};
        sh_figure figure;
        sh_table_add(table, sh_figure_whole(&figure, row->grain));
        for (size_t j = 0; j < sizeof bytes / sizeof *bytes; j++)
            if (workers || j + 1 != WORKER)
                sh_table_add(table, sh_figure_megabytes(&figure, bytes[j]));
        add_number(table, row->step_seconds * 1e3, 2);
        sh_table_add(table, sh_figure_duration(&figure, row->epoch_seconds));
    }
    const bool good = sh_table_print(table, stdout, "");
    sh_table_free(table);
    return good;
}

static void print_step(const sh_plan_result *plan)
{
    const sh_plan_grain *own = &plan->grains[0];
    sh_figure a, b;
    if (!plan->timed)
        return;
    printf("\nstep        %.2f ms: %.2f computing, %.2f preparing, %.2f optimizer, %.2f other\n",
           own->step_seconds * 1e3, own->compute_seconds * 1e3, own->prepare_seconds * 1e3,
           own->optimizer_seconds * 1e3, own->other_seconds * 1e3);
    printf("epoch       %s, %s samples/s\n", sh_figure_duration(&a, own->epoch_seconds),
           sh_figure_rate(&b, (double)plan->samples / own->epoch_seconds));
}

static bool print_plan(const sh_plan_options *asked, const sh_plan_result *plan)
{
    sh_figure a, b, c;
    char clean[SH_DATA_BYTES];
    const sh_plan_grain *own = &plan->grains[0];
    printf("model       %s, %s\n", sh_console_clean(clean, sizeof clean, asked->job.model),
           sh_figure_count(&a, plan->parameters, "parameter"));
    printf("data        %s, %s\n", sh_console_clean(clean, sizeof clean, asked->job.data),
           sh_figure_count(&a, plan->samples, "sample"));
    printf("batch       %s of %s, on %s (%s)\n\n", sh_figure_count(&a, own->grains, "grain"),
           sh_figure_count(&b, own->grain, "sample"), sh_figure_count(&c, plan->lanes, "lane"),
           plan->backend);
    puts("one grain, by layer");
    if (!print_layers(plan))
        return false;
    puts("\nmegabytes, by size of grain");
    if (!print_memory(plan))
        return false;
    if (plan->memory_note[0] != '\0')
        printf("\n%s\n", plan->memory_note);
    print_step(plan);
    return true;
}

static int take_job(const sh_arguments *arguments, sh_job *job)
{
    const char *model = arguments->positionals[0], *data = arguments->positionals[1];
    if (strlen(model) >= sizeof job->model)
        return sh_console_misuse("plan", "plan: MODEL is too long");
    if (strlen(data) >= sizeof job->data)
        return sh_console_misuse("plan", "plan: DATA is too long");
    snprintf(job->model, sizeof job->model, "%s", model);
    snprintf(job->data, sizeof job->data, "%s", data);
    if (sh_job_complete(job) != SH_OK)
        return sh_console_misuse("plan", "%s", sh_message());
    return SH_EXIT_DONE;
}

static int run(const sh_arguments *arguments, void *values)
{
    plan_values *given = values;
    sh_trouble trouble;
    sh_plan_result plan;
    int code = take_job(arguments, &given->options.job);
    if (code != SH_EXIT_DONE)
        return code;
    if (given->json != NULL && !sh_json_file_check(&trouble, given->json))
        return sh_console_fail("%s", trouble.text);
    if (sh_plan(&given->options, &plan) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (!given->quiet && plan.note[0] != '\0')
        sh_console_note("%s", plan.note);
    if (!given->quiet && !sh_json_is_output(given->json) && !print_plan(&given->options, &plan))
        code = sh_console_fail("not enough memory");
    if (given->json != NULL &&
        !sh_json_file_write(&trouble, given->json, plan_json(&given->options, &plan)))
        code = sh_console_fail("%s", trouble.text);
    sh_plan_result_release(&plan);
    return code;
}

const sh_command sh_plan_command = {
    .name = "plan",
    .usage = "MODEL DATA [options]",
    .summary = "says what a training would take: memory, time",
    .details =
        "Layers with what they cost, bytes by kind for several sizes of grain, and the time of "
        "a step and\nan epoch on this device, told from what shoal bench has measured. "
        "Nothing is trained.\n"
        "\nexample:\n"
        "  shoal plan lenet mnist:DIR --batch-size 128\n",
    .options = options,
    .values_bytes = sizeof(plan_values),
    .init = init,
    .positionals_least = 2,
    .positionals_most = 2,
    .run = run,
};
