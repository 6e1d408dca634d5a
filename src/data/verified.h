/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies the SHA-256 of cache files before they are used.
 *
 * Files of at most SH_VERIFIED_ALWAYS bytes are read every time: 64 MiB take 0.04 to 0.14 s (one
 * core, OpenSSL 3). Larger files are read again only if size, inode, modification time or change
 * time differ from the last success. No program can choose the change time.
 *
 * The cache folder's `verified` has 256 slots of 32 bytes, selected by the inode, each the SHA-256
 * of one file's facts. A collision costs one reading.
 *
 *     SH_TRY(sh_verified_check(&(sh_verified){.fd = fd, .digest = digest, .blank_bytes = 0}));
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_VERIFIED_H
#define SHOAL_DATA_VERIFIED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fail.h"

#define SH_VERIFIED_ALWAYS ((uint64_t)64 << 20)

typedef struct sh_verified {
    int fd;             /* borrowed; its position is not used */
    const char *digest; /* borrowed; hexadecimal */
    uint64_t blank_at;  /* bytes that the digest counts as zeros */
    uint32_t blank_bytes;
    bool touch; /* if valid, sets the modification time to now */
} sh_verified;

/* SH_CORRUPT: wrong content. SH_REFUSED: another user owns the file or may write it. Fails like
 * reading; messages lack the file's name. */
sh_status sh_verified_check(const sh_verified *file) SHOAL_CHECKED;

#endif
