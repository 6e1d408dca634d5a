/* SPDX-License-Identifier: Apache-2.0 */
/* An accepted schedule has rates from 0 to the learning rate at every step. */
#include "train/rate.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[64];
    sh_rate rate;
    if (size < 2 || size - 2 >= sizeof text)
        return 0;
    memcpy(text, data + 2, size - 2);
    text[size - 2] = '\0';
    if (sh_rate_parse(&rate, text, data[0] / 16.0) != SH_OK)
        return 0;
    const sh_schedule schedule = {.epoch_steps = 1 + data[1] % 5, .total_steps = 1 + data[1]};
    for (uint64_t step = 0; step < schedule.total_steps; step++) {
        const double lr = sh_rate_at(&rate, 0.5, &schedule, step);
        if (!(lr >= 0 && lr <= 0.5))
            abort();
    }
    return 0;
}
