/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary text as what a checkpoint says of the training's data. What is taken is in the
 * bounds that readers rely on.
 */
#include <stdlib.h>
#include <string.h>

#include "data/trained.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_trained *trained;
    uint32_t number;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (sh_trained_parse(&trained, text) == SH_OK) {
        const sh_dataset_info *info = &trained->info;
        if (info->channels == 0 || info->outputs == 0 || info->count[SH_SPLIT_TRAIN] == 0 ||
            info->count[SH_SPLIT_VALIDATION] == 0 ||
            (info->element == SH_ELEMENT_BYTE && !(info->deviation[0] > 0)))
            abort();
        if (sh_trained_class(&number, trained, "rose") == SH_OK &&
            number >= json_array_size(json_object_get(trained->about, "classes")))
            abort();
        if (sh_trained_check(trained, info, NULL) != SH_OK)
            abort();
        sh_trained_free(trained);
    }
    free(text);
    return 0;
}
