/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/dispenser.h"

#include <string.h>

void sh_dispenser_init(sh_dispenser *dispenser, sh_dispenser_device *devices, uint32_t device_count,
                       uint32_t updates, uint32_t bound)
{
    memset(devices, 0, device_count * sizeof *devices);
    *dispenser = (sh_dispenser){
        .devices = devices, .device_count = device_count, .bound = bound, .updates = updates};
}

void sh_dispenser_want(sh_dispenser *dispenser, uint32_t device)
{
    dispenser->devices[device].wants = true;
}

bool sh_dispenser_next(sh_dispenser *dispenser, uint32_t *device, uint32_t *update)
{
    uint32_t slowest = UINT32_MAX;
    for (uint32_t i = 0; i < dispenser->device_count; i++)
        if (dispenser->devices[i].finished < slowest)
            slowest = dispenser->devices[i].finished;
    for (uint32_t i = 0; i < dispenser->device_count && dispenser->dealt < dispenser->updates;
         i++) {
        const uint32_t index = (dispenser->turn + i) % dispenser->device_count;
        sh_dispenser_device *one = &dispenser->devices[index];
        if (!one->wants || (dispenser->bound != 0 && one->begun >= slowest + dispenser->bound))
            continue;
        one->wants = false;
        one->begun++;
        dispenser->turn = index + 1;
        *device = index;
        *update = dispenser->dealt++;
        return true;
    }
    return false;
}

bool sh_dispenser_finish(sh_dispenser *dispenser, uint32_t device)
{
    sh_dispenser_device *one = &dispenser->devices[device];
    if (one->finished == one->begun)
        return false;
    one->finished++;
    dispenser->finished++;
    return true;
}

void sh_dispenser_stop(sh_dispenser *dispenser)
{
    dispenser->updates = dispenser->dealt > 0 ? dispenser->dealt : 1;
}

bool sh_dispenser_is_over(const sh_dispenser *dispenser)
{
    return dispenser->finished == dispenser->updates;
}
