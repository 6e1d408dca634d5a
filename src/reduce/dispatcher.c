/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/dispatcher.h"

#include <string.h>

void sh_dispatcher_init(sh_dispatcher *dispatcher, sh_dispatcher_device *devices,
                        uint32_t device_count, uint32_t updates, uint32_t bound)
{
    memset(devices, 0, device_count * sizeof *devices);
    *dispatcher = (sh_dispatcher){
        .devices = devices, .device_count = device_count, .bound = bound, .updates = updates};
}

void sh_dispatcher_want(sh_dispatcher *dispatcher, uint32_t device)
{
    dispatcher->devices[device].wants = true;
}

bool sh_dispatcher_next(sh_dispatcher *dispatcher, uint32_t *device, uint32_t *update)
{
    uint32_t slowest = UINT32_MAX;
    for (uint32_t i = 0; i < dispatcher->device_count; i++)
        if (dispatcher->devices[i].finished < slowest)
            slowest = dispatcher->devices[i].finished;
    for (uint32_t i = 0; i < dispatcher->device_count && dispatcher->dealt < dispatcher->updates;
         i++) {
        const uint32_t index = (dispatcher->turn + i) % dispatcher->device_count;
        sh_dispatcher_device *one = &dispatcher->devices[index];
        if (!one->wants || (dispatcher->bound != 0 && one->begun >= slowest + dispatcher->bound))
            continue;
        one->wants = false;
        one->begun++;
        dispatcher->turn = index + 1;
        *device = index;
        *update = dispatcher->dealt++;
        return true;
    }
    return false;
}

bool sh_dispatcher_finish(sh_dispatcher *dispatcher, uint32_t device)
{
    sh_dispatcher_device *one = &dispatcher->devices[device];
    if (one->finished == one->begun)
        return false;
    one->finished++;
    dispatcher->finished++;
    return true;
}

void sh_dispatcher_stop(sh_dispatcher *dispatcher)
{
    dispatcher->updates = dispatcher->dealt > 0 ? dispatcher->dealt : 1;
}

bool sh_dispatcher_is_over(const sh_dispatcher *dispatcher)
{
    return dispatcher->finished == dispatcher->updates;
}
