/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves this device's data set, and the network of an imported model, to other devices.
 *
 * A client connects as "data/DEVICE" (this device's number) and sends frames without a body. Each
 * gets one frame as answer, in order:
 *
 *     MANIFEST   the packed manifest (data/manifest.h), made on a thread when the first client
 *                asks; or a `refuse` with the reason
 *     NETWORK    the skeleton of the job's network (onnx/network.h); likewise
 *     BLOCK      its body; empty if this device lacks it. step: the block's number, returned in
 *                the answer; bucket: the file; view: its first byte / 4096; hop + 65536 *
 *                attempt: its bytes
 *
 * Threads: see each function; "loop only" as in net/loop.h.
 */
#ifndef SHOAL_NODE_SUPPLY_H
#define SHOAL_NODE_SUPPLY_H

#include "data/manifest.h"
#include "net/channel.h"
#include "node/protocol/orders.h"
#include "onnx/network.h"

#define SH_SUPPLY_CLIENTS_MAX 64 /* at a time */
#define SH_SUPPLY_ASKED_MAX 64   /* outstanding blocks per client */

typedef struct sh_supply sh_supply;

typedef struct sh_supply_options {
    sh_loop *loop;
    const sh_dataset *dataset; /* borrowed until sh_supply_free */
    const sh_network *network; /* likewise; NULL for a built-in model */
    uint32_t device;
    bool vouches; /* also serves the manifest, as the coordinator does */
} sh_supply_options;

/* Converts a block to the fields of a frame without a body, and back. */
sh_frame sh_block_frame(uint32_t number, const sh_block *block);
sh_block sh_block_of_frame(const sh_frame *head);

/* Any thread. */
sh_status sh_supply_new(sh_supply **supply, const sh_supply_options *options) SHOAL_CHECKED;

/* Takes over a channel whose identity asks for data; false: it does not, or there are too many
 * clients, or `supply` is NULL. The caller's listener allows that identity. Loop only. */
bool sh_supply_accept(sh_supply *supply, sh_channel *channel, const char *identity);

/* Zero for NULL. Loop only. */
sh_channel_stats sh_supply_stats(const sh_supply *supply);

/* NULL is allowed. Loop only. */
void sh_supply_close(sh_supply *supply);

/* After sh_supply_close: waits for the manifest's thread. Any thread except the loop's. */
void sh_supply_free(sh_supply *supply);

#endif
