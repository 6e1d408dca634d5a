/* SPDX-License-Identifier: Apache-2.0 */
/* A message that is taken packs to the same bytes again. */
#include "net/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Shoal__Message *message;
    if (sh_message_unpack(&message, data, size) != SH_OK)
        return 0;
    uint8_t *again;
    size_t count;
    if (sh_message_pack(&again, &count, message) != SH_OK || count != size ||
        memcmp(again, data, size) != 0)
        abort();
    free(again);
    sh_message_free(message);
    return 0;
}
