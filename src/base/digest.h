/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), by OpenSSL.
 *
 *     sh_digest *digest;
 *     SH_TRY(sh_digest_new(&digest));
 *     sh_digest_add(digest, bytes, count);
 *     char hex[SH_DIGEST_TEXT];
 *     SH_TRY(sh_digest_finish(digest, hex));   // frees it
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BASE_DIGEST_H
#define SHOAL_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_DIGEST_TEXT 65 /* with the terminating zero */
#define SH_DIGEST_BYTES 32

typedef struct sh_digest sh_digest;

sh_status sh_digest_new(sh_digest **digest) SHOAL_CHECKED;

/* sh_digest_finish reports failures. */
void sh_digest_add(sh_digest *digest, const void *data, size_t bytes);

/* Writes lower-case hexadecimal and frees `digest`, also on failure. */
sh_status sh_digest_finish(sh_digest *digest, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

sh_status sh_digest_block(uint8_t digest[SH_DIGEST_BYTES], const void *data,
                          size_t bytes) SHOAL_CHECKED;

void sh_digest_print(char hex[SH_DIGEST_TEXT], const uint8_t digest[SH_DIGEST_BYTES]);

#endif
