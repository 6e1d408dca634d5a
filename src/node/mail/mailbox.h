/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue from the loop's thread to the step's thread: what the latter waits for.
 *
 *     sh_mail mail;
 *     SH_TRY(sh_mailbox_wait(mailbox, &mail, stop, 0));
 *     if (mail.kind == SH_MAIL_TASK)
 *         begin();
 *
 * Threads: post from any, wait on one.
 */
#ifndef SHOAL_NODE_MAILBOX_H
#define SHOAL_NODE_MAILBOX_H

#include "base/fail.h"
#include "base/stop.h"

#define SH_MAILBOX_MAX 1024

typedef enum sh_mail_kind {
    SH_MAIL_WELCOME, /* this device was admitted: `data` is an sh_welcome (member.h), owned */
    SH_MAIL_JOINED,  /* a device is ready: `text` is its name */
    SH_MAIL_NOTE,    /* something to tell the user: `text` */
    SH_MAIL_RESTS,   /* this device stands by: `text` says why */
    SH_MAIL_TASK,    /* there may be a task: take it (node/member/agent.h) */
    SH_MAIL_CALL,    /* whoever waits is to show that it could go on: sh_agent_wait does */
    SH_MAIL_END,     /* the job is over; `status` and `text` say how */
    SH_MAIL_LOST,    /* the connection to the coordinator ended without that; likewise */
    SH_MAIL_MOVED,   /* another device coordinates: `data` is an sh_door (node/member/legacy.h) */
    SH_MAIL_ANSWERS, /* devices were asked, and the answers are here (node/member/inquiry.h) */
    SH_MAIL_CLOSED,  /* the last connection has been closed, as was asked for */
    SH_MAIL_DATA,    /* the manifest has come, or never will: as END (node/delivery/delivery.h) */
    SH_MAIL_NETWORK, /* likewise, an imported model's network (node/delivery/network_call.h) */
    SH_MAIL_CHILD,   /* a device started here has ended by itself: `text` */
} sh_mail_kind;

typedef struct sh_mail {
    sh_mail_kind kind;
    sh_status status;
    uint32_t devices; /* ready so far */
    void *data;
    size_t data_bytes; /* of what may have keys in it, to be wiped with it */
    char text[SH_MESSAGE_BYTES];
} sh_mail;

typedef struct sh_mailbox sh_mailbox;

sh_status sh_mailbox_new(sh_mailbox **mailbox) SHOAL_CHECKED;

/* Frees it and what was never read. NULL is fine. */
void sh_mailbox_free(sh_mailbox *mailbox);

/* Frees the mail's data, wiped. */
void sh_mail_drop(sh_mail *mail);

/* Appends a copy. Where memory is out or the box is full, the waiter is told so instead. */
void sh_mailbox_post(sh_mailbox *mailbox, const sh_mail *mail);

/* As above, for mail that is a kind and a text. */
void sh_mailbox_tell(sh_mailbox *mailbox, sh_mail_kind kind, sh_status status, const char *text);

/* The next mail, in order. Blocks for at most `timeout_ms` (0: without limit). SH_STOPPED after a
 * request of `stop` (may be NULL), SH_LIMIT when the time is over. */
sh_status sh_mailbox_wait(sh_mailbox *mailbox, sh_mail *mail, const sh_stop *stop,
                          uint32_t timeout_ms) SHOAL_CHECKED;

/* The next mail, where there is some; never waits. */
bool sh_mailbox_take(sh_mailbox *mailbox, sh_mail *mail);

#endif
