/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that proved the token but have not sent their hello. A device sends it at once, so a
 * few places for seconds suffice; a silent client is evicted for the next one.
 *
 *     const uint64_t gone = sh_pending_clients_enter(&pending, client, host, now_ms);
 *     if (gone != 0)
 *         close_connection_of(gone);
 *     ...
 *     sh_pending_clients_leave(&pending, client);                      // it sent hello or closed
 *     while ((gone = sh_pending_clients_overdue(&pending, now_ms)) != 0)
 *         close_connection_of(gone);
 *
 * Clients are numbers above 0, in the order of arrival.
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_PENDING_CLIENTS_H
#define SHOAL_NODE_PENDING_CLIENTS_H

#include "net/address.h"

#define SH_PENDING_CLIENTS_MAX 64
#define SH_PENDING_CLIENTS_HOST_MAX 16 /* from one address */
#define SH_PENDING_CLIENTS_PATIENCE_MS 5000

typedef struct sh_pending_clients_place {
    uint64_t client; /* 0: free */
    uint64_t since_ms;
    char host[SH_ADDRESS_TEXT];
} sh_pending_clients_place;

/* Initially zero. */
typedef struct sh_pending_clients {
    sh_pending_clients_place places[SH_PENDING_CLIENTS_MAX];
} sh_pending_clients;

/* Admits `client`; returns the evicted client, or 0. Evicts the oldest client if all places are
 * used, or the oldest of the new client's host if that host is at its limit. */
uint64_t sh_pending_clients_enter(sh_pending_clients *pending, uint64_t client, const char *host,
                                  uint64_t now_ms);

/* Does nothing if the client has no place. */
void sh_pending_clients_leave(sh_pending_clients *pending, uint64_t client);

/* Evicts and returns a client that has waited for SH_PENDING_CLIENTS_PATIENCE_MS; 0: none. */
uint64_t sh_pending_clients_overdue(sh_pending_clients *pending, uint64_t now_ms);

#endif
