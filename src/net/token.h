/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join token: where a job is, the secret that lets a device in, and how the device knows the
 * coordinator, as one line to paste.
 *
 *     shoal://192.168.1.20:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9uNu4B
 *
 *     sh_token token;
 *     SH_TRY(sh_token_parse(&token, text, strlen(text)));
 *     SH_TRY(sh_token_key(key, &token));                         // for the identity "join"
 *     sh_token_wipe(&token);
 *
 * HOST is a name, an IPv4 address, or an IPv6 address in brackets. The last part is base64url
 * (RFC 4648, without padding) of 36 bytes: a secret of 16 random bytes, 16 bytes of fingerprint
 * (net/leader.h), and 4 check bytes, which are the first of SHA-256 over "HOST:PORT" as written and
 * the 32 bytes before. So this file notices a token that was altered or cut, before anything is
 * sent.
 *
 * Threads: any. Nothing is allocated.
 */
#ifndef SHOAL_NET_TOKEN_H
#define SHOAL_NET_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "net/key.h"
#include "net/leader.h"

#define SH_TOKEN_SECRET_BYTES 16
#define SH_TOKEN_HOST 254 /* a name has at most 253 characters (RFC 1035) */
#define SH_TOKEN_TEXT 320 /* enough for every token and the end */

/* The identity that a device with a token gives in its handshake. */
#define SH_TOKEN_IDENTITY "join"

typedef struct sh_token {
    char host[SH_TOKEN_HOST]; /* without brackets */
    uint16_t port;
    unsigned char secret[SH_TOKEN_SECRET_BYTES];
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES]; /* of the coordinator's key */
} sh_token;

/* A token with a fresh secret. SH_INVALID: the host is no host, or the port is 0. */
sh_status sh_token_make(sh_token *token, const char *host, uint16_t port,
                        const unsigned char leader[SH_LEADER_FINGERPRINT_BYTES]) SHOAL_CHECKED;

/* Writes the token as text. SH_INVALID as above. The text is as secret as the token. */
sh_status sh_token_print(char text[SH_TOKEN_TEXT], const sh_token *token) SHOAL_CHECKED;

/*
 * Reads `bytes` characters; white space around them is fine. SH_FORMAT: what is wrong, and the
 * remedy. SH_VERSION: the token is from a version that had no fingerprint. No message has the
 * secret in it.
 */
sh_status sh_token_parse(sh_token *token, const char *text, size_t bytes) SHOAL_CHECKED;

/* The key that both sides of a handshake use for SH_TOKEN_IDENTITY. */
sh_status sh_token_key(unsigned char key[SH_KEY_BYTES], const sh_token *token) SHOAL_CHECKED;

void sh_token_wipe(sh_token *token);

#endif
