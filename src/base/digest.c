/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

/* OpenSSL's generic functions load a table of all algorithms, 2 MB of memory. */
#define OPENSSL_API_COMPAT 10101
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sh_digest {
    SHA256_CTX context;
    bool failed;
};

sh_status sh_digest_new(sh_digest **digest)
{
    sh_digest *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a digest");
    fresh->failed = SHA256_Init(&fresh->context) != 1;
    *digest = fresh;
    return SH_OK;
}

void sh_digest_add(sh_digest *digest, const void *data, size_t bytes)
{
    if (SHA256_Update(&digest->context, data, bytes) != 1)
        digest->failed = true;
}

sh_status sh_digest_finish(sh_digest *digest, char hex[SH_DIGEST_TEXT])
{
    uint8_t bytes[SH_DIGEST_BYTES];
    const bool good = !digest->failed && SHA256_Final(bytes, &digest->context) == 1;
    free(digest);
    if (!good)
        return sh_fail(SH_INTERNAL, "SHA-256 failed in the cryptographic library");
    sh_digest_print(hex, bytes);
    return SH_OK;
}

sh_status sh_digest_block(uint8_t digest[SH_DIGEST_BYTES], const void *data, size_t bytes)
{
    SHA256_CTX context;
    if (SHA256_Init(&context) != 1 || SHA256_Update(&context, data, bytes) != 1 ||
        SHA256_Final(digest, &context) != 1)
        return sh_fail(SH_INTERNAL, "SHA-256 failed in the cryptographic library");
    return SH_OK;
}

void sh_digest_print(char hex[SH_DIGEST_TEXT], const uint8_t digest[SH_DIGEST_BYTES])
{
    for (size_t i = 0; i < SH_DIGEST_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
