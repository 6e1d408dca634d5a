/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that `train --devices N` starts on its own machine: processes that join by token, given
 * on their standard input, so that it does not show in the list of processes.
 *
 *     SH_TRY(sh_children_start(&children, &options));
 *     ... they say hello as every device does ...
 *     sh_children_stop(children);
 *
 * Threads: one caller. One that ends is told to the mailbox, from a thread that waits for it.
 */
#ifndef SHOAL_NODE_CHILDREN_H
#define SHOAL_NODE_CHILDREN_H

#include "node/mail/mailbox.h"

typedef struct sh_children sh_children;

typedef struct sh_children_options {
    uint32_t count;
    const char *program; /* NULL: this program */
    const char *token;
    const char *name;    /* of this device; theirs are NAME/2, NAME/3, ... */
    uint64_t memory;     /* of each; 0: any number */
    const char *lanes;   /* as --lanes has them; borrowed */
    sh_mailbox *mailbox; /* gets SH_MAIL_CHILD; borrowed until stop */
} sh_children_options;

sh_status sh_children_start(sh_children **children,
                            const sh_children_options *options) SHOAL_CHECKED;

/* Waits for all to end by themselves, as they do when the job is over; after `patience_ms` kills
 * those that are left. NULL is fine. */
void sh_children_stop(sh_children *children, uint32_t patience_ms);

#endif
