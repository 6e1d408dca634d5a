/* SPDX-License-Identifier: Apache-2.0 */
#include "net/key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

sh_status sh_key_make(unsigned char key[SH_KEY_BYTES])
{
    unsigned char fresh[SH_KEY_BYTES];
    if (RAND_priv_bytes(fresh, sizeof fresh) != 1)
        return sh_fail(SH_INTERNAL, "the cryptographic library has no randomness for a key");
    memcpy(key, fresh, sizeof fresh);
    OPENSSL_cleanse(fresh, sizeof fresh);
    return SH_OK;
}

sh_status sh_key_derive(unsigned char key[SH_KEY_BYTES], const unsigned char *secret,
                        size_t secret_bytes, const char *label)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, OSSL_KDF_NAME_HKDF, NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
    EVP_KDF_free(kdf);
    unsigned char fresh[SH_KEY_BYTES];
    bool good = false;
    if (context != NULL) {
        /* The parameters are read only, though their type is not const. */
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
    OPENSSL_cleanse(fresh, sizeof fresh);
    return SH_OK;
}

void sh_key_wipe(void *secret, size_t bytes)
{
    OPENSSL_cleanse(secret, bytes);
}

void sh_key_free(void *secret, size_t bytes)
{
    OPENSSL_cleanse(secret, secret == NULL ? 0 : bytes);
    free(secret);
}
