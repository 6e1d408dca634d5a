/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue from the loop's thread to the step's thread.
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
    SH_MAIL_JOINED,  /* another device is ready: `text` is its name */
    SH_MAIL_NOTE,    /* a message for the user: `text` */
    SH_MAIL_STANDBY, /* this device is on standby: `text` says why */
    SH_MAIL_TASK,    /* there may be a task */
    SH_MAIL_CALL,    /* the waiter must show that it is alive: sh_agent_wait does */
    SH_MAIL_END,     /* the job ended, with `status` and `text` */
    SH_MAIL_LOST,    /* the connection to the coordinator ended early; likewise */
    SH_MAIL_MOVED,   /* another device coordinates: `data` is an sh_endpoint */
    SH_MAIL_ANSWERS, /* a discovery is done */
    SH_MAIL_CLOSED,  /* the last connection is closed, as requested */
    SH_MAIL_DATA,    /* the manifest arrived or failed: as END */
    SH_MAIL_NETWORK, /* likewise an imported model's network */
    SH_MAIL_CHILD,   /* a child process ended early: `text` */
} sh_mail_kind;

typedef struct sh_mail {
    sh_mail_kind kind;
    sh_status status;
    uint32_t devices; /* ready so far */
    void *data;
    size_t data_bytes; /* wiped when dropped, because `data` may have keys */
    char text[SH_MESSAGE_BYTES];
} sh_mail;

typedef struct sh_mailbox sh_mailbox;

sh_status sh_mailbox_new(sh_mailbox **mailbox) SHOAL_CHECKED;

/* Also frees unread mail. */
void sh_mailbox_free(sh_mailbox *mailbox);

/* Wipes and frees the mail's data. */
void sh_mail_drop(sh_mail *mail);

/* Appends a copy. Without memory or space, the waiter is told that instead. */
void sh_mailbox_post(sh_mailbox *mailbox, const sh_mail *mail);

void sh_mailbox_post_text(sh_mailbox *mailbox, sh_mail_kind kind, sh_status status,
                          const char *text);

/* Removes the oldest mail. Waits at most `timeout_ms` (0: no limit). SH_STOPPED: `stop` (may be
 * NULL) was requested. SH_LIMIT: timed out. */
sh_status sh_mailbox_wait(sh_mailbox *mailbox, sh_mail *mail, const sh_stop *stop,
                          uint32_t timeout_ms) SHOAL_CHECKED;

/* Removes the oldest mail; false: none. Never waits. */
bool sh_mailbox_take(sh_mailbox *mailbox, sh_mail *mail);

#endif
