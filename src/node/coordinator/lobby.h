/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that proved the token but have not sent their hello. A device sends it at once, so a
 * few places for seconds suffice; a silent guest is evicted for the next one.
 *
 *     const uint64_t gone = sh_lobby_enter(&lobby, guest, host, now_ms);
 *     if (gone != 0)
 *         close_connection_of(gone);
 *     ...
 *     sh_lobby_leave(&lobby, guest);                      // it sent hello or closed
 *     while ((gone = sh_lobby_overdue(&lobby, now_ms)) != 0)
 *         close_connection_of(gone);
 *
 * Guests are numbers above 0, in the order of arrival. Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_LOBBY_H
#define SHOAL_NODE_LOBBY_H

#include "net/address.h"

#define SH_LOBBY_MAX 64
#define SH_LOBBY_HOST_MAX 16 /* from one address */
#define SH_LOBBY_PATIENCE_MS 5000

typedef struct sh_lobby_place {
    uint64_t guest; /* 0: free */
    uint64_t since_ms;
    char host[SH_ADDRESS_TEXT];
} sh_lobby_place;

/* Initially zero. */
typedef struct sh_lobby {
    sh_lobby_place places[SH_LOBBY_MAX];
} sh_lobby;

/* Admits `guest`; returns the evicted guest, or 0. Evicts the oldest guest if all places are used,
 * or the oldest of the new guest's host if that host is at its limit. */
uint64_t sh_lobby_enter(sh_lobby *lobby, uint64_t guest, const char *host, uint64_t now_ms);

/* Does nothing if the guest has no place. */
void sh_lobby_leave(sh_lobby *lobby, uint64_t guest);

/* Evicts a guest that has waited for SH_LOBBY_PATIENCE_MS and returns it; 0: none. */
uint64_t sh_lobby_overdue(sh_lobby *lobby, uint64_t now_ms);

#endif
