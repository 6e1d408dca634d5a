/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in a file or in memory, read at an offset.
 *
 *     sh_blob blob;
 *     SH_TRY(sh_blob_open(&blob, "lenet.onnx", SH_ONNX_FILE_BYTES));
 *     status = sh_blob_read(&blob, header, sizeof header, 0);
 *     sh_blob_close(&blob);
 *
 * A file is read and never mapped: one that shrinks while it is mapped kills the process.
 *
 * Threads: any number may read one blob.
 */
#ifndef SHOAL_ONNX_BLOB_H
#define SHOAL_ONNX_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_blob {
    const uint8_t *bytes; /* in memory; borrowed */
    int fd;               /* -1 in memory */
    uint64_t count;
} sh_blob;

/* Bytes in memory, borrowed until nobody reads the blob any more; nothing has to be closed. */
sh_blob sh_blob_of(const void *bytes, size_t count);

/* Opens a file. SH_INVALID where it is not a regular one, SH_LIMIT where it is larger than
 * `most_bytes`. */
sh_status sh_blob_open(sh_blob *blob, const char *path, uint64_t most_bytes) SHOAL_CHECKED;

/*
 * Opens a file within the open folder `folder`. `path` comes from outside: SH_INVALID where it is
 * absolute or has a part that is empty, "." or "..", or where a part of it is a symbolic link; it
 * then opens nothing outside the folder. Failures as above, without the path.
 */
sh_status sh_blob_open_within(sh_blob *blob, int folder, const char *path,
                              uint64_t most_bytes) SHOAL_CHECKED;

void sh_blob_close(sh_blob *blob);

/* SH_CORRUPT where there are less bytes than that, or the file became shorter. */
sh_status sh_blob_read(const sh_blob *blob, void *buffer, size_t bytes,
                       uint64_t offset) SHOAL_CHECKED;

#endif
