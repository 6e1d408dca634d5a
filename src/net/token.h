/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join token is one line of text to paste. It contains one or more addresses of a job, the
 * secret that admits a device, and the fingerprint of the coordinator's key.
 *
 *     shoal://192.168.1.20:7077,10.0.0.7:7077/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9...
 *
 *     SH_TRY(sh_token_parse(&token, text, strlen(text)));
 *     SH_TRY(sh_token_key(key, &token));                         // for the identity "join"
 *     sh_token_wipe(&token);
 *
 * An address is HOST:PORT; HOST is a name, an IPv4 address, or an IPv6 address in brackets. The
 * last part is base64url (RFC 4648, without padding) of 36 bytes: a secret of 16 random bytes, a
 * fingerprint of 16 bytes (net/leader.h), and 4 check bytes, the first of SHA-256 over the
 * addresses as written and the 32 bytes before.
 *
 * Threads: any.
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
#define SH_TOKEN_ADDRESSES 4
#define SH_TOKEN_TEXT 1120 /* with the final zero */

/* The identity of a device with a token. */
#define SH_TOKEN_IDENTITY "join"

typedef struct sh_token_address {
    char host[SH_TOKEN_HOST]; /* without brackets */
    uint16_t port;
} sh_token_address;

typedef struct sh_token {
    sh_token_address addresses[SH_TOKEN_ADDRESSES]; /* in the order in which to try them */
    uint32_t address_count;
    unsigned char secret[SH_TOKEN_SECRET_BYTES];
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES]; /* of the coordinator's key */
} sh_token;

/* Makes a token with one address and a new secret. SH_INVALID: a malformed host, or port 0. */
sh_status sh_token_make(sh_token *token, const char *host, uint16_t port,
                        const unsigned char leader[SH_LEADER_FINGERPRINT_BYTES]) SHOAL_CHECKED;

/* SH_INVALID as above. SH_LIMIT: there are SH_TOKEN_ADDRESSES. */
sh_status sh_token_add(sh_token *token, const char *host, uint16_t port) SHOAL_CHECKED;

/* Replaces all addresses by one, which must be valid. */
void sh_token_redirect(sh_token *token, const char *host, uint16_t port);

/* The text is secret, too. SH_INVALID as above. */
sh_status sh_token_print(char text[SH_TOKEN_TEXT], const sh_token *token) SHOAL_CHECKED;

/* Ignores white space at both ends. SH_FORMAT: malformed; the message has the remedy. SH_VERSION:
 * the token is from a version without fingerprints. Messages never contain the secret. */
sh_status sh_token_parse(sh_token *token, const char *text, size_t bytes) SHOAL_CHECKED;

/* The key of SH_TOKEN_IDENTITY, for both sides of a handshake. */
sh_status sh_token_key(unsigned char key[SH_KEY_BYTES], const sh_token *token) SHOAL_CHECKED;

void sh_token_wipe(sh_token *token);

#endif
