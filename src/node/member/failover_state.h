/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device knows about its job when it loses the coordinator: enough to find its successor or
 * to become it (cluster/succession.h). The owner wipes it with sh_key_wipe.
 *
 *     sh_member_failover_state(member, &failover);
 *     ... ask the endpoints of failover.successors (node/member/discovery.h) ...
 *     sh_key_wipe(&failover, sizeof failover);
 *
 * Threads: a value.
 */
#ifndef SHOAL_NODE_FAILOVER_STATE_H
#define SHOAL_NODE_FAILOVER_STATE_H

#include "cluster/succession.h"
#include "net/leader.h"
#include "net/token.h"
#include "node/member/endpoints.h"

typedef struct sh_failover_state {
    sh_token token; /* with the coordinator's address alone */
    uint32_t term;  /* of the coordinator */
    uint32_t device;
    uint32_t devices; /* in the last view, with the coordinator */
    uint32_t used;    /* devices that may compute (cluster/standby.h) */
    float audit;      /* per cent of their shares: --audit */
    uint32_t successor_count;
    sh_endpoint successors[SH_SUCCESSORS_MAX];
    sh_endpoints known;              /* of other devices, now or before */
    sh_endpoint own;                 /* port 0: none */
    unsigned char key[SH_KEY_BYTES]; /* secret */
    sh_leader_chain chain;           /* warrants of `key`; empty: it may not lead */
} sh_failover_state;

#endif
