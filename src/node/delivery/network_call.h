/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches the network of the job's imported model from the devices that serve the data.
 *
 * Devices are asked one after another, the coordinator first, until one sends the network: at most
 * SH_SKELETON_MOST bytes with the digest in the job's spec. Anything else is discarded unparsed, so
 * any device can be a source.
 *
 *     SH_TRY(sh_network_call_start(&call, &options));      // SH_MAIL_NETWORK reports the result
 *     ... wait for that mail; if its status is SH_OK:
 *     status = sh_network_call_take(&network, call);
 *     sh_network_call_free(call);
 *
 * Threads: one caller, not on the loop's thread.
 */
#ifndef SHOAL_NODE_NETWORK_CALL_H
#define SHOAL_NODE_NETWORK_CALL_H

#include "node/protocol/mailbox.h"
#include "node/protocol/orders.h"
#include "onnx/network.h"

typedef struct sh_network_call sh_network_call;

typedef struct sh_network_call_options {
    sh_loop *loop;
    sh_mailbox *mailbox;       /* gets SH_MAIL_NETWORK once */
    const sh_sources *sources; /* copied */
    const char *spec;          /* the job's model; copied */
} sh_network_call_options;

/*
 * `*call` is owned: sh_network_call_free. The mail's status is SH_OK or, when no source is left or
 * after ten seconds, that of the last try: SH_PEER_LOST (unreachable, lost, silent), SH_REFUSED (no
 * network), SH_CORRUPT (another digest), SH_FORMAT (too large), or the status of a closed channel.
 */
sh_status sh_network_call_start(sh_network_call **call,
                                const sh_network_call_options *options) SHOAL_CHECKED;

/* Once, after SH_MAIL_NETWORK with SH_OK. `*network` is owned: sh_network_unref. Fails as
 * sh_network_of_bytes does. */
sh_status sh_network_call_take(sh_network **network, sh_network_call *call) SHOAL_CHECKED;

void sh_network_call_free(sh_network_call *call);

#endif
