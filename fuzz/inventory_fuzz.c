/* SPDX-License-Identifier: Apache-2.0 */
/* Accepted devices on paper: at least one, with finite speeds, links and power. */
#include "plan/inventory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/shares.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    sh_inventory found;
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (sh_inventory_parse(&found, text) != SH_OK)
        return 0;
    uint32_t devices = 0;
    for (uint32_t i = 0; i < found.kinds; i++) {
        const sh_inventory_kind *kind = &found.kind[i];
        if (!(kind->flops >= 0 && isfinite(kind->flops) && kind->link >= 0 &&
              isfinite(kind->link) && kind->watts >= 0 && isfinite(kind->watts)) ||
            kind->count == 0)
            abort();
        devices += kind->count;
    }
    if (devices == 0 || devices != found.devices || devices > SH_DEVICES_MAX)
        abort();
    return 0;
}
