/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "base/secrecy.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "cli/token_argument.h"
#include "shoal/plan.h"

typedef struct plan_values {
    sh_train_options asked; /* first: sh_command_options */
    const char *on, *deadline, *json;
    bool energy, quiet;
} plan_values;

#define FIELD(member) offsetof(plan_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "on", .value = "DEVICES",
     .help = "predict steps on these devices: 'this@1gbit, 8x pi4@100mbit'", .offset = FIELD(on),
     .help_at = 39},
    {SH_OPTION_TEXT, .name = "deadline", .value = "TIME",
     .help = "with --on: the fewest devices that finish in time, such as 1.5h",
     .offset = FIELD(deadline), .help_at = 39},
    {SH_OPTION_FLAG, .name = "energy", .help = "with --on: the devices with the least energy",
     .offset = FIELD(energy), .help_at = 39},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the plan to FILE ('-': standard output)", .offset = FIELD(json), .help_at = 40},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet),
     .help_at = 44},
    {.kind = SH_OPTION_END},
};

static void add_choice(json_t *all, const sh_plan_options *asked, const sh_plan_result *plan)
{
    const sh_plan_choice *choice = &plan->choice;
    if (all == NULL || !(asked->energy || asked->deadline != NULL))
        return;
    json_object_set_new(all, "steps", json_integer((json_int_t)plan->steps));
    json_object_set_new(all, "choice",
                        choice->devices == 0
                            ? json_null()
                            : json_pack("{s:I, s:o, s:o, s:o}", "devices",
                                        (json_int_t)choice->devices, "which",
                                        sh_json_text(choice->which), "step_seconds",
                                        sh_json_number(choice->step_seconds), "step_joules",
                                        sh_json_number(choice->step_joules)));
}

static void add_devices(json_t *all, const sh_plan_result *plan)
{
    json_t *points = json_array(), *ways = json_array();
    for (size_t i = 0; i < plan->point_count; i++) {
        const sh_plan_point *point = &plan->points[i];
        json_t *item = json_pack(
            "{s:I, s:o, s:o, s:o, s:o, s:o}", "devices", (json_int_t)point->devices, "added",
            sh_json_text(point->added), "step_seconds", sh_json_number(point->step_seconds),
            "compute_seconds", sh_json_number(point->compute_seconds), "exchange_seconds",
            sh_json_number(point->exchange_seconds), "binds", sh_json_text(point->binds));
        sh_json_append(&points, item);
    }
    for (size_t i = 0; i < plan->way_count; i++) {
        const sh_plan_way *way = &plan->ways[i];
        json_t *item = json_pack(
            "{s:I, s:I, s:I, s:o, s:I, s:I, s:o, s:o}", "batch_size", (json_int_t)way->batch_size,
            "grain", (json_int_t)way->grain, "wire", (json_int_t)way->wire, "strategy",
            way->strategy[0] == '\0' ? json_null() : sh_json_text(way->strategy), "workers",
            (json_int_t)way->workers, "devices", (json_int_t)way->devices, "step_seconds",
            sh_json_number(way->step_seconds), "samples_per_second",
            sh_json_number(way->samples_per_second));
        sh_json_append(&ways, item);
    }
    if (all != NULL && plan->point_count > 0) {
        json_object_set_new(all, "points", points);
        json_object_set_new(all, "best_devices",
                            json_integer((json_int_t)plan->points[plan->best].devices));
        json_object_set_new(all, "ways", ways);
        return;
    }
    json_decref(points);
    json_decref(ways);
}

static json_t *plan_json(const sh_plan_options *asked, const sh_plan_result *plan)
{
    json_t *layers = json_array(), *grains = json_array();
    for (size_t i = 0; i < plan->layer_count; i++) {
        const sh_plan_layer *layer = &plan->layers[i];
        json_t *item = json_pack(
            "{s:o, s:o, s:I, s:o, s:o, s:I, s:o}", "name", sh_json_text(layer->name), "shape",
            sh_json_text(layer->shape), "parameters", (json_int_t)layer->parameters,
            "forward_flops", sh_json_number(layer->forward_flops), "backward_flops",
            sh_json_number(layer->backward_flops), "activation_bytes",
            (json_int_t)layer->activation_bytes, "seconds", sh_json_number(layer->seconds));
        sh_json_append(&layers, item);
    }
    for (size_t i = 0; i < plan->grain_count; i++) {
        const sh_plan_grain *row = &plan->grains[i];
        json_t *item = json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, "
            "s:o}",
            "grain", (json_int_t)row->grain, "grains", (json_int_t)row->grains, "weights_bytes",
            (json_int_t)row->weights_bytes, "sum_bytes", (json_int_t)row->sum_bytes,
            "optimizer_bytes", (json_int_t)row->optimizer_bytes, "prepared_bytes",
            (json_int_t)row->prepared_bytes, "activations_bytes",
            (json_int_t)row->activations_bytes, "input_bytes", (json_int_t)row->input_bytes,
            "worker_bytes", (json_int_t)row->worker_bytes, "base_bytes",
            (json_int_t)row->base_bytes, "total_bytes", (json_int_t)row->total_bytes,
            "step_seconds", sh_json_number(row->step_seconds), "compute_seconds",
            sh_json_number(row->compute_seconds), "prepare_seconds",
            sh_json_number(row->prepare_seconds), "optimizer_seconds",
            sh_json_number(row->optimizer_seconds), "other_seconds",
            sh_json_number(row->other_seconds), "epoch_seconds",
            sh_json_number(row->epoch_seconds));
        sh_json_append(&grains, item);
    }
    json_t *all = json_pack("{s:o, s:o, s:I, s:I, s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o}", "model",
                            sh_json_text(asked->job.model), "data", sh_json_text(asked->job.data),
                            "batch_size", (json_int_t)asked->job.batch_size, "lanes",
                            (json_int_t)plan->lanes, "variant", plan->variant, "parameters",
                            (json_int_t)plan->parameters, "samples", (json_int_t)plan->samples,
                            "timed", plan->timed, "note", sh_json_text(plan->note), "read_seconds",
                            sh_json_number(plan->read_seconds), "layers", layers, "grains", grains);
    add_devices(all, plan);
    add_choice(all, asked, plan);
    return all;
}

static void add_layer(sh_table *table, const sh_plan_layer *layer)
{
    sh_quantity figure;
    sh_table_add(table, layer->name);
    sh_table_add(table, layer->shape);
    sh_table_add(table, sh_quantity_whole(&figure, layer->parameters));
    sh_table_number(table, layer->forward_flops * 1e-6, 1);
    sh_table_number(table, layer->backward_flops * 1e-6, 1);
    sh_table_number(table, (double)layer->activation_bytes * 1e-6, 2);
    sh_table_number(table, layer->seconds * 1e3, 3);
}

static int print_layers(const sh_plan_result *plan)
{
    static const char *const heads[] = {"layer",          "output", "parameters", "MFLOP forward",
                                        "MFLOP backward", "MB",     "ms"};
    sh_plan_layer all = {.name = "all"};
    sh_table *table = sh_table_new("<<>>>>>", heads);
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
    return sh_command_print_table(table, "");
}

static int print_memory(const sh_plan_result *plan)
{
    static const char *const heads[] = {"grain",   "weights", "sum",    "optimizer", "prepared",
                                        "lane",    "input",   "worker", "base",      "all lanes",
                                        "step ms", "epoch",   NULL};
    const bool workers = plan->grain_count > 0 && plan->grains[0].worker_bytes > 0;
    enum { WORKER = 7 }; /* the optional column */
    sh_table *table = sh_table_new(workers ? ">>>>>>>>>>>>" : ">>>>>>>>>>>", NULL);
    for (size_t i = 0; heads[i] != NULL; i++)
        if (workers || i != WORKER)
            sh_table_add(table, heads[i]);
    for (size_t i = 0; i < plan->grain_count; i++) {
        const sh_plan_grain *row = &plan->grains[i];
        const uint64_t bytes[] = {row->weights_bytes,  row->sum_bytes,         row->optimizer_bytes,
                                  row->prepared_bytes, row->activations_bytes, row->input_bytes,
                                  row->worker_bytes,   row->base_bytes,        row->total_bytes};
        sh_quantity figure;
        sh_table_add(table, sh_quantity_whole(&figure, row->grain));
        for (size_t j = 0; j < sizeof bytes / sizeof *bytes; j++)
            if (workers || j + 1 != WORKER)
                sh_table_add(table, sh_quantity_megabytes(&figure, bytes[j]));
        sh_table_number(table, row->step_seconds * 1e3, 2);
        sh_table_add(table, sh_quantity_duration(&figure, row->epoch_seconds));
    }
    return sh_command_print_table(table, "");
}

#define POINTS 32 /* shown without gaps */
#define FASTER 0.95

/* All numbers of devices up to POINTS, then its multiples, the best and the last. */
static bool is_shown(const sh_plan_result *plan, size_t i)
{
    const size_t n = plan->points[i].devices;
    return n <= POINTS || i == plan->best || i + 1 == plan->point_count || n % POINTS == 0;
}

/* The fastest way with this batch size whose strategy begins so: the first, because they are
 * sorted. NULL: none. */
static const sh_plan_way *find_way(const sh_plan_result *plan, uint32_t batch_size,
                                   const char *strategy)
{
    for (size_t i = 0; i < plan->way_count; i++) {
        const sh_plan_way *way = &plan->ways[i];
        if (way->batch_size == batch_size && (way->strategy[0] == '\0') == (strategy[0] == '\0') &&
            strncmp(way->strategy, strategy, strlen(strategy)) == 0)
            return way;
    }
    return NULL;
}

static void print_way(const sh_plan_options *asked, const sh_plan_way *way)
{
    if (way->batch_size != asked->job.batch_size)
        printf("--batch-size %u ", way->batch_size);
    if (way->strategy[0] != '\0')
        printf("--strategy %s ", way->strategy);
    if (way->workers > 0)
        printf("--workers %u ", way->workers);
    printf("--grain %u", way->grain);
    if (way->wire != asked->job.wire)
        printf(" --wire %u", way->wire);
}

/* Prints the fastest way of each of these that is clearly faster than those before, and the command
 * of the first. */
static void print_ways(const sh_plan_options *asked, const sh_plan_result *plan)
{
    static const struct {
        uint32_t multiple; /* of the batch size */
        const char *strategy, *weights;
    } tried[] = {
        {1, "ps-sync", "the same weights"},
        {1, "", "other weights"},
        {2, "", "other weights"},
        {4, "", "other weights"},
        {1, "local:", "other weights; less learned of each sample"},
    };
    const sh_job *job = &asked->job;
    const double own = job->batch_size / plan->points[plan->best].step_seconds;
    const sh_plan_way *first = NULL;
    double best = own;
    char model[SH_MODEL_BYTES], data[SH_DATA_BYTES];
    sh_quantity a, b;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        const sh_plan_way *way =
            find_way(plan, tried[i].multiple * job->batch_size, tried[i].strategy);
        if (way == NULL || FASTER * way->samples_per_second < best)
            continue;
        printf("%s", first == NULL ? "faster      " : "            ");
        print_way(asked, way);
        printf(": %s samples/s with %s, %.2f times (%s)\n",
               sh_quantity_rate(&a, way->samples_per_second),
               sh_quantity_count(&b, way->devices, "device"), way->samples_per_second / own,
               tried[i].weights);
        first = first == NULL ? way : first;
        best = way->samples_per_second;
    }
    if (first == NULL)
        return;
    printf("            shoal train %s %s ", sh_utf8_clean(model, sizeof model, job->model),
           sh_utf8_clean(data, sizeof data, job->data));
    print_way(asked, first);
    printf(" --listen :7700, with your other options%s\n",
           strcmp(first->strategy, "ps-sync") == 0 ? "" : "; compare the accuracy");
}

static void print_choice(const sh_plan_options *asked, const sh_plan_result *plan)
{
    const sh_plan_choice *choice = &plan->choice;
    const double steps = (double)plan->steps;
    sh_quantity a, b;
    if (!asked->energy && asked->deadline == NULL)
        return;
    if (choice->devices == 0) {
        printf("enough      no devices finish %s in %s: the fastest need %s\n",
               sh_quantity_count(&a, plan->steps, "step"), asked->deadline,
               sh_quantity_duration(&b, steps * plan->points[plan->best].step_seconds));
        return;
    }
    printf("%-12s%s: %.2f ms a step, %s in %s", asked->energy ? "energy" : "enough", choice->which,
           choice->step_seconds * 1e3, sh_quantity_count(&a, plan->steps, "step"),
           sh_quantity_duration(&b, steps * choice->step_seconds));
    if (!isnan(choice->step_joules))
        printf(", %.3g J a step, %.3g kJ in all", choice->step_joules,
               1e-3 * steps * choice->step_joules);
    puts("");
}

static int print_devices(const sh_plan_options *asked, const sh_plan_result *plan)
{
    static const char *const heads[] = {"devices",  "step ms",      "samples/s", "computing ms",
                                        "exchange", "device added", "bottleneck"};
    const sh_plan_point *best = &plan->points[plan->best];
    sh_quantity a;
    sh_table *table = sh_table_new(">>>>><<", heads);
    for (size_t i = 0; i < plan->point_count; i++) {
        const sh_plan_point *point = &plan->points[i];
        if (!is_shown(plan, i))
            continue;
        sh_table_add(table, sh_quantity_whole(&a, point->devices));
        sh_table_number(table, point->step_seconds * 1e3, 2);
        sh_table_add(table, sh_quantity_rate(&a, asked->job.batch_size / point->step_seconds));
        sh_table_number(table, point->compute_seconds * 1e3, 2);
        sh_table_number(table, point->exchange_seconds * 1e3, 2);
        sh_table_add(table, point->added);
        sh_table_add(table, point->binds);
    }
    puts("\ndevices, each time adding the one that helps most");
    if (sh_command_print_table(table, "") != SH_EXIT_DONE)
        return SH_EXIT_FAILURE;
    printf("\nfastest     %s, %.2f ms a step: %.2f times one device",
           sh_quantity_count(&a, best->devices, "device"), best->step_seconds * 1e3,
           plan->points[0].step_seconds / best->step_seconds);
    if (best->devices < plan->point_count)
        printf("; %zu on standby", plan->point_count - best->devices);
    puts("");
    print_choice(asked, plan);
    print_ways(asked, plan);
    if (plan->on_note[0] != '\0')
        printf("            %s\n", plan->on_note);
    return SH_EXIT_DONE;
}

static int print_plan(const sh_plan_options *asked, const sh_plan_result *plan)
{
    sh_quantity a, b, c;
    char clean[SH_DATA_BYTES];
    const sh_plan_grain *own = &plan->grains[0];
    printf("model       %s, %s\n", sh_utf8_clean(clean, sizeof clean, asked->job.model),
           sh_quantity_count(&a, plan->parameters, "parameter"));
    printf("data        %s, %s\n", sh_utf8_clean(clean, sizeof clean, asked->job.data),
           sh_quantity_count(&a, plan->samples, "sample"));
    printf("batch       %s of %s, on %s (%s)\n\n", sh_quantity_count(&a, own->grains, "grain"),
           sh_quantity_count(&b, own->grain, "sample"), sh_quantity_count(&c, plan->lanes, "lane"),
           plan->variant);
    puts("one grain, by layer");
    if (print_layers(plan) != SH_EXIT_DONE)
        return SH_EXIT_FAILURE;
    puts("\nmegabytes, by size of grain");
    if (print_memory(plan) != SH_EXIT_DONE)
        return SH_EXIT_FAILURE;
    if (plan->memory_note[0] != '\0')
        printf("\n%s\n", plan->memory_note);
    const int code = plan->point_count > 0 ? print_devices(asked, plan) : SH_EXIT_DONE;
    if (!plan->timed || code != SH_EXIT_DONE)
        return code;
    printf("\nstep        %.2f ms: %.2f computing, %.2f preparing, %.2f optimizer, %.2f other\n",
           own->step_seconds * 1e3, own->compute_seconds * 1e3, own->prepare_seconds * 1e3,
           own->optimizer_seconds * 1e3, own->other_seconds * 1e3);
    printf("epoch       %s, %s samples/s\n", sh_quantity_duration(&a, own->epoch_seconds),
           sh_quantity_rate(&b, (double)plan->samples / own->epoch_seconds));
    return SH_EXIT_DONE;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Reads the devices if --on is a token or a file; otherwise the list stays empty. */
static int list_devices(sh_device_list *list, const char *on)
{
    char line[SH_TOKEN_LINE_BYTES];
    sh_status status = SH_OK;
    if (on != NULL && sh_token_is(on)) {
        sh_secrecy_begin();
        const char *token = sh_token_argument(line, on);
        if (token == NULL)
            return SH_EXIT_FAILURE;
        status = sh_devices_of_job(list, token);
        explicit_bzero(line, sizeof line);
    } else if (on != NULL && ends_in(on, ".json")) {
        status = sh_devices_read(list, on);
    }
    return status == SH_OK ? SH_EXIT_DONE : sh_console_fail("--on: %s", sh_message());
}

static int run(const sh_arguments *arguments, void *values)
{
    plan_values *given = values;
    sh_plan_result plan;
    sh_device_list list = {.count = 0};
    sh_job *job = &given->asked.job;
    int code = sh_command_take_job(&sh_plan_command, arguments, job);
    if (code != SH_EXIT_DONE)
        return code;
    if (sh_lanes_check(given->asked.lanes) != SH_OK || sh_job_complete(job) != SH_OK)
        return sh_console_misuse("plan", "%s", sh_message());
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    code = list_devices(&list, given->on);
    if (code != SH_EXIT_DONE)
        return code;
    const bool listed = list.count > 0;
    const sh_plan_options asked = {.job = *job,
                                   .lanes = given->asked.lanes,
                                   .memory = given->asked.memory,
                                   .on = listed ? NULL : given->on,
                                   .devices = listed ? &list : NULL,
                                   .deadline = given->deadline,
                                   .energy = given->energy};
    const sh_status planned = sh_plan(&asked, &plan);
    sh_device_list_release(&list);
    if (planned != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (!given->quiet && plan.note[0] != '\0')
        sh_console_note("%s", plan.note);
    if (!given->quiet && !sh_json_is_output(given->json))
        code = print_plan(&asked, &plan);
    code = sh_command_write_json(given->json, plan_json(&asked, &plan), code);
    sh_plan_result_release(&plan);
    return code;
}

const sh_command sh_plan_command = {
    .name = "plan",
    .usage = "MODEL DATA [options]",
    .summary = "estimates the memory and time of a training",
    .details =
        "Shows the cost of each layer, the memory by kind for several grain sizes, and the time of "
        "a step and\n"
        "of an epoch on this device, estimated from what shoal bench measured. Nothing is "
        "trained.\n"
        "\n"
        "With --on, also the time of a step on several devices, with 1, 2, ... of them; which "
        "would\n"
        "be on standby; and which batch size, grain, width of the wire or strategy would be "
        "faster.\n"
        "A device is this (as measured), a board (pi4, pi5, jetson-nano, orin-nano, agx-orin:\n"
        "estimated) or its speed, such as 25gflops; @ begins its link, / its power in "
        "watts.\n"
        "Instead of DEVICES, the token of a running job (- reads it from standard input), or a "
        "file of\n"
        "shoal devices --json, which has measured speeds and links.\n"
        "--energy chooses the devices that need the least energy, --deadline the fewest that "
        "finish in\n"
        "time, both together the least energy in time.\n"
        "\n"
        "examples:\n"
        "  shoal plan lenet mnist:DIR --batch-size 128\n"
        "  shoal plan resnet:20 noise:3x32x32/10 --on 'this@1gbit, 4x pi5@1gbit'\n"
        "  shoal plan lenet mnist:DIR --on '8x pi4@1gbit/6w, 2x pi5@1gbit/11w' --energy\n",
    .options = options,
    .values_bytes = sizeof(plan_values),
    .trains = SH_TRAINS_ON_PAPER,
    .positionals_least = 2,
    .positionals_most = 2,
    .run = run,
};
