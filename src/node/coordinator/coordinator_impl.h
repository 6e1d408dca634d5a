/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the coordinator's files share: coordinator.c hears devices and carries out what the
 * membership decides; coordinator_messages.c writes to devices; coordinator_links.c measures the
 * links to them; coordinator_heirs.c (coordinator_heirs.h) says who would go on in its place. The
 * latter three call nothing of the first.
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
#include "node/coordinator/doors.h"
#include "node/coordinator/lobby.h"
#include "node/delivery/supply.h"
#include "node/member/inquiry.h"
#include "node/record/allowance.h"

#define NO_DEVICE UINT32_MAX

typedef struct client {
    struct client *next;
    sh_coordinator *of;
    sh_channel *channel;
    uint64_t arrival; /* a number, in the order of coming */
    uint32_t device;  /* NO_DEVICE before its hello */
    uint16_t link_port;
    uint32_t lanes;
    uint32_t opened;        /* the highest ring whose door it has opened */
    sh_allowance allowance; /* of records */
    bool ready, local;
    bool shown_out;     /* its connection ends when the last messages are written */
    bool has_data;      /* and gives them to others */
    bool has_key, able; /* a public one, for a warrant; to go on in the coordinator's place */
    sh_gauge gauge;     /* of its link */
    uint32_t heirs;     /* which list of heirs it has been told; 0: none */
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
    unsigned char secret[SH_KEY_BYTES]; /* of the keys between devices */
    uint64_t job;                       /* number in every message */
    uint32_t next_device;
    uint32_t own_opened; /* as client.opened, of device 0 */
    bool ready;          /* device 0 is: it had better not be told before */
    bool closing;        /* tell the mailbox when the last client is gone */
    bool over;           /* the job has ended so, which clients that come later are told */
    sh_status end_status;
    char end_text[2 * SH_MEMBERSHIP_TEXT];
    client *clients;
    uint32_t client_count;
    uint64_t arrivals;             /* ever */
    sh_lobby lobby;                /* those before their hello */
    sh_channel_stats closed_stats; /* of channels that are gone */
    sh_telemetry_batch batch;      /* of the message at hand */

    uint64_t steps;                           /* that device 0's replica stands after */
    uint64_t ticks;                           /* so far */
    uint32_t heirs[SH_HEIRS_MAX], heir_count; /* devices, in order */
    uint32_t heirs_told;                      /* the number of that list, from 1 on */
    uint32_t seats;                           /* of the view, as the heirs know it */
    sh_doors doors;                           /* of devices that are here, or were */
    _Atomic uint32_t doors_changes;           /* so far */
    sh_doors asked;                           /* those of them that the inquiry asks */
    sh_inquiry *inquiry;                      /* under way, or done; NULL: none */
    bool answered;                            /* it is done */
    bool moved;                               /* another device coordinates: at this door */
    sh_door moved_to;

    pthread_mutex_t lock;
    sh_membership *membership; /* guarded by lock */
    sh_device_reports reports; /* the loop's; it changes under the lock */
};

/* The connection of a device; NULL where there is none. */
client *sh_client_find(const sh_coordinator *coordinator, uint32_t device);

/* The key for what is named so, of this job alone. */
sh_status sh_coordinator_make_key(const sh_coordinator *coordinator,
                                  unsigned char key[SH_KEY_BYTES],
                                  const char *identity) SHOAL_CHECKED;

/* The way from one device to another; the host is "" where it is not to be had. */
void sh_coordinator_find_way(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                             sh_route *route);

/* "HOST:PORT" by which one device looks for another; "" where it is not to be had. */
void sh_coordinator_print_way(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                              char way[SH_ADDRESS_TEXT]);

/* The next that return a status fail where a key cannot be made: the job cannot go on. */
sh_status sh_client_welcome(sh_coordinator *coordinator, client *to) SHOAL_CHECKED;
void sh_client_tell_end(client *to, sh_status status, const char *reason);
/* The device is no member any more; the connection ends. `again`: it may come back. */
void sh_client_tell_refusal(client *to, const char *reason, bool again);

/* Sends one message; where that fails, the channel's end will tell. */
void sh_client_send(client *to, Shoal__Message *message);

/* Sends a device, which may be our own, what the membership wants of it. */
sh_status sh_coordinator_send_orders(sh_coordinator *coordinator, uint32_t device) SHOAL_CHECKED;

/* A device has opened its door for a ring: those that connect to it are told. */
sh_status sh_coordinator_note_opened(sh_coordinator *coordinator, uint32_t device, uint32_t *known,
                                     uint32_t opened) SHOAL_CHECKED;

/* ---- coordinator_links.c --------------------------------------------------------------------- */

/* Sends the probe that is due, if one is. */
void sh_client_probe(client *to);

/* Takes the answer to a probe, and sends the next one. */
void sh_client_take_echo(client *from, uint32_t number);

/* Tells a device that it stands by, and why. */
void sh_client_tell_rest(client *to, const char *text);

#endif
