/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves a coordinator's role on a connection, and verifies it: signatures (net/leader.h) as
 * messages.
 *
 *     SH_TRY(sh_claim_send(&claim, channel));               // the coordinator's first message
 *     SH_TRY(sh_claim_read(&heard, message, channel, token.leader));
 *     if (heard.term >= known)
 *         ... accept ...
 *
 * Threads: loop only; chains are values.
 */
#ifndef SHOAL_NODE_CLAIMS_H
#define SHOAL_NODE_CLAIMS_H

#include "net/leader.h"
#include "net/message.h"

/* Pointers are borrowed for the call. */
typedef struct sh_claim {
    const unsigned char *secret; /* SH_KEY_BYTES */
    const sh_leader_chain *chain;
    uint32_t term;
    uint64_t steps;
} sh_claim;

/* What was proved. */
typedef struct sh_claimed {
    unsigned char key[SH_KEY_BYTES]; /* public */
    uint32_t term;
    uint64_t steps;
} sh_claimed;

/* Fails as sh_leader_sign and sh_message_send do. */
sh_status sh_claim_send(const sh_claim *claim, sh_channel *channel) SHOAL_CHECKED;

/* Verifies the first message of a coordinator. SH_REFUSED: not a proof, or not for the job of
 * `fingerprint` and this connection. The caller checks the term. */
sh_status sh_claim_read(sh_claimed *claimed, const Shoal__Message *message,
                        const sh_channel *channel,
                        const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES]) SHOAL_CHECKED;

/* `list` points to `items`, which point into the chain. */
typedef struct sh_chain_message {
    Shoal__Signature items[SH_LEADER_WARRANTS_MAX], *list[SH_LEADER_WARRANTS_MAX];
} sh_chain_message;

void sh_chain_write(sh_chain_message *message, const sh_leader_chain *chain);

/* SH_FORMAT: too many signatures, or an incomplete one. */
sh_status sh_chain_read(sh_leader_chain *chain, Shoal__Signature *const *items,
                        size_t count) SHOAL_CHECKED;

#endif
