/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over interfaces are never negative; a field can be read from any text. */
#include "monitor/interfaces.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/numbers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_interfaces sums;
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    if (sh_interfaces_sum(&sums, text) &&
        !(sums.received_bytes >= 0 && sums.received_packets >= 0 && sums.sent_bytes >= 0 &&
          sums.sent_packets >= 0))
        abort();
    if (!isnan(sh_numbers_field(text, "VmRSS:")) && strstr(text, "VmRSS:") == NULL)
        abort();
    free(text);
    return 0;
}
