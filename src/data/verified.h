/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifies the SHA-256 of cache files before they are used.
 *
 *     SH_TRY(sh_verified_check(&(sh_verified){.fd = fd, .digest = digest, .blank_bytes = 0}));
 *
 * Files of at most SH_VERIFIED_ALWAYS bytes are read every time: SHA-256 processes over 1.6 GB/s
 * with the processor's instructions and 0.48 GB/s without (one core, OpenSSL 3), so 64 MiB take
 * 0.04 to 0.14 s and 200 MB 0.13 to 0.42 s. Larger files are read again only if size, inode,
 * modification time or change time differ from the last success. The kernel sets the change time
 * at every write; no program can choose it.
 *
 * These facts are in the cache folder's `verified`: 256 slots of 32 bytes, selected by the inode,
 * each the SHA-256 of one file's facts. A collision costs one reading.
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
    const char *digest; /* borrowed; SHA-256 in hexadecimal */
    uint64_t blank_at;  /* bytes that the digest counts as zeros */
    uint32_t blank_bytes;
    bool touch; /* if valid, sets the modification time to now, as last use */
} sh_verified;

/*
 * SH_CORRUPT: wrong content. SH_REFUSED: another user owns the file or may write it. Fails like
 * reading; messages lack the file's name.
 */
sh_status sh_verified_check(const sh_verified *file) SHOAL_CHECKED;

#endif
