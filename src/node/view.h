/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view as one device sees it: its place, its share, whom it links to; and as a message.
 *
 *     SH_TRY(sh_view_read(&view, message, device));
 *     ... view.next_host, view.key_to_next ...
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_NODE_VIEW_H
#define SHOAL_NODE_VIEW_H

#include <stdint.h>

#include "net/key.h"
#include "net/message.h"
#include "net/token.h"

#define SH_LINK_IDENTITY 64

typedef struct sh_view {
    uint32_t number;
    uint32_t rank, devices;
    uint32_t first_grain, grains; /* this device's share */
    uint32_t of;                  /* grains of a full step */
    char next_host[SH_TOKEN_HOST];
    uint16_t next_port;
    unsigned char key_to_next[SH_KEY_BYTES];
    unsigned char key_from_previous[SH_KEY_BYTES];
} sh_view;

/* Reads the view that was sent to `device`. SH_FORMAT where it makes no sense. */
sh_status sh_view_read(sh_view *view, const Shoal__Message *message, uint32_t device) SHOAL_CHECKED;

/* "link/VIEW/FROM>TO": under whose key rank `from` links to the one behind it. */
void sh_view_identity(char identity[SH_LINK_IDENTITY], const sh_view *view, uint32_t from);

#endif
