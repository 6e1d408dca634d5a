/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a gzip file as an ordinary seekable file: unpacks it once and keeps the copy.
 *
 * The copy is in $XDG_CACHE_HOME/shoal or ~/.cache/shoal (mode 0700) and is reused while the gzip
 * file has the same path, size, modification time and inode. A copy with a wrong size or SHA-256
 * (verified.h), or that another user owns or may write, is remade. Without a writable cache, the
 * copy is an unnamed file in $TMPDIR or /tmp that vanishes on close.
 *
 *     int fd;
 *     SH_TRY(sh_unpack_open(&fd, "/data/mnist/train-images-idx3-ubyte.gz", LIMIT_BYTES));
 *     pread(fd, bytes, count, offset);   // of the unpacked content
 *     close(fd);
 *
 * Threads: any; of concurrent processes one unpacks and the others wait.
 */
#ifndef SHOAL_DATA_UNPACK_H
#define SHOAL_DATA_UNPACK_H

#include <stdint.h>

#include "base/fail.h"

/*
 * The caller closes `*fd` and only reads it. Blocks: the first call writes and syncs the whole
 * content.
 *
 * Fails with SH_NOT_FOUND, SH_PERMISSION (the file), SH_FORMAT (not gzip), SH_CORRUPT (damaged,
 * truncated, or followed by other bytes), SH_LIMIT (more than `limit_bytes` unpacked), SH_NO_SPACE.
 */
sh_status sh_unpack_open(int *fd, const char *path, uint64_t limit_bytes) SHOAL_CHECKED;

#endif
