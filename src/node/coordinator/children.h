/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that `train --devices N` starts on its own machine. Each joins with the token from
 * its standard input, so that lists of processes do not show the token.
 *
 *     SH_TRY(sh_children_start(&children, &options));
 *     ... they join as every device does ...
 *     sh_children_stop(children);
 *
 * Threads: one caller. A thread waits for each process and posts SH_MAIL_CHILD when it ends.
 */
#ifndef SHOAL_NODE_CHILDREN_H
#define SHOAL_NODE_CHILDREN_H

#include "node/protocol/mailbox.h"

typedef struct sh_children sh_children;

typedef struct sh_children_options {
    uint32_t count;
    const char *program; /* NULL: this program */
    const char *token;
    const char *name;    /* of this device; children are NAME/2, NAME/3, ... */
    uint64_t memory;     /* bytes of each; 0: no limit */
    const char *lanes;   /* the argument of --lanes; borrowed */
    sh_mailbox *mailbox; /* borrowed until stop */
} sh_children_options;

sh_status sh_children_start(sh_children **children,
                            const sh_children_options *options) SHOAL_CHECKED;

/* Waits until all children end, which they do after the job; kills those that run after
 * `patience_ms`. NULL is allowed. */
void sh_children_stop(sh_children *children, uint32_t patience_ms);

#endif
