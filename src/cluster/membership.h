/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices take part in a job, in which view, with what share: the coordinator's decisions
 * while devices join, leave and die. A pure state machine: events in, actions and directives out.
 *
 *     sh_membership_handle(membership, &(sh_membership_event){SH_MEMBERSHIP_TICK, .now_ms = now});
 *     while (sh_membership_next(membership, &action))
 *         carry_out(&action);
 *
 * Device 0, the coordinator's own, is always a member and sends the same events; its loss ends the
 * job here. The life of a device: hello, admitted, ready, a transfer, a seat in a view, finished.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_H
#define SHOAL_CLUSTER_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "cluster/directive.h"
#include "cluster/gauge.h"
#include "cluster/notice.h"
#include "cluster/serving.h"
#include "cluster/standby.h"

#define SH_MEMBERSHIP_TEXT 256
typedef enum sh_membership_action_kind {
    SH_MEMBERSHIP_ADMIT,  /* welcome `device` */
    SH_MEMBERSHIP_REFUSE, /* send `text` to `device`, close its connection and forget it */
    SH_MEMBERSHIP_ORDER,  /* the directive of `device` changed: send it */
    SH_MEMBERSHIP_NOTE,   /* tell the user `text` */
    SH_MEMBERSHIP_RESIGN, /* device 0 hangs: let another device coordinate, if possible */
    SH_MEMBERSHIP_END,    /* the job is over, with `status` and reason `text`: tell all devices */
} sh_membership_action_kind;

#define SH_MEMBERSHIP_ALL UINT32_MAX

/* The subject of a NOTE, and its name in logs and events. */
#define SH_NEWS_MAP(X)                                                                             \
    X(JOINED, "joined")                                                                            \
    X(LEFT, "left")                                                                                \
    X(WAITED, "waited")                                                                            \
    X(LOST, "lost")                                                                                \
    X(SHARES, "shares")                                                                            \
    X(REPAIRED, "repaired")                                                                        \
    X(DEFECT, "defect")                                                                            \
    X(TRANSFER, "transfer")                                                                        \
    X(WHOLE, "whole")                                                                              \
    X(VIEW, "view")                                                                                \
    X(SERVERS, "servers")                                                                          \
    X(STANDBY, "rests")                                                                            \
    X(AUDITED, "audited")                                                                          \
    X(COMPARED, "compared")                                                                        \
    X(CURVE, "curve")

typedef enum sh_news {
#define SH_NEWS_VALUE(name, text) SH_NEWS_##name,
    SH_NEWS_MAP(SH_NEWS_VALUE)
#undef SH_NEWS_VALUE
} sh_news;

/* Static. */
const char *sh_news_name(sh_news news);

typedef struct sh_membership_action {
    sh_membership_action_kind kind;
    uint32_t device;  /* SH_MEMBERSHIP_ALL: a NOTE about no single device */
    sh_status status; /* of an END. SH_DIVERGED, SH_ABORTED: device 0's replica is not valid */
    bool again;       /* of a REFUSE: it may rejoin */
    sh_news news;     /* of a NOTE */
    char text[2 * SH_MEMBERSHIP_TEXT];
} sh_membership_action;

typedef struct sh_membership_options {
    uint32_t min_devices;          /* ready for the first view; 0: 1 */
    uint32_t gather_ms;            /* longest wait for them; 0: no limit */
    uint32_t grains, views_before; /* of a full step; the last view's number, or 0 */
    uint32_t used;                 /* SH_STANDBY_ALL, SH_STANDBY_AUTO, or the number that compute */
    sh_lineup_job lineup;          /* what a step exchanges; other members are ignored */
    double followed;               /* bytes per step for a device that follows */
    double audit;                  /* part of all shares that other devices compute again, 0 .. 1 */
    sh_serving serving;            /* copied */
    const char *name;              /* device 0's; all texts are copied */
    const char *version;           /* must be the same on all devices */
    const char *fingerprint;       /* of the data */
    const char *first_grain;       /* hash of device 0's gradients */
} sh_membership_options;

typedef enum sh_membership_event_kind {
    SH_MEMBERSHIP_HELLO,     /* device (a number never used before), name, version, local */
    SH_MEMBERSHIP_NOTICE,    /* device, notice; with READY: fingerprint, first_grain */
    SH_MEMBERSHIP_HEARD,     /* device: any byte arrived */
    SH_MEMBERSHIP_GONE,      /* device, reason: it disconnected, or cannot continue */
    SH_MEMBERSHIP_LINK,      /* device, link: to device 0 */
    SH_MEMBERSHIP_ANNOUNCED, /* view: device 0's trailer has it */
    SH_MEMBERSHIP_TICK,      /* now_ms: at least every 100 ms */
} sh_membership_event_kind;

/* Pointers are borrowed for the call. */
typedef struct sh_membership_event {
    sh_membership_event_kind kind;
    uint32_t device;
    const char *name, *version, *fingerprint, *first_grain, *reason;
    bool local;
    const sh_notice *notice;
    const char *address; /* of a NOTICE: address tried for notice->broken_peer; may be NULL */
    const sh_link_speed *link;
    uint32_t view;
    uint64_t now_ms; /* of a monotonic clock */
} sh_membership_event;

typedef struct sh_membership sh_membership;

sh_status sh_membership_new(sh_membership **membership,
                            const sh_membership_options *options) SHOAL_CHECKED;
void sh_membership_free(sh_membership *membership);

/* Ignores an inconsistent event, or loses its sender. */
void sh_membership_handle(sh_membership *membership, const sh_membership_event *event);

/* Removes the next action; false: none. */
bool sh_membership_next(sh_membership *membership, sh_membership_action *action);

/* The current directive of a device; false: it is not in the job. */
bool sh_membership_directive(sh_directive *directive, const sh_membership *membership,
                             uint32_t device);

/* The view that device 0 is to add to its trailer now, or 0. The caller that adds it reports
 * ANNOUNCED under the same lock; the view then takes effect unless a device is lost. */
uint32_t sh_membership_announce(const sh_membership *membership);
/* Likewise the key of an audit, only once all other spans are complete and no device can change
 * what it adds. `view`, `position`: device 0's now. `random`: unpredictable. */
uint32_t sh_membership_draw_audit(sh_membership *membership, uint32_t view, sh_position position,
                                  const uint32_t random[4]);

/* Whether asking again in the same stage pays, because such a view may appear soon. */
bool sh_membership_is_changing(const sh_membership *membership);

/* Whether transfers or a halt keep the links busy. */
bool sh_membership_moves_replicas(const sh_membership *membership);

bool sh_membership_has(const sh_membership *membership, uint32_t device);

#endif
