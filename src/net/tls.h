/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 (RFC 8446) with external pre-shared keys and Diffie-Hellman over a non-blocking socket.
 * A side that finishes the handshake has proved that it knows the key of an identity; nothing else
 * gets in: no certificates, tickets, early data or older versions.
 *
 *     sh_tls *tls;
 *     SH_TRY(sh_tls_connect(&tls, fd, "join", key));
 *     while ((flow = sh_tls_handshake(tls)) == SH_TLS_WAIT)
 *         wait for the socket;
 *
 * Threads: caller locks. Tested on its own; its user is net/channel.h.
 */
#ifndef SHOAL_NET_TLS_H
#define SHOAL_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "net/key.h"
#include "net/leader.h"

#define SH_IDENTITY_TEXT 64 /* an identity is 1 .. 63 printable ASCII characters, and the end */

/*
 * Records under one key before a sender changes it. RFC 8446, section 5.5, allows 2^24.5 full ones
 * for AES-GCM; a long training sends more.
 */
#define SH_TLS_RECORDS_PER_KEY (UINT64_C(1) << 23)

typedef struct sh_tls_server sh_tls_server; /* what the server sides of one listener share */
typedef struct sh_tls sh_tls;               /* one side of one connection */

/* Looks a key up: false for an unknown identity. Called inside sh_tls_handshake. */
typedef bool sh_tls_find(void *context, const char *identity, unsigned char key[SH_KEY_BYTES]);

typedef enum sh_tls_flow {
    SH_TLS_DONE,   /* finished; for reads and writes: at least one byte went */
    SH_TLS_WAIT,   /* try again when the socket is ready (sh_tls_wants_write) */
    SH_TLS_END,    /* the peer said goodbye: nothing more will come */
    SH_TLS_FAILED, /* over: sh_tls_failure */
} sh_tls_flow;

/* Whether `identity` could be one. */
bool sh_identity_is_valid(const char *identity);

/* `context` is borrowed until the server is freed and its handshakes have ended. */
sh_status sh_tls_server_new(sh_tls_server **server, sh_tls_find *find, void *context) SHOAL_CHECKED;
void sh_tls_server_free(sh_tls_server *server);

/* The server's side. `fd` is borrowed until sh_tls_free; the server may be freed before. */
sh_status sh_tls_accept(sh_tls **tls, sh_tls_server *server, int fd) SHOAL_CHECKED;

/* The client's side. `fd` as above, identity and key are copied. */
sh_status sh_tls_connect(sh_tls **tls, int fd, const char *identity,
                         const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Wipes the keys. NULL is fine. */
void sh_tls_free(sh_tls *tls);

sh_tls_flow sh_tls_handshake(sh_tls *tls);

/* Only after SH_TLS_WAIT wait for the socket: it may be silent until the record under way is whole.
 */
sh_tls_flow sh_tls_read(sh_tls *tls, void *place, size_t room, size_t *got);

/* After SH_TLS_WAIT, call it again with the same bytes, at any address. */
sh_tls_flow sh_tls_write(sh_tls *tls, const void *bytes, size_t count, size_t *put);

/*
 * From `gather` to `flush` what is written is kept and goes to the socket in larger pieces, because
 * each costs a system call and a way through the network's stack. Flush: SH_TLS_DONE, or
 * SH_TLS_WAIT: some is kept, call again.
 */
void sh_tls_gather(sh_tls *tls);
sh_tls_flow sh_tls_flush(sh_tls *tls);

/* Tells the peer that nothing more will come. SH_TLS_WAIT: call again. */
sh_tls_flow sh_tls_goodbye(sh_tls *tls);

/* Whether the last SH_TLS_WAIT was for room to write, not for bytes to read. */
bool sh_tls_wants_write(const sh_tls *tls);

/*
 * The errno with which the socket refused to take bytes, else 0. Writes wait from then on; what the
 * peer had sent before can still be read.
 */
int sh_tls_write_error(const sh_tls *tls);

/* Why SH_TLS_FAILED was told, without saying which peer: code and text. Borrowed as tls is. */
sh_status sh_tls_failure(const sh_tls *tls, const char **reason);

/* The identity that the client claims; "" before it did. */
const char *sh_tls_identity(const sh_tls *tls);

/* After the handshake: 32 bytes that both ends of this connection know and nobody else, other ones
 * for each connection (the channel binding of RFC 9266). SH_INVALID: there is none yet. */
sh_status sh_tls_binding(const sh_tls *tls,
                         unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* Name of the cipher suite after the handshake. Static storage. */
const char *sh_tls_cipher(const sh_tls *tls);

/* Bytes that went over the socket, everything included. */
uint64_t sh_tls_bytes_sent(const sh_tls *tls);
uint64_t sh_tls_bytes_received(const sh_tls *tls);

/* For tests: another number than SH_TLS_RECORDS_PER_KEY, and how often the key was changed. */
void sh_tls_limit_records(sh_tls *tls, uint64_t records_per_key);
uint64_t sh_tls_key_changes(const sh_tls *tls);

#endif
