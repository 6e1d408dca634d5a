/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that devices exchange, as structs and as messages; reading checks every number. Orders are
 * a directive with the necessary addresses and keys. A heartbeat is a notice with figures. Sources
 * are the devices that serve the data to a new device.
 *
 *     SH_TRY(sh_orders_read(&orders, message->order, device));
 *     SH_TRY(sh_heartbeat_read(&heartbeat, message->notice));
 *     SH_TRY(sh_sources_read(&sources, message->welcome->sources, message->welcome->n_sources));
 *
 * Threads: any; values.
 */
#ifndef SHOAL_NODE_ORDERS_H
#define SHOAL_NODE_ORDERS_H

#include "cluster/directive.h"
#include "cluster/notice.h"
#include "net/key.h"
#include "net/message.h"
#include "net/socket.h"
#include "net/token.h"
#include "shoal/train.h"

#define SH_LINK_IDENTITY 64
#define SH_SOURCES_MAX 4
#define SH_LINKS_MAX SH_DEVICES_MAX /* one to each other seat; two in a ring of two seats */

typedef struct sh_route {
    char host[SH_TOKEN_HOST]; /* "": this device does not connect to it */
    uint16_t port;
    unsigned char key[SH_KEY_BYTES];
} sh_route;

/* A link to another seat of the view, as in sh_directive_links. */
typedef struct sh_link {
    uint32_t seat;  /* at the other end */
    bool inbound;   /* the other end connects */
    bool opened;    /* the other end accepts, if this device connects */
    sh_route route; /* only the key if the other end connects */
} sh_link;

typedef struct sh_orders {
    sh_directive directive;
    uint32_t link_count; /* of the directive's ring; 0: no ring to make */
    sh_link links[SH_LINKS_MAX];
    sh_route donors[SH_TRANSFERS_MAX][SH_DONORS_MAX]; /* like directive.transfers */
} sh_orders;

typedef struct sh_heartbeat {
    sh_notice notice;
    uint32_t opened;           /* the highest ring whose links it accepts */
    bool able;                 /* it could replace the coordinator */
    sh_device_report done;     /* since it joined; the name is unset */
    sh_socket_traffic traffic; /* of all links and transfers; not sent */
} sh_heartbeat;

/* Borrows from `orders`, which must outlive it. */
typedef struct sh_orders_message {
    Shoal__Order body;
    Shoal__Position start, wanted[SH_TRANSFERS_MAX];
    Shoal__Seat seats[SH_DEVICES_MAX], *seat_list[SH_DEVICES_MAX];
    Shoal__Link links[SH_LINKS_MAX], *link_list[SH_LINKS_MAX];
    Shoal__Range work[SH_RANGES_MAX], *work_list[SH_RANGES_MAX];
    Shoal__Transfer transfers[SH_TRANSFERS_MAX], *transfer_list[SH_TRANSFERS_MAX];
    Shoal__Donor donors[SH_TRANSFERS_MAX][SH_DONORS_MAX];
    Shoal__Donor *donor_lists[SH_TRANSFERS_MAX][SH_DONORS_MAX];
    Shoal__AuditOrder audit;
    Shoal__Range audited[SH_RANGES_MAX], *audited_list[SH_RANGES_MAX];
} sh_orders_message;

void sh_orders_write(sh_orders_message *message, const sh_orders *orders);

/* SH_FORMAT: inconsistent. */
sh_status sh_orders_read(sh_orders *orders, const Shoal__Order *body,
                         uint32_t device) SHOAL_CHECKED;

/* Borrows from the heartbeat. */
typedef struct sh_heartbeat_message {
    Shoal__Notice body;
    Shoal__Position position;
    Shoal__Range held[SH_RANGES_MAX], *held_list[SH_RANGES_MAX];
    Shoal__AuditReport audit;
    Shoal__Range added[SH_RANGES_MAX], *added_list[SH_RANGES_MAX];
} sh_heartbeat_message;

void sh_heartbeat_write(sh_heartbeat_message *message, const sh_heartbeat *heartbeat);
sh_status sh_heartbeat_read(sh_heartbeat *heartbeat, const Shoal__Notice *body) SHOAL_CHECKED;

typedef struct sh_source {
    uint32_t device;
    sh_route route;
} sh_source;

typedef struct sh_sources {
    uint32_t count; /* the first is the coordinator */
    sh_source items[SH_SOURCES_MAX];
} sh_sources;

/* Borrows from the sources. */
typedef struct sh_sources_message {
    Shoal__Donor items[SH_SOURCES_MAX], *list[SH_SOURCES_MAX];
} sh_sources_message;

void sh_sources_write(sh_sources_message *message, const sh_sources *sources);

/* SH_FORMAT: inconsistent. */
sh_status sh_sources_read(sh_sources *sources, Shoal__Donor *const *items,
                          size_t count) SHOAL_CHECKED;

/* Writes "link/RING/FROM>TO", which names the key of a link between seats. */
void sh_link_identity(char identity[SH_LINK_IDENTITY], uint32_t ring, uint32_t from, uint32_t to);

/* Writes "state/TRANSFER/STRIPE", which names the key of a stripe's receiver. */
void sh_stripe_identity(char identity[SH_LINK_IDENTITY], uint64_t transfer, uint32_t stripe);

/* Writes "data/DEVICE", which names the key of a data receiver. */
void sh_data_identity(char identity[SH_LINK_IDENTITY], uint32_t device);

#endif
