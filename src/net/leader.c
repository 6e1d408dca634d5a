/* SPDX-License-Identifier: Apache-2.0 */
#include "net/leader.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "base/digest.h"
#include "net/tls_calls.h"

/* What is signed: the purpose, so that no other use of the key gives the same signature, then the
 * binding. */
#define PURPOSE "shoal 1 coordinator"
#define PURPOSE_BYTES (sizeof PURPOSE - 1)
#define SIGNED_BYTES (PURPOSE_BYTES + SH_LEADER_BINDING_BYTES)

static void put_signed(unsigned char text[SIGNED_BYTES],
                       const unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    memcpy(text, PURPOSE, PURPOSE_BYTES);
    memcpy(text + PURPOSE_BYTES, binding, SH_LEADER_BINDING_BYTES);
}

static sh_status no_signatures(void)
{
    ERR_clear_error();
    return sh_fail(SH_UNSUPPORTED, "OpenSSL has no Ed25519 signatures, or memory is out");
}

static sh_status find_public(unsigned char key[SH_KEY_BYTES], const EVP_PKEY *pair)
{
    size_t bytes = SH_KEY_BYTES;
    if (pair == NULL || EVP_PKEY_get_raw_public_key(pair, key, &bytes) != 1)
        return no_signatures();
    return SH_OK;
}

static sh_status hash_public(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                             const unsigned char key[SH_KEY_BYTES])
{
    uint8_t hash[SH_DIGEST_BYTES];
    SH_TRY(sh_digest_block(hash, key, SH_KEY_BYTES));
    memcpy(fingerprint, hash, SH_LEADER_FINGERPRINT_BYTES);
    return SH_OK;
}

static EVP_PKEY *pair_of(const unsigned char secret[SH_KEY_BYTES])
{
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, SH_KEY_BYTES);
}

sh_status sh_leader_fingerprint(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char secret[SH_KEY_BYTES])
{
    unsigned char key[SH_KEY_BYTES];
    SH_TRY(sh_tls_load());
    EVP_PKEY *pair = pair_of(secret);
    sh_status status = find_public(key, pair);
    EVP_PKEY_free(pair);
    SH_TRY(status);
    return hash_public(fingerprint, key);
}

sh_status sh_leader_sign(sh_leader_proof *proof, const unsigned char secret[SH_KEY_BYTES],
                         const unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    unsigned char text[SIGNED_BYTES];
    sh_leader_proof fresh;
    size_t bytes = sizeof fresh.signature;
    sh_status status;
    SH_TRY(sh_tls_load());
    EVP_PKEY *pair = pair_of(secret);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    SH_TRY_DONE(find_public(fresh.key, pair));
    put_signed(text, binding);
    if (context == NULL || EVP_DigestSignInit(context, NULL, NULL, NULL, pair) != 1 ||
        EVP_DigestSign(context, fresh.signature, &bytes, text, sizeof text) != 1)
        SH_TRY_DONE(no_signatures());
    *proof = fresh;
    status = SH_OK;
done:
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pair);
    return status;
}

/* False also where the library fails: an unproved connection is refused. */
static bool is_signed(const sh_leader_proof *proof, const unsigned char text[SIGNED_BYTES])
{
    EVP_PKEY *key =
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, proof->key, sizeof proof->key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good = key != NULL && context != NULL &&
                      EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
                      EVP_DigestVerify(context, proof->signature, sizeof proof->signature, text,
                                       SIGNED_BYTES) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

sh_status sh_leader_check(const sh_leader_proof *proof,
                          const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                          const unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    unsigned char text[SIGNED_BYTES], found[SH_LEADER_FINGERPRINT_BYTES];
    SH_TRY(sh_tls_load());
    SH_TRY(hash_public(found, proof->key));
    put_signed(text, binding);
    if (memcmp(found, fingerprint, sizeof found) != 0 || !is_signed(proof, text))
        return sh_fail(SH_REFUSED, "it did not prove that it is the coordinator of this token");
    return SH_OK;
}
