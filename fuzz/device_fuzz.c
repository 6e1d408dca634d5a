/* SPDX-License-Identifier: Apache-2.0 */
/* A device's figures: accepted ones are sorted and within bounds, refused ones have a message. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/device_file.h"
#include "plan/time_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_measurements known;
    if (sh_device_file_parse(&known, (const char *)data, size) != SH_OK) {
        if (sh_message()[0] == '\0')
            abort(); /* a failure without a message */
        return 0;
    }
    for (size_t i = 0; i < known.count; i++) {
        sh_measurement other = known.items[i];
        if (i > 0 && strcmp(known.items[i - 1].name, other.name) > 0)
            abort();
        other.size = other.size * 2 + 1;
        if (isnan(sh_time_of(&known, &other)))
            abort();
        other.class ++;
        if (isnan(sh_time_of(&known, &other)))
            abort();
    }
    sh_measurements_release(&known);
    return 0;
}
