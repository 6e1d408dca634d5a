/* SPDX-License-Identifier: Apache-2.0 */
#include "net/token.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

#define SCHEME "shoal://"
#define SCHEME_BYTES (sizeof SCHEME - 1)
#define ADDRESS_TEXT (SH_TOKEN_HOST + 9) /* comma, brackets, colon, five digits */
#define ADDRESSES_TEXT (SH_TOKEN_ADDRESSES * ADDRESS_TEXT)
#define CHECK_BYTES 4
#define TOLD_BYTES (SH_TOKEN_SECRET_BYTES + SH_LEADER_FINGERPRINT_BYTES)
#define PACKED_BYTES (TOLD_BYTES + CHECK_BYTES)
#define CODED_BYTES (PACKED_BYTES * 8 / 6) /* 6 bits a character */
#define FORMER_CODED_BYTES 27              /* of older tokens, without a fingerprint */
_Static_assert(SCHEME_BYTES + ADDRESSES_TEXT + CODED_BYTES < SH_TOKEN_TEXT, "a token fits");
_Static_assert(PACKED_BYTES % 3 == 0, "no character has bits to spare: a token has one text");

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"

static const char alphabet[] = LETTERS "_";

/* A colon marks an IPv6 address, which may have a zone ("fe80::1%eth0"). */
static bool is_host(const char *host, size_t bytes)
{
    if (bytes == 0 || bytes >= SH_TOKEN_HOST)
        return false;
    const char *letters = memchr(host, ':', bytes) != NULL ? LETTERS "._%:" : LETTERS "._";
    for (size_t i = 0; i < bytes; i++)
        if (host[i] == '\0' || strchr(letters, host[i]) == NULL)
            return false;
    return true;
}

static bool is_address(const sh_token_address *address)
{
    return is_host(address->host, strnlen(address->host, sizeof address->host)) &&
           address->port != 0;
}

/* IPv6 addresses have brackets. */
static size_t print_addresses(char text[ADDRESSES_TEXT], const sh_token *token)
{
    size_t used = 0;
    for (uint32_t i = 0; i < token->address_count; i++) {
        const sh_token_address *address = &token->addresses[i];
        const bool v6 = strchr(address->host, ':') != NULL;
        used += (size_t)snprintf(text + used, ADDRESSES_TEXT - used, v6 ? "%s[%s]:%u" : "%s%s:%u",
                                 i > 0 ? "," : "", address->host, (unsigned)address->port);
    }
    return used;
}

static sh_status find_check(unsigned char check[CHECK_BYTES], const sh_token *token)
{
    char checked[ADDRESSES_TEXT + TOLD_BYTES];
    uint8_t hash[SH_DIGEST_BYTES];
    const size_t count = print_addresses(checked, token);
    memcpy(checked + count, token->secret, SH_TOKEN_SECRET_BYTES);
    memcpy(checked + count + SH_TOKEN_SECRET_BYTES, token->leader, SH_LEADER_FINGERPRINT_BYTES);
    const sh_status status = sh_digest_block(hash, checked, count + TOLD_BYTES);
    sh_key_wipe(checked, sizeof checked);
    SH_TRY(status);
    memcpy(check, hash, CHECK_BYTES);
    return SH_OK;
}

sh_status sh_token_add(sh_token *token, const char *host, uint16_t port)
{
    const size_t bytes = strlen(host);
    if (!is_host(host, bytes))
        return sh_fail(SH_INVALID, "a join token needs a host name or address, not '%.64s'", host);
    if (port == 0)
        return sh_fail(SH_INVALID, "a join token needs a port other than 0");
    if (token->address_count == SH_TOKEN_ADDRESSES)
        return sh_fail(SH_LIMIT, "a join token has at most %d addresses", SH_TOKEN_ADDRESSES);
    sh_token_address *address = &token->addresses[token->address_count++];
    *address = (sh_token_address){.port = port};
    memcpy(address->host, host, bytes);
    return SH_OK;
}

sh_status sh_token_make(sh_token *token, const char *host, uint16_t port,
                        const unsigned char leader[SH_LEADER_FINGERPRINT_BYTES])
{
    sh_token fresh = {0};
    SH_TRY(sh_token_add(&fresh, host, port));
    memcpy(fresh.leader, leader, sizeof fresh.leader);
    SH_TRY(sh_key_random(fresh.secret, sizeof fresh.secret));
    *token = fresh;
    sh_token_wipe(&fresh);
    return SH_OK;
}

void sh_token_redirect(sh_token *token, const char *host, uint16_t port)
{
    memset(token->addresses, 0, sizeof token->addresses);
    snprintf(token->addresses[0].host, sizeof token->addresses[0].host, "%s", host);
    token->addresses[0].port = port;
    token->address_count = 1;
}

sh_status sh_token_print(char text[SH_TOKEN_TEXT], const sh_token *token)
{
    if (token->address_count == 0)
        return sh_fail(SH_INVALID, "a join token needs an address");
    for (uint32_t i = 0; i < token->address_count; i++)
        if (!is_address(&token->addresses[i]))
            return sh_fail(SH_INVALID, "a join token needs a host and a port");
    unsigned char packed[PACKED_BYTES];
    memcpy(packed, token->secret, SH_TOKEN_SECRET_BYTES);
    memcpy(packed + SH_TOKEN_SECRET_BYTES, token->leader, SH_LEADER_FINGERPRINT_BYTES);
    SH_TRY(find_check(packed + TOLD_BYTES, token));
    char coded[CODED_BYTES + 1];
    for (size_t i = 0, k = 0; i < PACKED_BYTES; i += 3, k += 4) {
        const unsigned bits =
            (unsigned)packed[i] << 16 | (unsigned)packed[i + 1] << 8 | packed[i + 2];
        for (size_t c = 0; c < 4; c++)
            coded[k + c] = alphabet[bits >> (18 - 6 * c) & 63];
    }
    coded[CODED_BYTES] = '\0';
    memcpy(text, SCHEME, SCHEME_BYTES);
    const size_t used = SCHEME_BYTES + print_addresses(text + SCHEME_BYTES, token);
    snprintf(text + used, SH_TOKEN_TEXT - used, "/%s", coded);
    sh_key_wipe(packed, sizeof packed);
    sh_key_wipe(coded, sizeof coded);
    return SH_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static sh_status altered(void)
{
    return sh_fail(SH_FORMAT, "the join token was altered or cut: copy all of it again");
}

/* "HOST:PORT" or "[HOST]:PORT". A port has no leading zeros. */
static sh_status read_address(sh_token_address *address, const char *place, size_t bytes)
{
    size_t colon = bytes;
    while (colon > 0 && place[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return altered();
    const char *host = place;
    size_t host_bytes = colon - 1;
    const bool bracketed = host_bytes >= 2 && host[0] == '[' && host[host_bytes - 1] == ']';
    if (bracketed) {
        host++;
        host_bytes -= 2;
    }
    if (!is_host(host, host_bytes) || bracketed != (memchr(host, ':', host_bytes) != NULL))
        return altered();
    memcpy(address->host, host, host_bytes);
    const char *digits = place + colon;
    const size_t count = bytes - colon;
    const bool is_number =
        count > 0 && count <= 5 && digits[0] != '0' && strspn(digits, "0123456789") == count;
    const unsigned long port = is_number ? strtoul(digits, NULL, 10) : 0;
    if (port == 0 || port > UINT16_MAX)
        return sh_fail(
            SH_FORMAT,
            "the join token's port is not a number from 1 to 65535: copy all of it again");
    address->port = (uint16_t)port;
    return SH_OK;
}

static sh_status read_addresses(sh_token *token, const char *text, size_t bytes)
{
    for (;;) {
        const char *comma = memchr(text, ',', bytes);
        const size_t length = comma == NULL ? bytes : (size_t)(comma - text);
        if (token->address_count == SH_TOKEN_ADDRESSES)
            return altered();
        SH_TRY(read_address(&token->addresses[token->address_count++], text, length));
        if (comma == NULL)
            return SH_OK;
        text += length + 1;
        bytes -= length + 1;
    }
}

sh_status sh_token_parse(sh_token *token, const char *text, size_t bytes)
{
    while (bytes > 0 && is_space(text[bytes - 1]))
        bytes--;
    while (bytes > 0 && is_space(*text)) {
        text++;
        bytes--;
    }
    if (bytes < SCHEME_BYTES || memcmp(text, SCHEME, SCHEME_BYTES) != 0)
        return sh_fail(SH_FORMAT, "not a join token: it begins with " SCHEME
                                  " and is printed by shoal train --listen");
    text += SCHEME_BYTES;
    bytes -= SCHEME_BYTES;
    const char *slash = memchr(text, '/', bytes);
    const size_t coded_bytes = slash == NULL ? 0 : bytes - (size_t)(slash - text) - 1;
    if (bytes < SH_TOKEN_TEXT && coded_bytes == FORMER_CODED_BYTES)
        return sh_fail(SH_VERSION, "the join token was cut, or is from an older version: copy all "
                                   "of it again, and use the same version of shoal on all devices");
    if (bytes >= SH_TOKEN_TEXT || coded_bytes != CODED_BYTES)
        return altered();
    sh_token fresh = {0};
    unsigned char packed[PACKED_BYTES] = {0}, check[CHECK_BYTES];
    sh_status status;
    SH_TRY_DONE(read_addresses(&fresh, text, (size_t)(slash - text)));
    unsigned bits = 0;
    for (size_t i = 0, used = 0; i < CODED_BYTES; i++) {
        const char *place = memchr(alphabet, slash[1 + i], sizeof alphabet - 1);
        if (place == NULL)
            SH_TRY_DONE(altered());
        bits = bits << 6 | (unsigned)(place - alphabet);
        if (i % 4 != 3)
            continue;
        for (unsigned shift = 24; shift > 0; shift -= 8)
            packed[used++] = (unsigned char)(bits >> (shift - 8));
        bits = 0;
    }
    memcpy(fresh.secret, packed, SH_TOKEN_SECRET_BYTES);
    memcpy(fresh.leader, packed + SH_TOKEN_SECRET_BYTES, SH_LEADER_FINGERPRINT_BYTES);
    SH_TRY_DONE(find_check(check, &fresh));
    if (memcmp(check, packed + TOLD_BYTES, CHECK_BYTES) != 0)
        SH_TRY_DONE(altered());
    *token = fresh;
done:
    sh_key_wipe(packed, sizeof packed);
    sh_token_wipe(&fresh);
    return status;
}

sh_status sh_token_key(unsigned char key[SH_KEY_BYTES], const sh_token *token)
{
    return sh_key_derive(key, token->secret, sizeof token->secret, "shoal 1 join");
}

void sh_token_wipe(sh_token *token)
{
    sh_key_wipe(token, sizeof *token);
}
