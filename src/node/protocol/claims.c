/* SPDX-License-Identifier: Apache-2.0 */
#include "node/protocol/claims.h"

#include <stdlib.h>
#include <string.h>

static void write_signature(Shoal__Signature *body, const sh_leader_signature *signature)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)signature->signature;
    shoal__signature__init(body);
    body->key = (ProtobufCBinaryData){SH_KEY_BYTES, (uint8_t *)(uintptr_t)signature->key};
    body->point = (ProtobufCBinaryData){SH_KEY_BYTES, bytes};
    body->scalar = (ProtobufCBinaryData){SH_KEY_BYTES, bytes + SH_KEY_BYTES};
}

static bool read_signature(sh_leader_signature *signature, const Shoal__Signature *body)
{
    if (body->key.len != SH_KEY_BYTES || body->point.len != SH_KEY_BYTES ||
        body->scalar.len != SH_KEY_BYTES)
        return false;
    memcpy(signature->key, body->key.data, SH_KEY_BYTES);
    memcpy(signature->signature, body->point.data, SH_KEY_BYTES);
    memcpy(signature->signature + SH_KEY_BYTES, body->scalar.data, SH_KEY_BYTES);
    return true;
}

void sh_chain_write(sh_chain_message *message, const sh_leader_chain *chain)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        write_signature(&message->items[i], &chain->warrants[i]);
        message->list[i] = &message->items[i];
    }
}

sh_status sh_chain_read(sh_leader_chain *chain, Shoal__Signature *const *items, size_t count)
{
    bool whole = count <= SH_LEADER_WARRANTS_MAX;
    chain->count = 0;
    for (size_t i = 0; i < count && whole; i++)
        whole = read_signature(&chain->warrants[chain->count++], items[i]);
    return whole ? SH_OK : sh_fail(SH_FORMAT, "an invalid chain of warrants");
}

sh_status sh_claim_send(const sh_claim *claim, sh_channel *channel)
{
    unsigned char binding[SH_LEADER_BINDING_BYTES];
    sh_leader_signature proof;
    Shoal__Signature signature;
    sh_chain_message chain;
    SH_TRY(sh_channel_binding(channel, binding));
    SH_TRY(sh_leader_sign(&proof, claim->secret, binding));
    Shoal__Proof body = SHOAL__PROOF__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(PROOF, proof, &body);
    write_signature(&signature, &proof);
    sh_chain_write(&chain, claim->chain);
    body.proof = &signature;
    body.n_warrants = claim->chain->count;
    body.warrants = chain.list;
    body.term = claim->term;
    body.steps = claim->steps;
    return sh_message_send(channel, &message);
}

sh_status sh_claim_read(sh_claimed *claimed, const Shoal__Message *message,
                        const sh_channel *channel,
                        const unsigned char fingerprint[SH_LEADER_FINGERPRINT_BYTES])
{
    unsigned char binding[SH_LEADER_BINDING_BYTES];
    sh_leader_signature proof;
    sh_leader_chain chain;
    const Shoal__Proof *body = message->proof;
    if (message->body_case != SHOAL__MESSAGE__BODY_PROOF || !read_signature(&proof, body->proof) ||
        sh_chain_read(&chain, body->warrants, body->n_warrants) != SH_OK)
        return sh_fail(SH_REFUSED, "it did not prove that it is the coordinator of this token");
    SH_TRY(sh_channel_binding(channel, binding));
    SH_TRY(sh_leader_check(&proof, &chain, fingerprint, binding));
    memcpy(claimed->key, proof.key, sizeof claimed->key);
    claimed->term = body->term;
    claimed->steps = body->steps;
    return SH_OK;
}
