/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/invitation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/address.h"
#include "store/file.h"

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

sh_status sh_invitation_issue(sh_invitation *invitation, uint16_t port)
{
    const bool any_v6 = strcmp(invitation->host, "::") == 0;
    const bool everywhere =
        invitation->host[0] == '\0' || any_v6 || strcmp(invitation->host, "0.0.0.0") == 0;
    char outward[SH_ADDRESS_TEXT];
    sh_address_outward(outward);
    sh_token fresh;
    SH_TRY(sh_token_make(&fresh, everywhere ? outward : invitation->host, port));
    if (invitation->renewed)
        memcpy(fresh.secret, invitation->token.secret, sizeof fresh.secret);
    invitation->token = fresh;
    sh_token_wipe(&fresh);
    SH_TRY(sh_token_print(invitation->text, &invitation->token));
    sh_token local = invitation->token;
    if (everywhere)
        snprintf(local.host, sizeof local.host, "%s", any_v6 ? "::1" : "127.0.0.1");
    const sh_status status = sh_token_print(invitation->local_text, &local);
    sh_token_wipe(&local);
    return status;
}

sh_status sh_invitation_recall(sh_invitation *invitation, const char *path)
{
    char *text;
    sh_token former;
    sh_status status;
    if (access(path, F_OK) != 0)
        return SH_OK;
    SH_TRY(sh_file_read(&text, NULL, path, SH_TOKEN_TEXT));
    SH_TRY_DONE(sh_fail_in(sh_token_parse(&former, text, strlen(text)),
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
    return sh_file_replace_private(path, invitation->text, strlen(invitation->text));
}
