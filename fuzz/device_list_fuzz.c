/* SPDX-License-Identifier: Apache-2.0 */
/* Accepted lists of devices have names, known states and numbers that a plan can use. */
#include "plan/device_list.h"

#include <math.h>
#include <stdlib.h>

#include "plan/inventory.h"
#include "plan/shares.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_device_list list;
    sh_inventory inventory;
    if (sh_device_list_parse(&list, (const char *)data, size) != SH_OK)
        return 0;
    if (list.count == 0 || list.count > SH_DEVICES_MAX)
        abort();
    for (size_t i = 0; i < list.count; i++) {
        const sh_device_info *one = &list.devices[i];
        if (one->name[0] == '\0' || one->state >= SH_DEVICE_STATES ||
            isinf(one->flops_per_second) || one->power_watts < 0)
            abort();
    }
    if (sh_inventory_of_list(&inventory, &list) == SH_OK)
        for (uint32_t k = 0; k < inventory.kinds; k++)
            if (!(inventory.kind[k].flops > 0 && isfinite(inventory.kind[k].flops) &&
                  inventory.kind[k].link >= 0 && isfinite(inventory.kind[k].link)))
                abort();
    sh_device_list_release(&list);
    return 0;
}
