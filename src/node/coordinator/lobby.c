/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/lobby.h"

#include <stdio.h>
#include <string.h>

/* The oldest guest's place, optionally of one host; sets `count` to their number. */
static sh_lobby_place *oldest(sh_lobby *lobby, const char *host, uint32_t *count)
{
    sh_lobby_place *found = NULL;
    *count = 0;
    for (uint32_t i = 0; i < SH_LOBBY_MAX; i++) {
        sh_lobby_place *place = &lobby->places[i];
        if (place->guest == 0 || (host != NULL && strcmp(place->host, host) != 0))
            continue;
        ++*count;
        if (found == NULL || place->guest < found->guest)
            found = place;
    }
    return found;
}

static uint64_t clear(sh_lobby_place *place)
{
    const uint64_t gone = place->guest;
    *place = (sh_lobby_place){0};
    return gone;
}

uint64_t sh_lobby_enter(sh_lobby *lobby, uint64_t guest, const char *host, uint64_t now_ms)
{
    uint64_t gone = 0;
    uint32_t of_host, all;
    sh_lobby_place *own = oldest(lobby, host, &of_host), *any = oldest(lobby, NULL, &all);
    if (of_host >= SH_LOBBY_HOST_MAX)
        gone = clear(own);
    else if (all >= SH_LOBBY_MAX)
        gone = clear(any);
    sh_lobby_place *place = lobby->places;
    while (place->guest != 0)
        place++;
    place->guest = guest;
    place->since_ms = now_ms;
    snprintf(place->host, sizeof place->host, "%s", host);
    return gone;
}

void sh_lobby_leave(sh_lobby *lobby, uint64_t guest)
{
    for (uint32_t i = 0; guest != 0 && i < SH_LOBBY_MAX; i++)
        if (lobby->places[i].guest == guest)
            clear(&lobby->places[i]);
}

uint64_t sh_lobby_overdue(sh_lobby *lobby, uint64_t now_ms)
{
    uint32_t count;
    sh_lobby_place *place = oldest(lobby, NULL, &count);
    return place != NULL && now_ms - place->since_ms >= SH_LOBBY_PATIENCE_MS ? clear(place) : 0;
}
