/* SPDX-License-Identifier: Apache-2.0 */
#include "node/view.h"

#include <stdio.h>
#include <string.h>

/* The members' shares cover the grains without gaps, in order of rank. */
static sh_status sum_grains(uint32_t *grains, const Shoal__View *body)
{
    uint32_t next = 0;
    for (size_t i = 0; i < body->n_members; i++) {
        if (body->members[i]->first_grain != next || body->members[i]->grains > UINT32_MAX - next)
            return sh_fail(SH_FORMAT, "the view's shares have gaps");
        next += body->members[i]->grains;
    }
    if (next == 0)
        return sh_fail(SH_FORMAT, "the view has no grains");
    *grains = next;
    return SH_OK;
}

sh_status sh_view_read(sh_view *view, const Shoal__Message *message, uint32_t device)
{
    const Shoal__View *body = message->new_view;
    sh_view fresh = {.number = message->view, .devices = (uint32_t)body->n_members};
    uint32_t rank = 0;
    while (rank < fresh.devices && body->members[rank]->device != device)
        rank++;
    if (fresh.devices < 2 || rank == fresh.devices || body->key_to_next.len != SH_KEY_BYTES ||
        body->key_from_previous.len != SH_KEY_BYTES)
        return sh_fail(SH_FORMAT, "the view is without this device or without keys");
    SH_TRY(sum_grains(&fresh.of, body));
    const Shoal__Member *self = body->members[rank];
    const Shoal__Member *next = body->members[(rank + 1) % fresh.devices];
    if (next->host[0] == '\0' || strlen(next->host) >= sizeof fresh.next_host || next->port == 0 ||
        next->port > UINT16_MAX)
        return sh_fail(SH_FORMAT, "the view's address of the next device makes no sense");
    fresh.rank = rank;
    fresh.first_grain = self->first_grain;
    fresh.grains = self->grains;
    fresh.next_port = (uint16_t)next->port;
    snprintf(fresh.next_host, sizeof fresh.next_host, "%s", next->host);
    memcpy(fresh.key_to_next, body->key_to_next.data, SH_KEY_BYTES);
    memcpy(fresh.key_from_previous, body->key_from_previous.data, SH_KEY_BYTES);
    *view = fresh;
    return SH_OK;
}

void sh_view_identity(char identity[SH_LINK_IDENTITY], const sh_view *view, uint32_t from)
{
    snprintf(identity, SH_LINK_IDENTITY, "link/%u/%u>%u", view->number, from,
             (from + 1) % view->devices);
}
