/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds arbitrary text to the parser of augmentations, and draws views of what it understood. */
#include <stdlib.h>
#include <string.h>

#include "data/augment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *list = malloc(size + 1);
    if (list == NULL)
        abort();
    if (size > 0)
        memcpy(list, data, size);
    list[size] = '\0';
    sh_augment augment;
    if (sh_augment_parse(&augment, list) == SH_OK) {
        const int32_t most = (int32_t)augment.crop;
        const sh_view view = sh_augment_draw(&augment, size, 0, (uint32_t)size);
        if (most > SH_AUGMENT_CROP_MOST || abs(view.left) > most || abs(view.top) > most ||
            (view.mirrored && !augment.flip) || !(augment.resized_crop >= 0) ||
            !(augment.resized_crop <= 1))
            abort();
    }
    free(list);
    return 0;
}
