/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gzip file as an ordinary open file that can be read anywhere: unpacked once, kept for the next
 * time.
 *
 *     int fd;
 *     SH_TRY(sh_unpack_open(&fd, "/data/mnist/train-images-idx3-ubyte.gz", LIMIT_BYTES));
 *     pread(fd, bytes, count, offset);   // of the unpacked content
 *     close(fd);
 *
 * The unpacked copy goes to the user's cache, $XDG_CACHE_HOME/shoal or ~/.cache/shoal (mode 0700),
 * and is found again while the gzip file has the same path, size, time of change and inode. A copy
 * whose size or SHA-256 is wrong (verified.h), or that another user owns or may write, is made
 * anew; one of an older version of the file is removed. Several processes may come at once: one
 * unpacks, the others wait for it. Killing it leaves nothing that would be taken for a copy. Where
 * there is no cache that can be written, the copy is a file without a name in $TMPDIR or /tmp, gone
 * when it is closed.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_UNPACK_H
#define SHOAL_DATA_UNPACK_H

#include <stdint.h>

#include "base/fail.h"

/*
 * Opens the unpacked content of `path`. `*fd` is owned: close it; only read it. Blocking: the
 * first time it writes and syncs the whole content.
 *
 * Fails with SH_NOT_FOUND, SH_PERMISSION (the file), SH_FORMAT (not gzip), SH_CORRUPT (damaged,
 * cut off, or more behind its end), SH_LIMIT (more than `limit_bytes` unpacked), SH_NO_SPACE.
 */
sh_status sh_unpack_open(int *fd, const char *path, uint64_t limit_bytes) SHOAL_CHECKED;

#endif
