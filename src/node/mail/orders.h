/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices write to each other, as values and as messages, with every number checked: orders (a
 * directive with the addresses and keys that it takes to follow it), heartbeats (a notice with
 * figures), and who has the data, as a device that is admitted hears of it.
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
#define SH_LINKS_MAX SH_DEVICES_MAX /* with each other seat one; in a ring of two, two */

/* How a device is reached, and by which key. */
typedef struct sh_route {
    char host[SH_TOKEN_HOST]; /* "": this is not for us to reach */
    uint16_t port;
    unsigned char key[SH_KEY_BYTES];
} sh_route;

/* A link of the view's with another seat, as sh_directive_links has it. */
typedef struct sh_link {
    uint32_t seat;  /* at the other end */
    bool comes;     /* from there; else this device connects */
    bool opened;    /* where it connects: the other has opened its door to us */
    sh_route route; /* where it connects; else the key alone */
} sh_link;

typedef struct sh_orders {
    sh_directive directive;
    uint32_t link_count; /* of the directive's ring; 0 where there is none to be made */
    sh_link links[SH_LINKS_MAX];
    sh_route donors[SH_TRANSFERS_MAX][SH_DONORS_MAX]; /* as directive.transfers */
} sh_orders;

/* A notice, and what else a device says of itself. */
typedef struct sh_heartbeat {
    sh_notice notice;
    uint32_t opened;           /* the highest ring whose door is open to those that connect to it */
    bool able;                 /* it has all that a successor of the coordinator needs */
    sh_device_report done;     /* since it joined; no name */
    sh_socket_traffic traffic; /* of all links and transfers; stays on this device */
} sh_heartbeat;

/* The message's body, as protobuf-c wants it: `orders` and what it points to must outlive it. */
typedef struct sh_orders_message {
    Shoal__Order body;
    Shoal__Position start, wanted[SH_TRANSFERS_MAX];
    Shoal__Seat seats[SH_DEVICES_MAX], *seat_list[SH_DEVICES_MAX];
    Shoal__Link links[SH_LINKS_MAX], *link_list[SH_LINKS_MAX];
    Shoal__Range work[SH_RANGES_MAX], *work_list[SH_RANGES_MAX];
    Shoal__Transfer transfers[SH_TRANSFERS_MAX], *transfer_list[SH_TRANSFERS_MAX];
    Shoal__Donor donors[SH_TRANSFERS_MAX][SH_DONORS_MAX];
    Shoal__Donor *donor_lists[SH_TRANSFERS_MAX][SH_DONORS_MAX];
} sh_orders_message;

void sh_orders_write(sh_orders_message *message, const sh_orders *orders);

/* Reads orders that were sent to `device`. SH_FORMAT where they make no sense. */
sh_status sh_orders_read(sh_orders *orders, const Shoal__Order *body,
                         uint32_t device) SHOAL_CHECKED;

typedef struct sh_heartbeat_message {
    Shoal__Notice body;
    Shoal__Position position;
    Shoal__Range held[SH_RANGES_MAX], *held_list[SH_RANGES_MAX];
} sh_heartbeat_message;

void sh_heartbeat_write(sh_heartbeat_message *message, const sh_heartbeat *heartbeat);
sh_status sh_heartbeat_read(sh_heartbeat *heartbeat, const Shoal__Notice *body) SHOAL_CHECKED;

typedef struct sh_source {
    uint32_t device;
    sh_route route;
} sh_source;

typedef struct sh_sources {
    uint32_t count; /* the first is the coordinator's device */
    sh_source items[SH_SOURCES_MAX];
} sh_sources;

/* As sh_orders_message. */
typedef struct sh_sources_message {
    Shoal__Donor items[SH_SOURCES_MAX], *list[SH_SOURCES_MAX];
} sh_sources_message;

void sh_sources_write(sh_sources_message *message, const sh_sources *sources);

/* SH_FORMAT where they make no sense. */
sh_status sh_sources_read(sh_sources *sources, Shoal__Donor *const *items,
                          size_t count) SHOAL_CHECKED;

/* "link/RING/FROM>TO": under whose key the seat `from` connects to the seat `to`. */
void sh_link_identity(char identity[SH_LINK_IDENTITY], uint32_t ring, uint32_t from, uint32_t to);

/* "state/TRANSFER/STRIPE": under whose key a receiver comes for a stripe. */
void sh_stripe_identity(char identity[SH_LINK_IDENTITY], uint64_t transfer, uint32_t stripe);

/* "data/DEVICE": under whose key others take the data from a device. */
void sh_data_identity(char identity[SH_LINK_IDENTITY], uint32_t device);

#endif
