/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPUs of this machine, and their numbers in gpu/device.h.
 *
 * Each call asks the drivers, so changes are seen.
 *
 *     sh_gpu_place place;
 *     SH_TRY(sh_gpu_find(&place, number));
 *     SH_TRY(place.driver->open(&gpu, place.index));
 *
 * Threads: any.
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

/* SH_NOT_FOUND says why drivers have no GPU. */
sh_status sh_gpu_find(sh_gpu_place *place, uint32_t number) SHOAL_CHECKED;

#endif
