/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proof that a device coordinates a job. The coordinator makes a key pair for the job (Ed25519,
 * RFC 8032). The join token contains the fingerprint of the public key, and the coordinator signs
 * each connection that was opened with the token. A device with the token alone cannot pose as the
 * coordinator: a signature that it relays belongs to another connection.
 *
 *     SH_TRY(sh_channel_binding(channel, binding));              // on both sides
 *     SH_TRY(sh_leader_sign(&proof, secret, binding));           // the coordinator sends the proof
 *     SH_TRY(sh_leader_check(&proof, &chain, token.leader, binding)); // the device checks it
 *
 * The coordinator gives each device a warrant, which is a signature of the device's public key. A
 * device that succeeds the coordinator shows a chain of warrants from the token's key to its own.
 *
 * Threads: any.
 */
#ifndef SHOAL_NET_LEADER_H
#define SHOAL_NET_LEADER_H

#include <stdint.h>

#include "base/fail.h"
#include "net/key.h"

#define SH_LEADER_SIGNATURE_BYTES 64
#define SH_LEADER_FINGERPRINT_BYTES 16 /* the first bytes of SHA-256 over the public key */
#define SH_LEADER_BINDING_BYTES 32     /* known to the connection's ends only (net/tls.h) */
#define SH_LEADER_WARRANTS_MAX 128

typedef struct sh_leader_signature {
    unsigned char key[SH_KEY_BYTES]; /* of the signer */
    unsigned char signature[SH_LEADER_SIGNATURE_BYTES];
} sh_leader_signature;

/* A chain of warrants: the token's key signed the first, each signs the key of the next, and the
 * last signs the holder's key. Empty: the holder has the token's key. */
typedef struct sh_leader_chain {
    uint32_t count;
    sh_leader_signature warrants[SH_LEADER_WARRANTS_MAX];
} sh_leader_chain;

/* `secret`: any 32 random bytes (sh_key_make). All functions here return SH_UNSUPPORTED if the
 * cryptographic library is missing or memory is out. */
sh_status sh_leader_public(unsigned char key[SH_KEY_BYTES],
                           const unsigned char secret[SH_KEY_BYTES]) SHOAL_CHECKED;
sh_status sh_leader_fingerprint(unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char secret[SH_KEY_BYTES]) SHOAL_CHECKED;

sh_status sh_leader_sign(sh_leader_signature *proof, const unsigned char secret[SH_KEY_BYTES],
                         const unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* Makes the chain of the device with the public key `key`: the coordinator's `chain` and one more
 * warrant, signed with its `secret`. SH_LIMIT: `chain` has SH_LEADER_WARRANTS_MAX. */
sh_status sh_leader_warrant(sh_leader_chain *theirs, const sh_leader_chain *chain,
                            const unsigned char secret[SH_KEY_BYTES],
                            const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* SH_REFUSED: the chain does not lead from the key with the fingerprint to `key`. */
sh_status sh_leader_check_chain(const sh_leader_chain *chain,
                                const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                                const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* SH_REFUSED: the key did not sign this connection, or the chain does not lead to it. */
sh_status sh_leader_check(const sh_leader_signature *proof, const sh_leader_chain *chain,
                          const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES],
                          const unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

#endif
