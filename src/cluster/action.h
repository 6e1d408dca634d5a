/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the membership wants done: devices let in or turned away, directives sent, the user told.
 *
 *     while (sh_membership_next(membership, &action))
 *         if (action.kind == SH_MEMBERSHIP_NOTE)
 *             printf("%s: %s\n", sh_news_name(action.news), action.text);
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_ACTION_H
#define SHOAL_CLUSTER_ACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_MEMBERSHIP_TEXT 256

typedef enum sh_membership_action_kind {
    SH_MEMBERSHIP_ADMIT,  /* welcome `device` */
    SH_MEMBERSHIP_REFUSE, /* tell `device` `text` and close its connection; it is forgotten */
    SH_MEMBERSHIP_ORDER,  /* the directive of `device` has changed: send it */
    SH_MEMBERSHIP_NOTE,   /* tell the user `text` */
    SH_MEMBERSHIP_END,    /* the job is over; `status` says how, `text` why. Tell everybody */
} sh_membership_action_kind;

#define SH_MEMBERSHIP_ALL UINT32_MAX

/* What a NOTE is about, and its name in logs and events ("device.joined"). */
#define SH_NEWS_MAP(X)                                                                             \
    X(JOINED, "joined")                                                                            \
    X(LEFT, "left")                                                                                \
    X(LOST, "lost")                                                                                \
    X(SHARES, "shares")                                                                            \
    X(REPAIRED, "repaired")                                                                        \
    X(FAMILY, "family")                                                                            \
    X(TRANSFER, "transfer")                                                                        \
    X(WHOLE, "whole")                                                                              \
    X(VIEW, "view")                                                                                \
    X(SERVERS, "servers")

typedef enum sh_news {
#define SH_NEWS_VALUE(name, text) SH_NEWS_##name,
    SH_NEWS_MAP(SH_NEWS_VALUE)
#undef SH_NEWS_VALUE
} sh_news;

/* Static. */
const char *sh_news_name(sh_news news);

typedef struct sh_membership_action {
    sh_membership_action_kind kind;
    uint32_t device;  /* SH_MEMBERSHIP_ALL: of a NOTE that is about no device alone */
    sh_status status; /* of an END. SH_DIVERGED, SH_ABORTED: device 0 has no replica to trust */
    bool again;       /* of a REFUSE: it may come back */
    sh_news news;     /* of a NOTE */
    char text[2 * SH_MEMBERSHIP_TEXT];
} sh_membership_action;

#endif
