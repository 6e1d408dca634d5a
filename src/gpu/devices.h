/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which GPUs this machine has, and how gpu/device.h numbers them.
 *
 *     sh_gpu_place place;
 *     SH_TRY(sh_gpu_find(&place, number));
 *     SH_TRY(place.driver->open(&gpu, place.index));
 *
 * Each call asks the drivers, so that it sees GPUs that were added or removed. Threads: any.
 */
#ifndef SHOAL_GPU_DEVICES_H
#define SHOAL_GPU_DEVICES_H

#include "gpu/device.h"
#include "gpu/driver.h"

typedef struct sh_gpu_place {
    const sh_gpu_driver *driver;
    uint32_t index; /* in the driver's list */
    sh_gpu_description description;
} sh_gpu_place;

/* SH_NOT_FOUND: the message has the number of GPUs, and why each other driver has none. */
sh_status sh_gpu_find(sh_gpu_place *place, uint32_t number) SHOAL_CHECKED;

#endif
