/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/invitation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/message.h"
#include "store/file.h"

#define KEY_SUFFIX ".key"

sh_status sh_invitation_read(sh_invitation *invitation, const char *listen)
{
    sh_invitation fresh = {.host = "127.0.0.1"};
    if (listen != NULL) {
        const char *first = listen, *colon = strrchr(listen, ':');
        char *end;
        if (colon == NULL)
            return sh_fail(SH_INVALID, "--listen %s: expected [ADDRESS]:PORT", listen);
        size_t length = (size_t)(colon - listen);
        if (length >= 2 && first[0] == '[' && first[length - 1] == ']') {
            first++;
            length -= 2;
        }
        const unsigned long number = strtoul(colon + 1, &end, 10);
        if (length >= sizeof fresh.host || colon[1] < '0' || colon[1] > '9' || *end != '\0' ||
            number > UINT16_MAX)
            return sh_fail(SH_INVALID,
                           "--listen %s: expected [ADDRESS]:PORT with a port of 0 to 65535",
                           listen);
        memcpy(fresh.host, first, length);
        fresh.host[length] = '\0';
        fresh.port = (uint16_t)number;
    }
    *invitation = fresh;
    return SH_OK;
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

/* What the user should know of the address in the token. `chosen`: the interfaces whose addresses
 * were to be had, best first; none where --listen names the address. */
static void advise(sh_invitation *invitation, bool everywhere, const sh_reach *chosen, size_t count)
{
    char *text = invitation->advice;
    const size_t room = sizeof invitation->advice;
    const char *host = invitation->token.host;
    text[0] = '\0';
    if (is_loopback(host)) {
        snprintf(
            text, room, "the token says %s, so only devices on this machine can join: %s", host,
            everywhere ? "no network interface is up" : "--listen :PORT opens the job to others");
        return;
    }
    if (!everywhere || count < 2)
        return;
    size_t used = (size_t)snprintf(text, room, "the token says %s (%s); this device also has", host,
                                   chosen[0].name);
    for (size_t i = 1; i < count; i++) {
        char other[SH_ADDRESS_TEXT];
        sh_address_print_host(other, &chosen[i].address);
        const int more = snprintf(text + used, room - used, "%s %s (%s)", i > 1 ? "," : "", other,
                                  chosen[i].name);
        if (used + (size_t)more + 64 > room) { /* leaves room for the end */
            text[used] = '\0';
            break;
        }
        used += (size_t)more;
    }
    snprintf(text + used, room - used, ": --listen ADDRESS:PORT puts another into it");
}

sh_status sh_invitation_issue(sh_invitation *invitation, uint16_t port, const sh_reach *interfaces,
                              size_t count)
{
    const bool any_v6 = strcmp(invitation->host, "::") == 0,
               any_v4 = strcmp(invitation->host, "0.0.0.0") == 0;
    const bool everywhere = invitation->host[0] == '\0' || any_v6 || any_v4;
    sh_reach chosen[SH_REACH_MAX];
    char outward[SH_ADDRESS_TEXT] = "127.0.0.1";
    sh_token fresh;
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES];
    if (!invitation->renewed)
        SH_TRY(sh_key_make(invitation->key));
    SH_TRY(sh_leader_fingerprint(leader, invitation->key));
    count = count < SH_REACH_MAX ? count : SH_REACH_MAX;
    if (count > 0) /* then there is a list */
        memcpy(chosen, interfaces, count * sizeof *chosen);
    count = sh_reach_choose(chosen, count, any_v4);
    if (count > 0)
        sh_address_print_host(outward, &chosen[0].address);
    SH_TRY(sh_token_make(&fresh, everywhere ? outward : invitation->host, port, leader));
    if (invitation->renewed)
        memcpy(fresh.secret, invitation->token.secret, sizeof fresh.secret);
    invitation->token = fresh;
    sh_token_wipe(&fresh);
    advise(invitation, everywhere, chosen, count);
    SH_TRY(sh_token_print(invitation->text, &invitation->token));
    sh_token local = invitation->token;
    if (everywhere)
        snprintf(local.host, sizeof local.host, "%s", any_v6 ? "::1" : "127.0.0.1");
    const sh_status status = sh_token_print(invitation->local_text, &local);
    sh_token_wipe(&local);
    return status;
}

sh_status sh_invitation_prove(const sh_invitation *invitation, sh_channel *channel)
{
    unsigned char binding[SH_LEADER_BINDING_BYTES];
    sh_leader_proof proof;
    SH_TRY(sh_channel_binding(channel, binding));
    SH_TRY(sh_leader_sign(&proof, invitation->key, binding));
    Shoal__Proof body = SHOAL__PROOF__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(PROOF, proof, &body);
    body.key = (ProtobufCBinaryData){sizeof proof.key, proof.key};
    body.signature_point = (ProtobufCBinaryData){SH_KEY_BYTES, proof.signature};
    body.signature_scalar = (ProtobufCBinaryData){SH_KEY_BYTES, proof.signature + SH_KEY_BYTES};
    return sh_message_send(channel, &message);
}

static sh_status name_key_file(char name[SH_PATH_BYTES], const char *path)
{
    if (snprintf(name, SH_PATH_BYTES, "%s" KEY_SUFFIX, path) >= SH_PATH_BYTES)
        return sh_fail(SH_LIMIT, "%s" KEY_SUFFIX ": the path is too long", path);
    return SH_OK;
}

/* The secret key of the pair that the token names. */
static sh_status recall_key(unsigned char key[SH_KEY_BYTES], const sh_token *token,
                            const char *path)
{
    char name[SH_PATH_BYTES], *text = NULL;
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES];
    size_t bytes = 0;
    sh_status status;
    SH_TRY(name_key_file(name, path));
    SH_TRY_DONE(sh_file_read_own(&text, &bytes, name, SH_KEY_BYTES));
    if (bytes == SH_KEY_BYTES)
        SH_TRY_DONE(sh_leader_fingerprint(leader, (const unsigned char *)text));
    if (bytes != SH_KEY_BYTES || memcmp(leader, token->leader, sizeof leader) != 0)
        SH_TRY_DONE(sh_fail(SH_MISMATCH, "%s: it is not the key that the token names", name));
    memcpy(key, text, SH_KEY_BYTES);
    status = SH_OK;
done:
    sh_key_free(text, bytes);
    return status;
}

sh_status sh_invitation_recall(sh_invitation *invitation, const char *path)
{
    char *text;
    sh_token former;
    sh_status status;
    if (access(path, F_OK) != 0)
        return SH_OK;
    SH_TRY(sh_file_read_own(&text, NULL, path, SH_TOKEN_TEXT));
    SH_TRY_DONE(sh_fail_in(sh_token_parse(&former, text, strlen(text)),
                           "%s: remove it, and devices need the new token", path));
    SH_TRY_DONE(sh_fail_in(recall_key(invitation->key, &former, path),
                           "%s: remove it, and devices need the new token", path));
    invitation->token = former;
    invitation->renewed = true;
    if (invitation->port == 0)
        invitation->port = former.port;
    sh_token_wipe(&former);
done:
    sh_key_wipe(text, strlen(text));
    free(text);
    return status;
}

sh_status sh_invitation_keep(const sh_invitation *invitation, const char *path)
{
    char name[SH_PATH_BYTES];
    SH_TRY(name_key_file(name, path));
    SH_TRY(sh_file_replace_private(name, invitation->key, sizeof invitation->key));
    return sh_file_replace_private(path, invitation->text, strlen(invitation->text));
}

void sh_invitation_forget(const char *path)
{
    char name[SH_PATH_BYTES];
    unlink(path);
    if (name_key_file(name, path) == SH_OK)
        unlink(name);
}
