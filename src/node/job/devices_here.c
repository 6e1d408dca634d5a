/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "gpu/device.h"
#include "monitor/sampler.h"
#include "plan/device_file.h"
#include "plan/device_list.h"

/* The part of the measured rate of a convolution that a training reaches: between LeNet and
 * ResNet-20. */
#define REACHED 0.6

/* NaN: this device was not measured. */
static double read_flops(void)
{
    char path[SH_PATH_BYTES];
    sh_measurements known;
    if (sh_device_file_path(path) != SH_OK || sh_device_file_read(&known, path) != SH_OK)
        return (double)NAN;
    const double flops = REACHED * known.convolution.all;
    sh_measurements_release(&known);
    return flops;
}

static sh_status list_gpus(sh_device_list *list)
{
    const uint32_t count = sh_gpu_count();
    if (count == 0)
        return SH_OK;
    list->gpus = calloc(count, sizeof *list->gpus);
    if (list->gpus == NULL)
        return sh_fail_memory(count * sizeof *list->gpus, "the list of GPUs");
    for (uint32_t i = 0; i < count; i++) {
        sh_gpu_description found;
        SH_TRY(sh_gpu_describe(&found, i));
        sh_device_gpu *gpu = &list->gpus[list->gpu_count++];
        *gpu = (sh_device_gpu){.memory_bytes = found.memory, .processor = found.processor};
        snprintf(gpu->name, sizeof gpu->name, "%s", found.name);
        snprintf(gpu->driver, sizeof gpu->driver, "%s", found.driver);
        snprintf(gpu->why_not, sizeof gpu->why_not, "%s", found.usable ? "" : found.why_not);
    }
    return SH_OK;
}

sh_status sh_devices_here(sh_device_list *list)
{
    sh_sampler *sampler;
    sh_sample sample;
    SH_TRY(sh_sampler_open(&sampler, NULL));
    sh_sampler_take(sampler, &sample);
    sh_sampler_close(sampler);
    sh_device_info *info = calloc(1, sizeof *info);
    if (info == NULL)
        return sh_fail_memory(sizeof *info, "the list of devices");
    sh_device_info_clear(info);
    sh_host_name(info->name);
    info->lanes = sh_host_cores();
    info->flops_per_second = read_flops();
    info->memory_available_bytes = sample.figures[SH_FIGURE_memory_available_bytes];
    info->temperature_celsius = sample.figures[SH_FIGURE_temperature_celsius];
    info->power_watts = sample.figures[SH_FIGURE_power_watts];
    info->battery_ratio = sample.figures[SH_FIGURE_battery_ratio];
    info->throttled_ratio = sample.figures[SH_FIGURE_throttled_ratio];
    sh_device_list fresh = {.count = 1, .devices = info};
    const sh_status status = list_gpus(&fresh);
    if (status != SH_OK) {
        sh_device_list_release(&fresh);
        return status;
    }
    *list = fresh;
    return SH_OK;
}
