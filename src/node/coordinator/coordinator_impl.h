/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the coordinator's files. coordinator.c receives messages and carries out the
 * membership's decisions; the other files do not call it.
 *
 *     sh_client_welcome(coordinator, sh_client_find(coordinator, device));
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_COORDINATOR_IMPL_H
#define SHOAL_NODE_COORDINATOR_IMPL_H

#include <pthread.h>

#include "cluster/gauge.h"
#include "cluster/membership.h"
#include "node/coordinator/coordinator.h"
#include "node/coordinator/device_reports.h"
#include "node/coordinator/pending_clients.h"
#include "node/delivery/supply.h"
#include "node/member/callers.h"
#include "node/member/discovery.h"
#include "node/member/endpoints.h"
#include "node/record/rate_limiter.h"

#define NO_DEVICE UINT32_MAX

typedef struct client {
    struct client *next;
    sh_coordinator *of;
    sh_channel *channel;
    uint64_t arrival; /* serial number */
    uint32_t device;  /* NO_DEVICE before its hello */
    uint16_t link_port;
    uint32_t lanes;
    uint32_t opened;         /* the highest ring whose links it accepts */
    sh_rate_limiter limiter; /* for its records */
    bool ready, local;
    bool close_when_sent;
    bool has_data;      /* it has all data and serves them */
    bool has_key, able; /* has a public key for a warrant; could coordinate */
    sh_gauge gauge;
    sh_sample newest;    /* at_ns is 0: none */
    uint32_t successors; /* number of the list of successors last sent; 0: none */
    unsigned char key[SH_KEY_BYTES];
    char fingerprint[SH_DIGEST_TEXT], first_grain[SH_DIGEST_TEXT];
} client;

struct sh_coordinator {
    sh_coordinator_options options;
    sh_agent *agent;
    sh_supply *supply;
    sh_listener *listener;
    sh_timer *tick;
    sh_invitation invitation;
    unsigned char secret[SH_KEY_BYTES]; /* derives the keys between devices */
    uint64_t job;                       /* in every message */
    uint32_t next_device;
    uint32_t own_opened; /* client.opened of device 0 */
    bool ready;          /* device 0 is ready, and receives orders */
    bool closing;        /* posts SH_MAIL_CLOSED after the last client's end */
    bool over;           /* the job has ended, with the status and text below */
    sh_status end_status;
    char end_text[2 * SH_MEMBERSHIP_TEXT];
    client *clients;
    uint32_t client_count;
    uint64_t arrivals;
    sh_pending_clients pending;
    sh_channel_stats closed_stats;
    sh_telemetry_batch batch; /* of the message being read */
    double sample_flops;      /* 0: not computed yet */

    uint64_t steps; /* applied to device 0's replica */
    uint64_t ticks;
    uint32_t successors[SH_SUCCESSORS_MAX], successor_count; /* in order of succession */
    uint32_t successors_told;                                /* number of that list, from 1 */
    uint32_t seats;                    /* of the view, as sent to the successors */
    uint32_t entered;                  /* the view that device 0 works in */
    sh_endpoints endpoints;            /* of current and past devices */
    _Atomic uint32_t endpoint_changes; /* total */
    uint32_t changes_told;             /* of the endpoints, to the devices */
    sh_endpoints asked;                /* by `discovery` */
    sh_discovery *discovery;           /* may be NULL */
    sh_callers callers;                /* after the role has moved */
    bool answered;                     /* `discovery` is done */
    bool moved;                        /* another device coordinates, at `moved_to` */
    sh_endpoint moved_to;

    pthread_mutex_t lock;
    sh_membership *membership; /* guarded by lock */
    sh_device_reports reports; /* written by the loop under the lock */
};

/* NULL: no client is `device`. */
client *sh_client_find(const sh_coordinator *coordinator, uint32_t device);

sh_status sh_coordinator_make_key(const sh_coordinator *coordinator,
                                  unsigned char key[SH_KEY_BYTES],
                                  const char *identity) SHOAL_CHECKED;

/* The address at which `from` reaches `to`; the host is "" if it is unknown. */
void sh_coordinator_find_route(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                               sh_route *route);

/* Writes the same route as "HOST:PORT"; "" if it is unknown. */
void sh_coordinator_print_route(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                                char address[SH_ADDRESS_TEXT]);

/* Functions below that return a status fail if a key cannot be derived; then the job cannot
 * continue. */
sh_status sh_client_welcome(sh_coordinator *coordinator, client *to) SHOAL_CHECKED;
void sh_client_send_end(client *to, sh_status status, const char *reason);
/* The device is no longer a member; closes the connection. `again`: it may rejoin. May free
 * `to`. */
void sh_client_send_refusal(client *to, const char *reason, bool again);

/* The end of the channel reports a failure. */
void sh_client_send(client *to, Shoal__Message *message);

/* Sends `device`, which may be device 0, its current orders. */
sh_status sh_coordinator_send_orders(sh_coordinator *coordinator, uint32_t device) SHOAL_CHECKED;

/* A device accepts links for the ring `opened`: sends orders to the devices that connect to it. */
sh_status sh_coordinator_note_opened(sh_coordinator *coordinator, uint32_t device, uint32_t *known,
                                     uint32_t opened) SHOAL_CHECKED;

/* ---- coordinator_roster.c -------------------------------------------------------------------- */

/* Answers a survey; the connection closes afterwards. */
void sh_client_tell_roster(client *to);

/* ---- coordinator_links.c --------------------------------------------------------------------- */

/* Sends a probe if one is due. */
void sh_client_probe(client *to);

/* Processes the answer to a probe, and sends the next probe if one is due. */
void sh_client_take_echo(client *from, uint32_t number);

void sh_client_send_standby(client *to, const char *text);

#endif
