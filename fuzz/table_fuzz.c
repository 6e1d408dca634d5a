/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds arbitrary bytes to the reader of tables: accepted tables can be read. The first byte
 * chooses the options; the first line has the text of
 * --inputs and --target.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_BYTES 256

/* The text up to the end of the line; moves past it. */
static void take_line(char text[TEXT_BYTES], const uint8_t **data, size_t *size)
{
    size_t length = 0;
    while (length < *size && (*data)[length] != '\n')
        length++;
    snprintf(text, TEXT_BYTES, "%.*s", (int)(length < TEXT_BYTES ? length : 0),
             (const char *)*data);
    length += length < *size;
    *data += length;
    *size -= length;
}

static void read_samples(const sh_source *source)
{
    const sh_dataset_info *info = &source->info;
    float *sample = malloc(sh_dataset_bytes(info));
    const size_t bytes = sh_target_bytes(info->target, info->outputs);
    void *target = malloc(bytes + 1);
    if (sample == NULL || target == NULL)
        abort();
    for (int split = 0; split < SH_SPLITS; split++) {
        if (info->count[split] == 0)
            abort();
        for (uint32_t i = 0; i < info->count[split]; i++) {
            char name[64];
            source->ops->name(source, (sh_split)split, i, name, sizeof name);
            if (source->ops->read(source, (sh_split)split, i, sample, target) != SH_OK)
                continue;
            for (size_t k = 0; k < sh_dataset_elements(info); k++)
                if (!isfinite(sample[k]))
                    abort();
            int32_t class = 0;
            if (info->target == SH_TARGET_CLASS)
                memcpy(&class, target, sizeof class);
            if (class < 0 || (uint32_t) class >= info->outputs)
                abort();
        }
    }
    free(sample);
    free(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tasks[] = {"", "regression", "reconstruction", "multi-label",
                                        "classification"};
    char inputs[TEXT_BYTES] = "", columns[TEXT_BYTES] = "", path[64];
    static int fd = -1;
    if (size == 0)
        return 0;
    const uint8_t choice = *data++;
    size--;
    if ((choice & 1) != 0)
        take_line(inputs, &data, &size);
    if ((choice & 2) != 0)
        take_line(columns, &data, &size);
    if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
        return 0; /* gzip is zlib's concern, and would fill the cache */
    if (fd < 0)
        fd = memfd_create("table", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    const sh_read_options options = {
        .inputs = inputs,
        .target = columns,
        .task = tasks[(choice >> 2) % 5],
        .skip_lines = choice >> 6,
    };
    sh_source *source;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sh_tables_format.look(&source, &sh_tables_format, path, &options) != SH_OK)
        return 0;
    read_samples(source);
    char *about = json_dumps(source->about, JSON_COMPACT);
    if (about == NULL)
        abort();
    free(about);
    sh_source_close(source);
    return 0;
}
