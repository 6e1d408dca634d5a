/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the reader of photos' labels, as one CSV file, for each task. The first
 * byte chooses whether a column is named.
 */
#include <stdlib.h>

#include "data/photos/photo_labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tasks[] = {"", "classification", "multi-label", "regression"};
    sh_photo_labels *labels;
    if (size == 0)
        return 0;
    if (sh_photo_labels_new(&labels, data[0] % 2 == 0 ? "" : "label") != SH_OK)
        abort();
    const sh_status status = sh_photo_labels_parse(
        labels, "labels.csv", data[0] % 3 == 0 ? "" : "train", (const char *)data + 1, size - 1);
    for (size_t i = 0; i < 4 && status == SH_OK; i++) {
        sh_photo_targets targets = {0};
        if (sh_photo_labels_decide(&targets, labels, tasks[i]) != SH_OK)
            continue;
        const size_t rows = sh_photo_labels_rows(labels);
        for (size_t k = 0; k < rows && targets.classes != NULL; k++)
            if (targets.classes[k] >= targets.outputs)
                abort();
        if (json_array_size(targets.names) != targets.outputs)
            abort();
        sh_photo_targets_release(&targets);
    }
    sh_photo_labels_free(labels);
    return 0;
}
