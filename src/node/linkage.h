/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which links the devices of a view add up: a ring, or servers where some seats serve.
 *
 *     SH_TRY(sh_linkage_new(&linkage, &options));
 *     SH_TRY(sh_linkage_connect(&linkage, rank, &target));
 *     ... sh_linkage_engine(&linkage) ...
 *     sh_engine_close(sh_linkage_engine(&linkage));
 *
 * Threads: each function says. "Loop only" as in net/loop.h.
 */
#ifndef SHOAL_NODE_LINKAGE_H
#define SHOAL_NODE_LINKAGE_H

#include "cluster/directive.h"
#include "reduce/ring.h"
#include "reduce/servers.h"

/* One of them; both NULL before. Owned: close the engine. */
typedef struct sh_linkage {
    uint32_t rank, devices;
    sh_ring *ring;
    sh_servers *servers;
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, uint32_t rank);
    void *context;
} sh_linkage;

typedef struct sh_linkage_options {
    sh_loop *loop;                 /* borrowed until the engine is closed */
    const sh_directive *directive; /* of several seats; read at once */
    uint32_t rank;
    /* Loop only. All links are up; the link with a rank broke or did not come about. */
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, uint32_t rank);
    void *context; /* borrowed until the engine is closed */
} sh_linkage_options;

/* Without links. `linkage` is borrowed until the engine is closed. Any thread. */
sh_status sh_linkage_new(sh_linkage *linkage, const sh_linkage_options *options) SHOAL_CHECKED;

/* Lives as long as the linkage. Any thread. */
sh_engine *sh_linkage_engine(const sh_linkage *linkage);

/* Links to a rank, as sh_directive_links has it. Loop only. */
sh_status sh_linkage_connect(const sh_linkage *linkage, uint32_t rank,
                             const sh_channel_target *target) SHOAL_CHECKED;

/* Takes the channel that a rank has opened to us. SH_REFUSED: there is one. Loop only. */
sh_status sh_linkage_take(const sh_linkage *linkage, uint32_t rank,
                          sh_channel *channel) SHOAL_CHECKED;

/* Ends the open round, and all later ones, with this failure. Any thread. */
void sh_linkage_abort(const sh_linkage *linkage, sh_status status, const char *reason);

/* Bytes on the wire of all links. Any thread. */
sh_channel_stats sh_linkage_stats(const sh_linkage *linkage);

#endif
