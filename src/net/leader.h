/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that a device coordinates a job. A coordinator makes a key pair with the job (Ed25519,
 * RFC 8032). The join token names the pair by its fingerprint, and the coordinator signs each
 * connection that comes in by the token. So a device that only holds the token cannot pose as the
 * coordinator: it lacks the secret key, and what it relays was signed for another connection.
 *
 *     SH_TRY(sh_leader_fingerprint(token.leader, secret));      // once, where the token is made
 *     SH_TRY(sh_channel_binding(channel, binding));            // on both sides
 *     SH_TRY(sh_leader_sign(&proof, secret, binding));          // the coordinator sends the proof
 *     SH_TRY(sh_leader_check(&proof, token.leader, binding));   // the device checks it
 *
 * Threads: any. Nothing is kept.
 */
#ifndef SHOAL_NET_LEADER_H
#define SHOAL_NET_LEADER_H

#include "base/fail.h"
#include "net/key.h"

#define SH_LEADER_SIGNATURE_BYTES 64
#define SH_LEADER_FINGERPRINT_BYTES 16 /* the first of SHA-256 over the public key */
#define SH_LEADER_BINDING_BYTES 32     /* what only the two ends of a connection know (net/tls.h) */

typedef struct sh_leader_proof {
    unsigned char key[SH_KEY_BYTES]; /* the public one */
    unsigned char signature[SH_LEADER_SIGNATURE_BYTES];
} sh_leader_proof;

/* The fingerprint of the pair with this secret key, which is any 32 random bytes (sh_key_make).
 * SH_UNSUPPORTED: the cryptographic library is missing. */
sh_status sh_leader_fingerprint(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char secret[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Signs a connection. Fails as above. */
sh_status sh_leader_sign(sh_leader_proof *proof, const unsigned char secret[SH_KEY_BYTES],
                         const unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* SH_REFUSED: the key is another one than the fingerprint names, or it did not sign this
 * connection. */
sh_status sh_leader_check(const sh_leader_proof *proof,
                          const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                          const unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

#endif
