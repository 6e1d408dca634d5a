/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes .npy files for tests.
 *
 *     array_write(scratch_folder, "x", "<f4", "(10, 3)", numbers, sizeof numbers);
 *
 * Threads: one only. Failures fail the test.
 */
#ifndef SHOAL_DATA_ARRAY_ARRAY_FIXTURE_H
#define SHOAL_DATA_ARRAY_ARRAY_FIXTURE_H

#include "base/scratch.h"

#define ARRAY_HEAD_MOST 138

/* Format version 1; returns the size in bytes. */
static inline size_t array_head(uint8_t head[ARRAY_HEAD_MOST], const char *type, const char *shape)
{
    const int length =
        snprintf((char *)head + 10, ARRAY_HEAD_MOST - 10,
                 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", type, shape);
    assert_in_range(length, 1, ARRAY_HEAD_MOST - 11);
    memcpy(head, "\x93NUMPY\1", 8); /* the terminating zero is the minor version */
    head[8] = (uint8_t)length;
    head[9] = 0;
    return 10 + (size_t)length;
}

static inline void array_write(const char *folder, const char *name, const char *type,
                               const char *shape, const void *numbers, size_t bytes)
{
    char path[SCRATCH_BYTES + 64];
    uint8_t head[ARRAY_HEAD_MOST];
    const size_t head_bytes = array_head(head, type, shape);
    uint8_t *file = malloc(head_bytes + bytes);
    assert_non_null(file);
    memcpy(file, head, head_bytes);
    if (bytes > 0)
        memcpy(file + head_bytes, numbers, bytes);
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    scratch_write(path, file, head_bytes + bytes);
    free(file);
}

#endif
