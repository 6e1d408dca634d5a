/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a packed set from another device: an accepted one has its samples in the file;
 * names and scales are readable whatever the description contains.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/dataset_impl.h"
#include "data/description.h"
#include "data/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_samples(const sh_dataset *set)
{
    const sh_dataset_info *info = sh_dataset_about(set);
    void *sample = malloc(sh_dataset_bytes(info) + 1);
    void *target = malloc(sh_target_bytes(info->target, info->outputs) + 1);
    if (sample == NULL || target == NULL)
        abort();
    for (int i = 0; i < 2 * SH_SPLITS; i++) {
        const sh_split split = (sh_split)(i / 2);
        if (info->count[split] == 0)
            abort();
        const sh_status status =
            sh_dataset_read(set, split, i % 2 == 0 ? 0 : info->count[split] - 1, sample, target);
        if (status != SH_OK && sh_message()[0] == '\0')
            abort();
    }
    free(sample);
    free(target);
}

static void read_description(const sh_dataset *set)
{
    json_t *description = sh_description_read(sh_dataset_description(set));
    for (int target = 0; target < SH_TARGETS; target++)
        for (unsigned i = 0; i < 3; i++) {
            char number[SH_DESCRIPTION_NUMBER];
            if (sh_description_name(description, (sh_target)target, i, number) == NULL)
                abort();
            (void)sh_description_scale(description, i);
        }
    const json_t *notes = sh_description_notes(description);
    if (notes != NULL && json_array_size(notes) == 0)
        abort();
    json_decref(description);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const sh_format format = {.name = "photos", .usage = "photos:DIR"};
    static int fd = -1;
    sh_dataset *set;
    if (fd < 0)
        fd = memfd_create("packed", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    if (sh_packed_open(&set, &format, dup(fd), "packed") != SH_OK) {
        if (sh_message()[0] == '\0')
            abort(); /* a failure without a message */
        return 0;
    }
    read_samples(set);
    read_description(set);
    sh_dataset_close(set);
    return 0;
}
