/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/invitation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/protocol/claims.h"
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

bool sh_invitation_is_everywhere(const sh_invitation *invitation)
{
    const char *host = invitation->host;
    return host[0] == '\0' || strcmp(host, "::") == 0 || strcmp(host, "0.0.0.0") == 0;
}

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

static void advise(sh_invitation *invitation, bool everywhere)
{
    const char *host = invitation->token.addresses[0].host;
    invitation->advice[0] = '\0';
    if (is_loopback(host))
        snprintf(invitation->advice, sizeof invitation->advice,
                 "the token names %s, so only devices on this machine can join: %s", host,
                 everywhere ? "no network interface is up"
                            : "--listen :PORT opens the job to others");
}

static bool is_first_of_interface(const sh_reach *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(list[i].name, list[at].name) == 0)
            return false;
    return true;
}

static sh_status make_token(sh_token *token, uint16_t port, const sh_reach *chosen, size_t count,
                            const unsigned char leader[SH_LEADER_FINGERPRINT_BYTES])
{
    char host[SH_ADDRESS_TEXT] = "127.0.0.1";
    if (count > 0)
        sh_address_print_host(host, &chosen[0].address);
    SH_TRY(sh_token_make(token, host, port, leader));
    for (size_t i = 1; i < count && token->address_count < SH_TOKEN_ADDRESSES; i++) {
        if (!is_first_of_interface(chosen, i))
            continue;
        sh_address_print_host(host, &chosen[i].address);
        SH_TRY(sh_token_add(token, host, port));
    }
    return SH_OK;
}

sh_status sh_invitation_issue(sh_invitation *invitation, uint16_t port, const sh_reach *interfaces,
                              size_t count)
{
    const bool any_v6 = strcmp(invitation->host, "::") == 0,
               any_v4 = strcmp(invitation->host, "0.0.0.0") == 0;
    const bool everywhere = sh_invitation_is_everywhere(invitation);
    sh_reach chosen[SH_REACH_MAX];
    sh_token fresh;
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES];
    memcpy(leader, invitation->token.leader, sizeof leader);
    if (!invitation->renewed) {
        SH_TRY(sh_key_make(invitation->key));
        SH_TRY(sh_leader_fingerprint(leader, invitation->key));
    }
    count = count < SH_REACH_MAX ? count : SH_REACH_MAX;
    if (count > 0) /* else the list may be NULL */
        memcpy(chosen, interfaces, count * sizeof *chosen);
    count = sh_reach_choose(chosen, count, any_v4);
    if (everywhere)
        SH_TRY(make_token(&fresh, port, chosen, count, leader));
    else
        SH_TRY(sh_token_make(&fresh, invitation->host, port, leader));
    if (invitation->renewed)
        memcpy(fresh.secret, invitation->token.secret, sizeof fresh.secret);
    invitation->token = fresh;
    sh_token_wipe(&fresh);
    advise(invitation, everywhere);
    SH_TRY(sh_token_print(invitation->text, &invitation->token));
    sh_token local = invitation->token;
    if (everywhere)
        sh_token_redirect(&local, any_v6 ? "::1" : "127.0.0.1", port);
    const sh_status status = sh_token_print(invitation->local_text, &local);
    sh_token_wipe(&local);
    return status;
}

sh_status sh_invitation_prove(const sh_invitation *invitation, sh_channel *channel, uint64_t steps)
{
    return sh_claim_send(&(sh_claim){invitation->key, &invitation->chain, invitation->term, steps},
                         channel);
}

void sh_invitation_inherit(sh_invitation *invitation, const sh_token *token,
                           const unsigned char key[SH_KEY_BYTES], const sh_leader_chain *chain,
                           uint32_t term)
{
    invitation->renewed = true;
    invitation->token = *token;
    memcpy(invitation->key, key, SH_KEY_BYTES);
    invitation->chain = *chain;
    invitation->term = term;
}

static sh_status name_key_file(char name[SH_PATH_BYTES], const char *path)
{
    if (snprintf(name, SH_PATH_BYTES, "%s" KEY_SUFFIX, path) >= SH_PATH_BYTES)
        return sh_fail(SH_LIMIT, "%s" KEY_SUFFIX ": the path is too long", path);
    return SH_OK;
}

/* The key file: the secret key, the term (4 bytes, little-endian), then each warrant's key and
 * signature. */
#define TERM_BYTES 4
#define KEY_FILE_MIN ((size_t)SH_KEY_BYTES + TERM_BYTES)
#define KEY_FILE_MAX (KEY_FILE_MIN + SH_LEADER_WARRANTS_MAX * sizeof(sh_leader_signature))

_Static_assert(sizeof(sh_leader_signature) == SH_KEY_BYTES + SH_LEADER_SIGNATURE_BYTES,
               "a warrant is its bytes");

static size_t write_key(unsigned char bytes[KEY_FILE_MAX], const sh_invitation *invitation)
{
    const size_t chain_bytes = invitation->chain.count * sizeof *invitation->chain.warrants;
    memcpy(bytes, invitation->key, SH_KEY_BYTES);
    for (int i = 0; i < TERM_BYTES; i++)
        bytes[SH_KEY_BYTES + i] = (unsigned char)(invitation->term >> 8 * i);
    memcpy(bytes + KEY_FILE_MIN, invitation->chain.warrants, chain_bytes);
    return KEY_FILE_MIN + chain_bytes;
}

static bool read_key(sh_invitation *invitation, const unsigned char *text, size_t bytes)
{
    if (bytes < KEY_FILE_MIN || (bytes - KEY_FILE_MIN) % sizeof(sh_leader_signature) != 0)
        return false;
    memcpy(invitation->key, text, SH_KEY_BYTES);
    invitation->term = 0;
    for (int i = 0; i < TERM_BYTES; i++)
        invitation->term |= (uint32_t)text[SH_KEY_BYTES + i] << 8 * i;
    invitation->chain.count = (uint32_t)((bytes - KEY_FILE_MIN) / sizeof(sh_leader_signature));
    memcpy(invitation->chain.warrants, text + KEY_FILE_MIN, bytes - KEY_FILE_MIN);
    return true;
}

/* Also checks that the key may coordinate. */
static sh_status recall_key(sh_invitation *invitation, const sh_token *token, const char *path)
{
    char name[SH_PATH_BYTES], *text = NULL;
    unsigned char own[SH_KEY_BYTES];
    size_t bytes = 0;
    sh_status status;
    SH_TRY(name_key_file(name, path));
    SH_TRY_DONE(sh_file_read_own(&text, &bytes, name, KEY_FILE_MAX));
    const bool whole = read_key(invitation, (const unsigned char *)text, bytes);
    if (whole)
        SH_TRY_DONE(sh_leader_public(own, invitation->key));
    status = whole ? sh_leader_check_chain(&invitation->chain, token->leader, own) : SH_REFUSED;
    if (status == SH_REFUSED)
        status = sh_fail(SH_MISMATCH, "%s: this key must not coordinate the token's job", name);
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
    SH_TRY_DONE(sh_fail_in(recall_key(invitation, &former, path),
                           "%s: remove it, and devices need the new token", path));
    invitation->token = former;
    invitation->renewed = true;
    if (invitation->port == 0)
        invitation->port = former.addresses[0].port;
    sh_token_wipe(&former);
done:
    sh_key_wipe(text, strlen(text));
    free(text);
    return status;
}

sh_status sh_invitation_keep(const sh_invitation *invitation, const char *path)
{
    char name[SH_PATH_BYTES];
    unsigned char bytes[KEY_FILE_MAX];
    SH_TRY(name_key_file(name, path));
    const size_t count = write_key(bytes, invitation);
    const sh_status status = sh_file_replace_private(name, bytes, count);
    sh_key_wipe(bytes, sizeof bytes);
    SH_TRY(status);
    return sh_file_replace_private(path, invitation->text, strlen(invitation->text));
}

void sh_invitation_forget(const char *path)
{
    char name[SH_PATH_BYTES];
    unlink(path);
    if (name_key_file(name, path) == SH_OK)
        unlink(name);
}
