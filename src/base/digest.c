/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sh_digest {
    EVP_MD_CTX *context;
    bool failed;
};

sh_status sh_digest_new(sh_digest **digest)
{
    sh_digest *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a digest");
    fresh->context = EVP_MD_CTX_new();
    if (fresh->context == NULL || EVP_DigestInit_ex(fresh->context, EVP_sha256(), NULL) != 1) {
        EVP_MD_CTX_free(fresh->context);
        free(fresh);
        return sh_fail(SH_INTERNAL, "the cryptographic library has no SHA-256");
    }
    *digest = fresh;
    return SH_OK;
}

void sh_digest_add(sh_digest *digest, const void *data, size_t bytes)
{
    if (EVP_DigestUpdate(digest->context, data, bytes) != 1)
        digest->failed = true;
}

sh_status sh_digest_finish(sh_digest *digest, char hex[SH_DIGEST_TEXT])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    const bool good = !digest->failed && EVP_DigestFinal_ex(digest->context, bytes, NULL) == 1;
    EVP_MD_CTX_free(digest->context);
    free(digest);
    if (!good)
        return sh_fail(SH_INTERNAL, "SHA-256 failed in the cryptographic library");
    sh_digest_print(hex, bytes);
    return SH_OK;
}

sh_status sh_digest_block(uint8_t digest[SH_DIGEST_BYTES], const void *data, size_t bytes)
{
    uint8_t fresh[EVP_MAX_MD_SIZE];
    if (EVP_Digest(data, bytes, fresh, NULL, EVP_sha256(), NULL) != 1)
        return sh_fail(SH_INTERNAL, "SHA-256 failed in the cryptographic library");
    memcpy(digest, fresh, SH_DIGEST_BYTES);
    return SH_OK;
}

void sh_digest_print(char hex[SH_DIGEST_TEXT], const uint8_t digest[SH_DIGEST_BYTES])
{
    for (size_t i = 0; i < SH_DIGEST_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}
