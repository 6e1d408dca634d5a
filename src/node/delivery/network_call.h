/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the devices that give the data for the network of the job's imported model.
 *
 *     SH_TRY(sh_network_call_start(&call, &options));      // SH_MAIL_NETWORK tells how that went
 *     ... wait for that mail; where its status is SH_OK:
 *     status = sh_network_call_take(&network, call);
 *     sh_network_call_free(call);
 *
 * One device is asked after the other, the coordinator first, until one gives the network: a body
 * of at most SH_SKELETON_MOST bytes, which has the digest in the job's spec. Nothing else is kept
 * or parsed, so it can come from anybody.
 *
 * Threads: one caller, not the loop's.
 */
#ifndef SHOAL_NODE_NETWORK_CALL_H
#define SHOAL_NODE_NETWORK_CALL_H

#include "node/mail/mailbox.h"
#include "node/mail/orders.h"
#include "onnx/network.h"

typedef struct sh_network_call sh_network_call;

typedef struct sh_network_call_options {
    sh_loop *loop;
    sh_mailbox *mailbox;       /* gets SH_MAIL_NETWORK once */
    const sh_sources *sources; /* copied */
    const char *spec;          /* copied: the job's model */
} sh_network_call_options;

/*
 * Asks the first source. Owned: sh_network_call_free it. The mail's status is SH_OK, or that of the
 * last try when no source is left, or ten seconds have brought nothing: SH_PEER_LOST (not reached,
 * lost, silent), SH_REFUSED (it has none), SH_CORRUPT (another digest), SH_FORMAT (too large), and
 * as channels end.
 */
sh_status sh_network_call_start(sh_network_call **call,
                                const sh_network_call_options *options) SHOAL_CHECKED;

/* After SH_MAIL_NETWORK with SH_OK, once. `*network` is owned: sh_network_unref it. Fails as
 * sh_network_of_bytes does. */
sh_status sh_network_call_take(sh_network **network, sh_network_call *call) SHOAL_CHECKED;

/* Closes what is open. NULL is fine. */
void sh_network_call_free(sh_network_call *call);

#endif
