/* SPDX-License-Identifier: Apache-2.0 */
#include "node/delivery/sources.h"

#include <stdio.h>
#include <string.h>

void sh_data_identity(char identity[SH_LINK_IDENTITY], uint32_t device)
{
    snprintf(identity, SH_LINK_IDENTITY, "data/%u", device);
}

void sh_sources_write(sh_sources_message *message, const sh_sources *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        const sh_route *route = &sources->items[i].route;
        Shoal__Donor *body = &message->items[i];
        shoal__donor__init(body);
        body->device = sources->items[i].device;
        body->host = (char *)(uintptr_t)route->host;
        body->port = route->port;
        body->key = (ProtobufCBinaryData){SH_KEY_BYTES, (uint8_t *)(uintptr_t)route->key};
        message->list[i] = body;
    }
}

sh_status sh_sources_read(sh_sources *sources, Shoal__Donor *const *items, size_t count)
{
    sh_sources fresh = {.count = (uint32_t)count};
    if (count == 0 || count > SH_SOURCES_MAX)
        return sh_fail(SH_FORMAT, "%zu sources of the data, where 1 to %d can be", count,
                       SH_SOURCES_MAX);
    for (size_t i = 0; i < count; i++) {
        const Shoal__Donor *body = items[i];
        sh_route *route = &fresh.items[i].route;
        if (body->port == 0 || body->port > UINT16_MAX || body->key.len != SH_KEY_BYTES ||
            body->host[0] == '\0' || strlen(body->host) >= sizeof route->host)
            return sh_fail(SH_FORMAT, "a source of the data that cannot be reached");
        fresh.items[i].device = body->device;
        route->port = (uint16_t)body->port;
        snprintf(route->host, sizeof route->host, "%s", body->host);
        memcpy(route->key, body->key.data, SH_KEY_BYTES);
    }
    *sources = fresh;
    return SH_OK;
}
