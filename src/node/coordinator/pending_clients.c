/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/pending_clients.h"

#include <stdio.h>
#include <string.h>

/* Sets `count` to the number of clients, of one host if `host` is not NULL. */
static sh_pending_clients_place *oldest(sh_pending_clients *pending, const char *host,
                                        uint32_t *count)
{
    sh_pending_clients_place *found = NULL;
    *count = 0;
    for (uint32_t i = 0; i < SH_PENDING_CLIENTS_MAX; i++) {
        sh_pending_clients_place *place = &pending->places[i];
        if (place->client == 0 || (host != NULL && strcmp(place->host, host) != 0))
            continue;
        ++*count;
        if (found == NULL || place->client < found->client)
            found = place;
    }
    return found;
}

static uint64_t clear(sh_pending_clients_place *place)
{
    const uint64_t gone = place->client;
    *place = (sh_pending_clients_place){0};
    return gone;
}

uint64_t sh_pending_clients_enter(sh_pending_clients *pending, uint64_t client, const char *host,
                                  uint64_t now_ms)
{
    uint64_t gone = 0;
    uint32_t of_host, all;
    sh_pending_clients_place *own = oldest(pending, host, &of_host),
                             *any = oldest(pending, NULL, &all);
    if (of_host >= SH_PENDING_CLIENTS_HOST_MAX)
        gone = clear(own);
    else if (all >= SH_PENDING_CLIENTS_MAX)
        gone = clear(any);
    sh_pending_clients_place *place = pending->places;
    while (place->client != 0)
        place++;
    place->client = client;
    place->since_ms = now_ms;
    snprintf(place->host, sizeof place->host, "%s", host);
    return gone;
}

void sh_pending_clients_leave(sh_pending_clients *pending, uint64_t client)
{
    for (uint32_t i = 0; client != 0 && i < SH_PENDING_CLIENTS_MAX; i++)
        if (pending->places[i].client == client)
            clear(&pending->places[i]);
}

uint64_t sh_pending_clients_overdue(sh_pending_clients *pending, uint64_t now_ms)
{
    uint32_t count;
    sh_pending_clients_place *place = oldest(pending, NULL, &count);
    return place != NULL && now_ms - place->since_ms >= SH_PENDING_CLIENTS_PATIENCE_MS
               ? clear(place)
               : 0;
}
