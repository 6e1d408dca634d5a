/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device knows about its job when it loses the coordinator: enough to find its successor or
 * to become it (cluster/succession.h).
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
    sh_token token; /* of the job, with the coordinator's address alone */
    uint32_t term;  /* of the coordinator */
    uint32_t device;
    uint32_t devices; /* in the last view, including the coordinator */
    uint32_t used;    /* devices that may compute (cluster/standby.h) */
    float audit;      /* per cent of their shares: --audit */
    uint32_t successor_count;
    sh_endpoint successors[SH_SUCCESSORS_MAX];
    sh_endpoints known;              /* of other devices of the job, now or before */
    sh_endpoint own;                 /* this device's endpoint; port 0: none */
    unsigned char key[SH_KEY_BYTES]; /* this device's secret key */
    sh_leader_chain chain;           /* its warrants; empty: it may not lead */
} sh_failover_state;

#endif
