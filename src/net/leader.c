/* SPDX-License-Identifier: Apache-2.0 */
#include "net/leader.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <string.h>

#include "base/digest.h"
#include "net/tls_calls.h"

/* Signed text begins with its purpose, so that a signature is valid for one purpose only. */
#define CONNECTION_PURPOSE "shoal 1 coordinator"
#define WARRANT_PURPOSE "shoal 1 may succeed"
#define PURPOSE_BYTES (sizeof CONNECTION_PURPOSE - 1)
#define SUBJECT_BYTES 32 /* a connection's binding or a public key */
#define SIGNED_BYTES (PURPOSE_BYTES + SUBJECT_BYTES)

_Static_assert(sizeof CONNECTION_PURPOSE == sizeof WARRANT_PURPOSE, "purposes of one length");
_Static_assert(SH_LEADER_BINDING_BYTES == SUBJECT_BYTES && SH_KEY_BYTES == SUBJECT_BYTES,
               "subjects of one length");

static sh_status no_signatures(void)
{
    ERR_clear_error();
    return sh_fail(SH_UNSUPPORTED, "OpenSSL lacks Ed25519 signatures, or memory ran out");
}

static void put_signed(unsigned char text[SIGNED_BYTES], const char *purpose,
                       const unsigned char subject[SUBJECT_BYTES])
{
    memcpy(text, purpose, PURPOSE_BYTES);
    memcpy(text + PURPOSE_BYTES, subject, SUBJECT_BYTES);
}

static EVP_PKEY *pair_of(const unsigned char secret[SH_KEY_BYTES])
{
    return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, SH_KEY_BYTES);
}

static sh_status find_public(unsigned char key[SH_KEY_BYTES], const EVP_PKEY *pair)
{
    size_t bytes = SH_KEY_BYTES;
    if (pair == NULL || EVP_PKEY_get_raw_public_key(pair, key, &bytes) != 1)
        return no_signatures();
    return SH_OK;
}

sh_status sh_leader_public(unsigned char key[SH_KEY_BYTES],
                           const unsigned char secret[SH_KEY_BYTES])
{
    SH_TRY(sh_tls_load());
    EVP_PKEY *pair = pair_of(secret);
    const sh_status status = find_public(key, pair);
    EVP_PKEY_free(pair);
    return status;
}

static sh_status hash_public(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                             const unsigned char key[SH_KEY_BYTES])
{
    uint8_t hash[SH_DIGEST_BYTES];
    SH_TRY(sh_digest_block(hash, key, SH_KEY_BYTES));
    memcpy(fingerprint, hash, SH_LEADER_FINGERPRINT_BYTES);
    return SH_OK;
}

sh_status sh_leader_fingerprint(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char secret[SH_KEY_BYTES])
{
    unsigned char key[SH_KEY_BYTES];
    SH_TRY(sh_leader_public(key, secret));
    return hash_public(fingerprint, key);
}

static sh_status sign(sh_leader_signature *made, const unsigned char secret[SH_KEY_BYTES],
                      const char *purpose, const unsigned char subject[SUBJECT_BYTES])
{
    unsigned char text[SIGNED_BYTES];
    sh_leader_signature fresh;
    size_t bytes = sizeof fresh.signature;
    sh_status status;
    SH_TRY(sh_tls_load());
    EVP_PKEY *pair = pair_of(secret);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    SH_TRY_DONE(find_public(fresh.key, pair));
    put_signed(text, purpose, subject);
    if (context == NULL || EVP_DigestSignInit(context, NULL, NULL, NULL, pair) != 1 ||
        EVP_DigestSign(context, fresh.signature, &bytes, text, sizeof text) != 1)
        SH_TRY_DONE(no_signatures());
    *made = fresh;
    status = SH_OK;
done:
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pair);
    return status;
}

/* False also if the library fails. */
static bool is_signed(const sh_leader_signature *by, const char *purpose,
                      const unsigned char subject[SUBJECT_BYTES])
{
    unsigned char text[SIGNED_BYTES];
    put_signed(text, purpose, subject);
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, by->key, sizeof by->key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good =
        key != NULL && context != NULL &&
        EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestVerify(context, by->signature, sizeof by->signature, text, sizeof text) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}

sh_status sh_leader_sign(sh_leader_signature *proof, const unsigned char secret[SH_KEY_BYTES],
                         const unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    return sign(proof, secret, CONNECTION_PURPOSE, binding);
}

sh_status sh_leader_warrant(sh_leader_chain *theirs, const sh_leader_chain *chain,
                            const unsigned char secret[SH_KEY_BYTES],
                            const unsigned char key[SH_KEY_BYTES])
{
    sh_leader_signature last;
    if (chain->count == SH_LEADER_WARRANTS_MAX)
        return sh_fail(SH_LIMIT, "a chain of %d warrants: no device can succeed this coordinator",
                       SH_LEADER_WARRANTS_MAX);
    SH_TRY(sign(&last, secret, WARRANT_PURPOSE, key));
    theirs->count = chain->count;
    memcpy(theirs->warrants, chain->warrants, chain->count * sizeof *chain->warrants);
    theirs->warrants[theirs->count++] = last;
    return SH_OK;
}

sh_status sh_leader_check_chain(const sh_leader_chain *chain,
                                const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char key[SH_KEY_BYTES])
{
    unsigned char found[SH_LEADER_FINGERPRINT_BYTES];
    const unsigned char *first = chain->count > 0 ? chain->warrants[0].key : key;
    SH_TRY(sh_tls_load());
    SH_TRY(hash_public(found, first));
    bool good = memcmp(found, fingerprint, sizeof found) == 0;
    for (uint32_t i = 0; i < chain->count && good; i++) {
        const unsigned char *next = i + 1 < chain->count ? chain->warrants[i + 1].key : key;
        good = is_signed(&chain->warrants[i], WARRANT_PURPOSE, next);
    }
    if (good)
        return SH_OK;
    return sh_fail(SH_REFUSED, "it did not prove that it may coordinate the job of this token");
}

sh_status sh_leader_check(const sh_leader_signature *proof, const sh_leader_chain *chain,
                          const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                          const unsigned char binding[SH_LEADER_BINDING_BYTES])
{
    SH_TRY(sh_leader_check_chain(chain, fingerprint, proof->key));
    if (!is_signed(proof, CONNECTION_PURPOSE, binding))
        return sh_fail(SH_REFUSED, "it did not prove that it is the coordinator of this token");
    return SH_OK;
}
