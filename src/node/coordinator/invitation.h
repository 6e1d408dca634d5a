/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How devices are asked in: where the coordinator listens, and the tokens that say so.
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

#define SH_INVITATION_ADVICE 512

typedef struct sh_invitation {
    char host[SH_TOKEN_HOST]; /* to listen on; "" is every address */
    uint16_t port;            /* 0: any that is free */
    bool renewed;             /* the token and the key are those of the coordinator's last life */
    unsigned char key[SH_KEY_BYTES]; /* the secret one that proves who coordinates (net/leader.h) */
    sh_leader_chain chain;           /* from the key that the token names to this one */
    uint32_t term;                   /* how many coordinators the job had before this one */
    sh_token token;
    char text[SH_TOKEN_TEXT];          /* the token for devices elsewhere */
    char local_text[SH_TOKEN_TEXT];    /* the same secret, by an address of this machine's own */
    char advice[SH_INVITATION_ADVICE]; /* what the user should know of the address; "": nothing */
} sh_invitation;

/* Reads --listen: "[ADDRESS]:PORT"; NULL: a free port of the loopback. */
sh_status sh_invitation_read(sh_invitation *invitation, const char *listen) SHOAL_CHECKED;

/* Makes the tokens for the port that was bound, with the address of that one of these
 * interfaces that others are likely to reach. `interfaces` (net/reach.h) may be in any order, and
 * NULL if `count` is 0. */
sh_status sh_invitation_issue(sh_invitation *invitation, uint16_t port, const sh_reach *interfaces,
                              size_t count) SHOAL_CHECKED;

/* Takes the key, the token's secret, and the port if --listen names none, from the files that
 * sh_invitation_keep has left, so that devices find back to a coordinator that was started again.
 * Does nothing without the token's file. SH_FORMAT, SH_VERSION: the token's file holds none.
 * SH_MISMATCH: the key may not coordinate the token's job. */
sh_status sh_invitation_recall(sh_invitation *invitation, const char *path) SHOAL_CHECKED;

/* Takes over the job of another coordinator: its token, as a device holds it, and that device's
 * secret key with its warrants. `term` is the new coordinator's. */
void sh_invitation_inherit(sh_invitation *invitation, const sh_token *token,
                           const unsigned char key[SH_KEY_BYTES], const sh_leader_chain *chain,
                           uint32_t term);

/* Keeps the token in the file `path`, and the secret key with its warrants and the term in
 * `path`.key. Only their owner can read them. */
sh_status sh_invitation_keep(const sh_invitation *invitation, const char *path) SHOAL_CHECKED;

/* Tells a device that came in by the token, before anything else, that this is the coordinator
 * (net/leader.h), whose replica stands after `steps`. Loop's thread. The failures are those of
 * sh_claim_send. */
sh_status sh_invitation_prove(const sh_invitation *invitation, sh_channel *channel,
                              uint64_t steps) SHOAL_CHECKED;

/* Removes both files. */
void sh_invitation_forget(const char *path);

#endif
