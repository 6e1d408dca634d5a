/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 (RFC 8446) with external pre-shared keys and Diffie-Hellman over a non-blocking socket. A
 * side that finishes the handshake has proved that it knows the key of an identity. Certificates,
 * tickets, early data and older versions are not accepted.
 *
 *     sh_tls *tls;
 *     SH_TRY(sh_tls_connect(&tls, fd, "join", key));
 *     while ((flow = sh_tls_handshake(tls)) == SH_TLS_WAIT)
 *         wait for the socket;
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NET_TLS_H
#define SHOAL_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "net/key.h"
#include "net/leader.h"

#define SH_IDENTITY_TEXT 64 /* 1 .. 63 printable ASCII characters and the final zero */

/* Records that a side sends before it changes the key. RFC 8446, section 5.5, allows 2^24.5 full
 * records for AES-GCM. A long training sends more. */
#define SH_TLS_RECORDS_PER_KEY (UINT64_C(1) << 23)

typedef struct sh_tls_server sh_tls_server; /* shared by the server sides of a listener */
typedef struct sh_tls sh_tls;

/* False: unknown identity. Called inside sh_tls_handshake. */
typedef bool sh_tls_find(void *context, const char *identity, unsigned char key[SH_KEY_BYTES]);

typedef enum sh_tls_flow {
    SH_TLS_DONE,   /* for reads and writes: at least one byte was moved */
    SH_TLS_WAIT,   /* until the socket is ready (sh_tls_wants_write) */
    SH_TLS_END,    /* the peer closed its side */
    SH_TLS_FAILED, /* see sh_tls_failure */
} sh_tls_flow;

bool sh_identity_is_valid(const char *identity);

/* `context` is borrowed until the server is freed and its handshakes have ended. */
sh_status sh_tls_server_new(sh_tls_server **server, sh_tls_find *find, void *context) SHOAL_CHECKED;
void sh_tls_server_free(sh_tls_server *server);

/* Borrows `fd` until sh_tls_free, `server` until the handshake ends. */
sh_status sh_tls_accept(sh_tls **tls, sh_tls_server *server, int fd) SHOAL_CHECKED;

/* Borrows `fd` until sh_tls_free; identity and key are copied. */
sh_status sh_tls_connect(sh_tls **tls, int fd, const char *identity,
                         const unsigned char key[SH_KEY_BYTES]) SHOAL_CHECKED;

/* Wipes the keys. NULL is fine. */
void sh_tls_free(sh_tls *tls);

sh_tls_flow sh_tls_handshake(sh_tls *tls);

/* Wait for the socket only after SH_TLS_WAIT; it may stay silent until the record is complete. */
sh_tls_flow sh_tls_read(sh_tls *tls, void *place, size_t room, size_t *got);

/* After SH_TLS_WAIT, call it again with the same bytes; their address may differ. */
sh_tls_flow sh_tls_write(sh_tls *tls, const void *bytes, size_t count, size_t *put);

/* Between `gather` and `flush`, writes are buffered. sh_tls_flush returns SH_TLS_WAIT while bytes
 * are still buffered: call it again. */
void sh_tls_gather(sh_tls *tls);
sh_tls_flow sh_tls_flush(sh_tls *tls);

/* Tells the peer that no more bytes will follow. SH_TLS_WAIT: call it again. */
sh_tls_flow sh_tls_close_notify(sh_tls *tls);

/* Whether the last SH_TLS_WAIT waits to write; else to read. */
bool sh_tls_wants_write(const sh_tls *tls);

/* The errno of a failed send, or 0. After a failed send all writes return SH_TLS_WAIT, but bytes
 * that the peer sent before can still be read. */
int sh_tls_write_error(const sh_tls *tls);

/* The status and reason of SH_TLS_FAILED, without the peer's name; borrowed until sh_tls_free. */
sh_status sh_tls_failure(const sh_tls *tls, const char **reason);

/* What the client claims, or "" before that. Borrowed until sh_tls_free. */
const char *sh_tls_identity(const sh_tls *tls);

/* 32 bytes that only the two ends of this connection know and that differ for each connection (the
 * channel binding of RFC 9266). SH_INVALID: the handshake is not finished. */
sh_status sh_tls_binding(const sh_tls *tls,
                         unsigned char binding[SH_LEADER_BINDING_BYTES]) SHOAL_CHECKED;

/* The suite after the handshake. Static. */
const char *sh_tls_cipher(const sh_tls *tls);

/* Bytes on the socket, with all overhead. */
uint64_t sh_tls_bytes_sent(const sh_tls *tls);
uint64_t sh_tls_bytes_received(const sh_tls *tls);

/* For tests: replaces SH_TLS_RECORDS_PER_KEY, and returns how often the key was changed. */
void sh_tls_limit_records(sh_tls *tls, uint64_t records_per_key);
uint64_t sh_tls_key_changes(const sh_tls *tls);

#endif
