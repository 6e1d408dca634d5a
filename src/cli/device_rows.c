/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/device_rows.h"

#include <math.h>
#include <stdio.h>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"

static void add_whole(sh_table *table, uint32_t number)
{
    sh_quantity figure;
    sh_table_add(table, number > 0 ? sh_quantity_whole(&figure, number) : "-");
}

static void add_rate(sh_table *table, double rate)
{
    sh_quantity figure;
    sh_table_add(table, isnan(rate) ? "-" : sh_quantity_rate(&figure, rate));
}

int sh_device_rows_print(const sh_device_list *list)
{
    static const char *const heads[] = {"device",    "state",   "lanes",     "grains",
                                        "samples/s", "GFLOP/s", "Mbit/s in", "Mbit/s out",
                                        "delay ms",  "free MB", "C",         "W"};
    sh_table *table = sh_table_new("<<>>>>>>>>>>", heads);
    for (size_t i = 0; i < list->count; i++) {
        const sh_device_info *one = &list->devices[i];
        const bool held = one->throttled_ratio > 0;
        sh_table_add(table, one->name);
        sh_table_add(table, sh_device_state_text(one->state));
        add_whole(table, one->lanes);
        add_whole(table, one->grains);
        add_rate(table, one->samples_per_second);
        sh_table_number(table, one->flops_per_second * 1e-9, 1);
        add_rate(table, one->in_bytes_per_second * 8e-6);
        add_rate(table, one->out_bytes_per_second * 8e-6);
        sh_table_number(table, one->delay_seconds * 1e3, 2);
        sh_table_number(table, one->memory_available_bytes * 1e-6, 0);
        if (isnan(one->temperature_celsius))
            sh_table_add(table, held ? "held back" : "-");
        else
            sh_table_format(table, "%.0f%s", one->temperature_celsius, held ? ", held back" : "");
        sh_table_number(table, one->power_watts, 1);
    }
    const int code = sh_command_print_table(table, "");
    for (size_t i = 0; i < list->count && code == SH_EXIT_DONE; i++) {
        const sh_device_info *one = &list->devices[i];
        char name[SH_NAME_BYTES], why[sizeof one->why];
        if (one->why[0] != '\0')
            printf("%s%s: %s\n", i > 0 && list->devices[i - 1].why[0] != '\0' ? "" : "\n",
                   sh_utf8_clean(name, sizeof name, one->name),
                   sh_utf8_clean(why, sizeof why, one->why));
    }
    return code;
}

int sh_device_rows_print_gpus(const sh_device_list *list)
{
    static const char *const heads[] = {"lane", "GPU", "driver", "memory", "used by"};
    sh_quantity figure;
    if (list->gpu_count == 0)
        return SH_EXIT_DONE;
    putchar('\n');
    sh_table *table = sh_table_new("<<<><", heads);
    for (size_t i = 0; i < list->gpu_count; i++) {
        const sh_device_gpu *gpu = &list->gpus[i];
        sh_table_format(table, "gpu:%zu", i);
        sh_table_add(table, gpu->name);
        sh_table_add(table, gpu->driver);
        sh_table_add(table, sh_quantity_of(&figure, (double)gpu->memory_bytes, SH_UNIT_bytes));
        if (gpu->why_not[0] != '\0')
            sh_table_format(table, "nothing: %s", gpu->why_not);
        else
            sh_table_format(table, "--lanes gpu:%zu%s", i,
                            gpu->processor ? " (the processor itself: for tests)" : "");
    }
    return sh_command_print_table(table, "");
}

static json_t *gpus_json(const sh_device_list *list)
{
    json_t *gpus = json_array();
    for (size_t i = 0; i < list->gpu_count; i++) {
        const sh_device_gpu *gpu = &list->gpus[i];
        sh_json_append(&gpus, json_pack("{s:o, s:s, s:I, s:b, s:o}", "name",
                                        sh_json_text(gpu->name), "driver", gpu->driver,
                                        "memory_bytes", (json_int_t)gpu->memory_bytes, "processor",
                                        gpu->processor, "why_not", sh_json_text(gpu->why_not)));
    }
    return gpus;
}

json_t *sh_device_rows_json(const sh_device_list *list)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < list->count; i++) {
        const sh_device_info *one = &list->devices[i];
        json_t *item =
            json_pack("{s:o, s:s, s:I, s:I, s:o}", "name", sh_json_text(one->name), "state",
                      sh_device_state_text(one->state), "lanes", (json_int_t)one->lanes, "grains",
                      (json_int_t)one->grains, "why", sh_json_text(one->why));
#define SET(member) sh_json_set(&item, #member, sh_json_number(one->member));
        SH_DEVICE_NUMBERS(SET)
#undef SET
        sh_json_append(&devices, item);
    }
    const bool in_job = list->model[0] != '\0';
    json_t *job =
        !in_job ? json_null()
                : json_pack("{s:o, s:o, s:I, s:I, s:I}", "model", sh_json_text(list->model), "data",
                            sh_json_text(list->data), "batch_size", (json_int_t)list->batch_size,
                            "grain", (json_int_t)list->grain, "steps", (json_int_t)list->steps);
    json_t *all = json_pack("{s:s, s:i, s:o, s:o}", "format", "shoal.devices", "version", 1, "job",
                            job, "devices", devices);
    if (!in_job)
        sh_json_set(&all, "gpus", gpus_json(list));
    return all;
}
