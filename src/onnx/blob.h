/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random-access reading of bytes from a file or from memory.
 *
 * Files are read and never mapped: access to a mapped file that was truncated kills the process.
 * Messages do not name the path; the caller adds it.
 *
 *     sh_blob blob;
 *     SH_TRY(sh_blob_open(&blob, "lenet.onnx", SH_ONNX_FILE_BYTES));
 *     status = sh_blob_read(&blob, header, sizeof header, 0);
 *     sh_blob_close(&blob);
 *
 * Threads: any number may read one blob.
 */
#ifndef SHOAL_ONNX_BLOB_H
#define SHOAL_ONNX_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_blob {
    const uint8_t *bytes; /* NULL for a file; borrowed */
    int fd;               /* -1 for memory */
    uint64_t count;
} sh_blob;

/* The bytes are borrowed as long as the blob is in use. It need not be closed. */
sh_blob sh_blob_of(const void *bytes, size_t count);

/* SH_INVALID if it is not a regular file, SH_LIMIT if it is larger than `most_bytes`. */
sh_status sh_blob_open(sh_blob *blob, const char *path, uint64_t most_bytes) SHOAL_CHECKED;

/*
 * Opens a file inside the open folder `folder`. `path` is untrusted: SH_INVALID if it is absolute,
 * has a part that is empty, "." or "..", or if any part is a symbolic link. Other failures as for
 * sh_blob_open.
 */
sh_status sh_blob_open_within(sh_blob *blob, int folder, const char *path,
                              uint64_t most_bytes) SHOAL_CHECKED;

void sh_blob_close(sh_blob *blob);

/* SH_CORRUPT if the blob has fewer bytes, or if the file became shorter. */
sh_status sh_blob_read(const sh_blob *blob, void *buffer, size_t bytes,
                       uint64_t offset) SHOAL_CHECKED;

#endif
