/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary text as a checkpoint's description of the training's data. An accepted one is
 * within the bounds that readers rely on, and a reader of new files made from it reads rows.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/file_samples.h"
#include "data/trained.h"

#define SAMPLE_MOST (1u << 20) /* bytes of a sample that is read */

/* Rows of a stream if it is a table's, and a missing file. */
static void read_files(const sh_trained *trained)
{
    static const char rows[] = "1,red,3\n?,,-4\nx\n1,blue,2\n";
    static const char *const nowhere = "/nowhere/x.npy";
    static const sh_read_options options;
    sh_file_samples *files;
    uint32_t filled;
    int ends[2];
    if (sh_dataset_bytes(&trained->info) > SAMPLE_MOST || pipe(ends) != 0)
        return;
    if (write(ends[1], rows, sizeof rows - 1) != sizeof rows - 1)
        abort();
    close(ends[1]);
    if (sh_file_samples_new(&files, trained, &options, 4) == SH_OK) {
        const bool begun = sh_file_samples_begin_stream(files, ends[0]) == SH_OK ||
                           sh_file_samples_begin(files, &nowhere, 1) == SH_OK;
        while (begun && sh_file_samples_fill(files, 4, &filled) == SH_OK && filled > 0)
            continue;
        sh_file_samples_free(files);
    }
    close(ends[0]);
}

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
        read_files(trained);
        sh_trained_free(trained);
    }
    free(text);
    return 0;
}
