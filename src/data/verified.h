/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the cache that are read only after their SHA-256 was found right.
 *
 *     SH_TRY(sh_verified_check(&(sh_verified){.fd = fd, .digest = digest, .blank_bytes = 0}));
 *
 * A file of at most SH_VERIFIED_ALWAYS bytes is read whole at every opening. SHA-256 goes over
 * 1.6 GB a second with the processor's instructions and 0.48 GB without (one core, measured with
 * OpenSSL 3): 0.04 to 0.14 s for 64 MiB, 0.13 to 0.42 s for 200 MB. A larger file is read again
 * only if its size, inode, time of modification or time of change differs from when it was last
 * found right. The kernel sets the time of change at every write, and no program can choose it.
 *
 * These facts lie in the cache folder as `verified`, 256 slots of 32 bytes: a slot holds the
 * SHA-256 of the facts of one file, and the file's inode chooses it. A slot that another file took
 * costs one reading.
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
    const char *digest; /* borrowed: SHA-256 in hexadecimal */
    uint64_t blank_at;  /* bytes of the file that the digest took as zeros */
    uint32_t blank_bytes;
    bool touch; /* sets its time of modification to now where it is right: that it was used */
} sh_verified;

/*
 * Fails with SH_CORRUPT where the content is another one, SH_REFUSED where another user owns the
 * file or may write it, and as reading it does; messages do not name the file.
 */
sh_status sh_verified_check(const sh_verified *file) SHOAL_CHECKED;

#endif
