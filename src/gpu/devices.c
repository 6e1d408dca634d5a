/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/devices.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

enum { NVIDIA = 0x10de, REASON_BYTES = 256 };

/* If two drivers list the same GPU, the first one's entry counts. */
static const sh_gpu_driver *driver_at(uint32_t number)
{
    switch (number) {
    case 0:
        return sh_gpu_cuda();
    case 1:
        return sh_gpu_opencl();
    default:
        return NULL;
    }
}

typedef struct gpu_list {
    sh_gpu_place places[SH_GPU_MAX];
    uint32_t count;
    char reasons[2 * REASON_BYTES]; /* of drivers without a GPU */
    size_t reason_bytes;
} gpu_list;

static void add_reason(gpu_list *list, const char *driver, const char *reason)
{
    const int added = snprintf(list->reasons + list->reason_bytes, REASON_BYTES, "%s%s: %s",
                               list->reason_bytes == 0 ? "" : "; ", driver, reason);
    list->reason_bytes += added < REASON_BYTES ? (size_t)added : (size_t)REASON_BYTES - 1;
}

static bool is_listed(const gpu_list *list, uint32_t vendor)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->places[i].description.vendor == vendor)
            return true;
    return false;
}

/* Omits GPUs that NVIDIA's own driver has listed. */
static void add_driver(gpu_list *list, const sh_gpu_driver *driver)
{
    sh_gpu_description found[SH_GPU_MAX];
    uint32_t count = 0;
    if (driver->list(found, SH_GPU_MAX, &count) != SH_OK) {
        add_reason(list, driver->name, sh_message());
        return;
    }
    if (count == 0)
        add_reason(list, driver->name, "the driver has no GPU");
    const bool has_nvidia = is_listed(list, NVIDIA);
    for (uint32_t i = 0; i < count && list->count < SH_GPU_MAX; i++) {
        if (has_nvidia && found[i].vendor == NVIDIA)
            continue;
        list->places[list->count++] =
            (sh_gpu_place){.driver = driver, .index = i, .description = found[i]};
    }
}

/* Each kind keeps its order. */
static void put_processors_last(gpu_list *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        for (uint32_t k = i; k > 0 && list->places[k - 1].description.processor &&
                             !list->places[k].description.processor;
             k--) {
            const sh_gpu_place moved = list->places[k];
            list->places[k] = list->places[k - 1];
            list->places[k - 1] = moved;
        }
}

static sh_status list_all(gpu_list **list)
{
    void *block;
    SH_TRY(sh_block_new(&block, sizeof **list, "the list of GPUs"));
    *list = block;
    const sh_gpu_driver *driver;
    for (uint32_t i = 0; (driver = driver_at(i)) != NULL; i++)
        add_driver(*list, driver);
    put_processors_last(*list);
    return SH_OK;
}

sh_status sh_gpu_find(sh_gpu_place *place, uint32_t number)
{
    gpu_list *list;
    SH_TRY(list_all(&list));
    sh_status status = SH_OK;
    if (number < list->count)
        *place = list->places[number];
    else if (list->count == 0)
        status = sh_fail(SH_NOT_FOUND, "this machine has no usable GPU (%s)", list->reasons);
    else
        status = sh_fail(SH_NOT_FOUND, "no GPU %u: this machine has %u, from 0 on%s%s%s", number,
                         list->count, list->reason_bytes == 0 ? "" : " (", list->reasons,
                         list->reason_bytes == 0 ? "" : ")");
    free(list);
    return status;
}

uint32_t sh_gpu_count(void)
{
    gpu_list *list;
    if (list_all(&list) != SH_OK)
        return 0;
    const uint32_t count = list->count;
    free(list);
    return count;
}

sh_status sh_gpu_describe(sh_gpu_description *description, uint32_t number)
{
    sh_gpu_place place;
    SH_TRY(sh_gpu_find(&place, number));
    *description = place.description;
    return SH_OK;
}
