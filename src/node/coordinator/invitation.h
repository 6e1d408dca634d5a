/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address on which the coordinator listens, and the tokens that contain it. Wipe it with
 * sh_key_wipe.
 *
 *     SH_TRY(sh_invitation_read(&invitation, "192.168.1.5:7700"));
 *     ... listen on invitation.host and .port ...
 *     SH_TRY(sh_invitation_issue(&invitation, bound_port, list, sh_reach_read(list)));
 *     print(invitation.text);
 *     sh_key_wipe(&invitation, sizeof invitation);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_INVITATION_H
#define SHOAL_NODE_INVITATION_H

#include <stdbool.h>

#include "net/channel.h"
#include "net/reach.h"
#include "net/token.h"

#define SH_INVITATION_ADVICE 384

typedef struct sh_invitation {
    char host[SH_TOKEN_HOST];        /* to listen on; "": all */
    uint16_t port;                   /* 0: any free one */
    bool renewed;                    /* token and key are from before a restart */
    unsigned char key[SH_KEY_BYTES]; /* secret (net/leader.h) */
    sh_leader_chain chain;           /* from the token's key to `key` */
    uint32_t term;                   /* number of earlier coordinators */
    sh_token token;
    char text[SH_TOKEN_TEXT];          /* for other machines */
    char local_text[SH_TOKEN_TEXT];    /* the same secret, with a local address */
    char advice[SH_INVITATION_ADVICE]; /* a remark on the address, or "" */
} sh_invitation;

/* Reads --listen: "[ADDRESS]:PORT"; NULL: a free port of the loopback. */
sh_status sh_invitation_read(sh_invitation *invitation, const char *listen) SHOAL_CHECKED;

/* Whether the coordinator listens on all addresses of this device. */
bool sh_invitation_is_everywhere(const sh_invitation *invitation);

/* Makes the tokens for the bound port. If --listen names no address, the token has one of each
 * network interface, beginning with the one that other machines most likely reach. `interfaces`
 * (net/reach.h): in any order; NULL if `count` is 0. */
sh_status sh_invitation_issue(sh_invitation *invitation, uint16_t port, const sh_reach *interfaces,
                              size_t count) SHOAL_CHECKED;

/* Reads the key, the token's secret and, if --listen names no port, the port from the files of
 * sh_invitation_keep, so that devices find a restarted coordinator. Does nothing without the
 * token's file. SH_FORMAT, SH_VERSION: the file has no valid token. SH_MISMATCH: the key may not
 * coordinate the token's job. */
sh_status sh_invitation_recall(sh_invitation *invitation, const char *path) SHOAL_CHECKED;

/* Continues another coordinator's job with its token and with this device's secret key and
 * warrants. `term`: of the new coordinator. */
void sh_invitation_inherit(sh_invitation *invitation, const sh_token *token,
                           const unsigned char key[SH_KEY_BYTES], const sh_leader_chain *chain,
                           uint32_t term);

/* Writes the token to the file `path`, and the secret key, its warrants and the term to `path`.key.
 * Only the owner can read them. */
sh_status sh_invitation_keep(const sh_invitation *invitation, const char *path) SHOAL_CHECKED;

/* Proves to a device that connected with the token that this is the coordinator (net/leader.h) with
 * `steps` applied steps. Must be the first message. Loop only. Fails as sh_claim_send does. */
sh_status sh_invitation_prove(const sh_invitation *invitation, sh_channel *channel,
                              uint64_t steps) SHOAL_CHECKED;

/* Removes both files. */
void sh_invitation_forget(const char *path);

#endif
