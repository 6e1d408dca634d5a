/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that a device coordinates a job. A coordinator makes a key pair with the job (Ed25519,
 * RFC 8032). The join token names the pair by its fingerprint, and the coordinator signs each
 * connection that comes in by the token. So a device that only holds the token cannot pose as the
 * coordinator: it lacks the secret key, and what it relays was signed for another connection.
 *
 *     SH_TRY(sh_leader_fingerprint(token.leader, secret));       // once, where the token is made
 *     SH_TRY(sh_channel_binding(channel, binding));              // on both sides
 *     SH_TRY(sh_leader_sign(&proof, secret, binding));           // the coordinator sends the proof
 *     SH_TRY(sh_leader_check(&proof, &chain, token.leader, binding)); // the device checks it
 *
 * A successor has a key pair of its own. The coordinator gives each device a warrant: a signature
 * of that device's public key. A device that goes on in the coordinator's place shows its warrants,
 * a chain from the key that the token names to its own.
 *
 *     SH_TRY(sh_leader_warrant(&theirs, &mine, secret, their_key));
 *
 * Threads: any. Nothing is kept.
 */
#ifndef SHOAL_NET_LEADER_H
#define SHOAL_NET_LEADER_H

#include <stdint.h>

#include "base/fail.h"
#include "net/key.h"

#define SH_LEADER_SIGNATURE_BYTES 64
#define SH_LEADER_FINGERPRINT_BYTES 16 /* the first of SHA-256 over the public key */
#define SH_LEADER_BINDING_BYTES 32     /* what only the two ends of a connection know (net/tls.h) */
#define SH_LEADER_WARRANTS_MAX 128

typedef struct sh_leader_signature {
    unsigned char key[SH_KEY_BYTES]; /* the public one of the pair that signed */
    unsigned char signature[SH_LEADER_SIGNATURE_BYTES];
} sh_leader_signature;

/* Warrants: the first is by the key that the token names, each signs the key of the next, and the
 * last one the holder's. None: the holder's key is the one that the token names. */
typedef struct sh_leader_chain {
    uint32_t count;
    sh_leader_signature warrants[SH_LEADER_WARRANTS_MAX];
} sh_leader_chain;

/* The public key and the fingerprint of the pair with this secret key, which is any 32 random bytes
 * (sh_key_make). SH_UNSUPPORTED: the cryptographic library is missing, or memory is out; so for all
 * functions here. */
sh_status sh_leader_public(unsigned char key[SH_KEY_BYTES],
                           const unsigned char secret[SH_KEY_BYTES]) SHOAL_CHECKED;
sh_status sh_leader_fingerprint(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char secret[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Signs a connection. */
sh_status sh_leader_sign(sh_leader_signature *proof, const unsigned char secret[SH_KEY_BYTES],
                         const unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* Gives the device with the public key `key` the chain of the coordinator, whose own is `chain` and
 * whose secret key is `secret`, with one warrant more. SH_LIMIT: the chain is as long as it can be.
 */
sh_status sh_leader_warrant(sh_leader_chain *theirs, const sh_leader_chain *chain,
                            const unsigned char secret[SH_KEY_BYTES],
                            const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Whether the chain leads from the key of the fingerprint to `key`: else SH_REFUSED. */
sh_status sh_leader_check_chain(const sh_leader_chain *chain,
                                const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* SH_REFUSED: the key did not sign this connection, or the chain does not lead to it. */
sh_status sh_leader_check(const sh_leader_signature *proof, const sh_leader_chain *chain,
                          const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                          const unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

#endif
