/* SPDX-License-Identifier: Apache-2.0 */
#include "net/key.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/tls_calls.h"

sh_status sh_key_random(void *secret, size_t bytes)
{
    if (getentropy(secret, bytes) != 0)
        return sh_fail_errno(errno, "secret random bytes from the system");
    return SH_OK;
}

sh_status sh_key_make(unsigned char key[SH_KEY_BYTES])
{
    return sh_key_random(key, SH_KEY_BYTES);
}

sh_status sh_key_derive(unsigned char key[SH_KEY_BYTES], const unsigned char *secret,
                        size_t secret_bytes, const char *label)
{
    SH_TRY(sh_tls_load());
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_HKDF, NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
    EVP_KDF_free(kdf);
    unsigned char fresh[SH_KEY_BYTES];
    bool good = false;
    if (context != NULL) {
        /* OpenSSL only reads the parameters, although the type is not const. */
        const OSSL_PARAM params[] = {
            OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_bytes),
            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)label, strlen(label)),
            OSSL_PARAM_construct_end(),
        };
        good = EVP_KDF_derive(context, fresh, sizeof fresh, params) == 1;
    }
    EVP_KDF_CTX_free(context);
    if (!good)
        return sh_fail(SH_INTERNAL, "the cryptographic library could not derive a key (HKDF)");
    memcpy(key, fresh, sizeof fresh);
    sh_key_wipe(fresh, sizeof fresh);
    return SH_OK;
}

void sh_key_wipe(void *secret, size_t bytes)
{
    if (bytes > 0) /* `secret` may be NULL for 0 bytes */
        explicit_bzero(secret, bytes);
}

void sh_key_free(void *secret, size_t bytes)
{
    if (secret != NULL)
        sh_key_wipe(secret, bytes);
    free(secret);
}
