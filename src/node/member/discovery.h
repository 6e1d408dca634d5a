/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks devices which one coordinates the job, all at once and for a limited time. A coordinator
 * answers with its proof, another device with the coordinator's address. A coordinator that asks
 * says so: a device that has lost its coordinator may connect to it.
 *
 *     SH_TRY(sh_discovery_start(&discovery, &options));
 *     ... on_done(context, answers), once ...
 *     sh_discovery_stop(discovery);
 *
 * Threads: loop only.
 */
#ifndef SHOAL_NODE_DISCOVERY_H
#define SHOAL_NODE_DISCOVERY_H

#include "net/loop.h"
#include "node/member/failover_state.h"
#include "node/protocol/claims.h"

#define SH_DISCOVERY_ENDPOINTS_MAX (SH_SUCCESSORS_MAX + 1 + SH_ENDPOINTS_MAX + SH_TOKEN_ADDRESSES)
#define SH_DISCOVERY_PATIENCE_MS 400
#define SH_DISCOVERY_OTHERS_MS 100

typedef struct sh_discovery sh_discovery;

/* The answers, by endpoint. */
typedef struct sh_discovery_answers {
    uint32_t count;
    sh_successor_answer words[SH_DISCOVERY_ENDPOINTS_MAX];
    sh_claimed claimed[SH_DISCOVERY_ENDPOINTS_MAX];  /* if it leads */
    sh_endpoint address[SH_DISCOVERY_ENDPOINTS_MAX]; /* to its coordinator, if it follows */
} sh_discovery_answers;

typedef struct sh_discovery_options {
    sh_loop *loop;
    const sh_token *token;        /* admits to the endpoints; borrowed for sh_discovery_start */
    const sh_endpoint *endpoints; /* copied; an endpoint without a port counts as silent */
    uint32_t count;               /* at most SH_DISCOVERY_ENDPOINTS_MAX */
    uint32_t patience_ms;         /* 0: SH_DISCOVERY_PATIENCE_MS */
    bool first;                   /* done as soon as one leads */
    uint32_t awaited; /* only these first ones have all the time; once they have answered, the
                       * others have SH_DISCOVERY_OTHERS_MS. 0: all have it */
    /* Where the caller listens, if it coordinates the job (host "": at all its addresses), and its
     * term. Port 0: it does not coordinate. */
    sh_endpoint leads_at;
    uint32_t term;
    /* All have answered or time is up. Called once; `answers` is borrowed until on_done returns. */
    void (*on_done)(void *context, const sh_discovery_answers *answers);
    void *context;
} sh_discovery_options;

/* False: the sender does not know it; `*address` is unchanged. */
bool sh_discovery_read_address(sh_endpoint *address, const Shoal__Whereabouts *body);

/* `*discovery` is owned: sh_discovery_stop, also after on_done but not inside it. */
sh_status sh_discovery_start(sh_discovery **discovery,
                             const sh_discovery_options *options) SHOAL_CHECKED;

/* Ends calls of on_done. NULL is allowed. */
void sh_discovery_stop(sh_discovery *discovery);

/* Waits for the answers. After a failure, all endpoints count as silent. Any thread except the
 * loop's. */
void sh_discovery_ask(sh_discovery_answers *answers, const sh_discovery_options *options);

/* Chooses among the addresses of a token by asking all at once: one at which the coordinator
 * answers, else one at which another device does, else the first. Takes seconds. Any thread except
 * the loop's. */
void sh_discovery_find(sh_endpoint *endpoint, sh_loop *loop, const sh_token *token);

#endif
