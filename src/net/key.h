/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 256-bit keys: random, or derived from a secret for one purpose.
 *
 *     unsigned char key[SH_KEY_BYTES];
 *     SH_TRY(sh_key_derive(key, secret, sizeof secret, "shoal join"));
 *     ...
 *     sh_key_wipe(key, sizeof key);
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_KEY_H
#define SHOAL_NET_KEY_H

#include <stddef.h>

#include "base/fail.h"

#define SH_KEY_BYTES 32

/* Fills `secret` from the system's cryptographic generator; at most 256 bytes. */
sh_status sh_key_random(void *secret, size_t bytes) SHOAL_CHECKED;

sh_status sh_key_make(unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Derives a key by HKDF-SHA256 (RFC 5869) of `secret` without salt, with `label` as info. Different
 * labels give independent keys, and a key does not reveal the secret. */
sh_status sh_key_derive(unsigned char key[SH_KEY_BYTES], const unsigned char *secret,
                        size_t secret_bytes, const char *label) SHOAL_CHECKED;

/* Overwrites the bytes with zeros; the compiler cannot remove this. */
void sh_key_wipe(void *secret, size_t bytes);

/* Wipes and frees. NULL is fine. */
void sh_key_free(void *secret, size_t bytes);

#endif
