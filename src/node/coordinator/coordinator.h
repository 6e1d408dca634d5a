/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinator's connections: the listener for devices, a control channel to each, and the
 * membership, which decides and whose actions it carries out.
 *
 *     SH_TRY(sh_coordinator_open(&coordinator, &options));
 *     print(sh_coordinator_invitation(coordinator)->text);
 *     sh_coordinator_ready(coordinator);          // device 0, which is this process, is prepared
 *     ... the step's thread works on the tasks of sh_coordinator_agent until END arrives ...
 *     sh_coordinator_close(coordinator);
 *
 * Threads: one caller, not on the loop's thread, which does the work.
 */
#ifndef SHOAL_NODE_COORDINATOR_H
#define SHOAL_NODE_COORDINATOR_H

#include "cluster/serving.h"
#include "node/coordinator/invitation.h"
#include "node/member/agent.h"
#include "node/member/endpoints.h"
#include "node/member/failover_state.h"
#include "node/protocol/mailbox.h"
#include "node/record/run_journal.h"
#include "shoal/train.h"
#include "train/traffic.h"

typedef struct sh_coordinator_options {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_session *session; /* of device 0, which is this process; its replica is whole */
    const char *name;
    const char *first_grain; /* this device's hash of its first grain */
    uint32_t min_devices;
    uint32_t gather_ms;                /* see sh_membership_options */
    const sh_failover_state *failover; /* of the job to continue; NULL: a new job */
    const sh_endpoints *known;         /* of devices before a restart; NULL: none */
    sh_serving serving;
    sh_traffic traffic;
    uint32_t used;          /* see sh_membership_options */
    double audit;           /* likewise */
    const char *listen;     /* "[ADDRESS]:PORT"; NULL: a free port of the loopback */
    const char *token_file; /* keeps the token for a restart; may be NULL */
    const sh_clock *clock;
    sh_run_journal *journal; /* may be NULL */
} sh_coordinator_options;

typedef struct sh_coordinator sh_coordinator;

/* Starts to listen. The pointers in `options` are borrowed until sh_coordinator_close. */
sh_status sh_coordinator_open(sh_coordinator **coordinator,
                              const sh_coordinator_options *options) SHOAL_CHECKED;

/* Borrowed until close. */
const sh_invitation *sh_coordinator_invitation(const sh_coordinator *coordinator);

/* Device 0 is ready to compute. */
void sh_coordinator_ready(sh_coordinator *coordinator);

/* The agent of device 0; borrowed until close. */
sh_agent *sh_coordinator_agent(const sh_coordinator *coordinator);

/* Implements `announce` of train/trainer.h for device 0: the view of the next stage, and whether
 * this step is audited. */
bool sh_coordinator_announce(sh_coordinator *coordinator, bool last, uint64_t *word);

/* Device 0 enters `view` with `step`: for audits and the journal. */
void sh_coordinator_enter(sh_coordinator *coordinator, uint32_t view, uint64_t step);

/* The number of changes of the known endpoints, and the endpoints. */
uint32_t sh_coordinator_endpoint_changes(const sh_coordinator *coordinator);
void sh_coordinator_endpoints(sh_coordinator *coordinator, sh_endpoints *endpoints);

/* Hands the coordinator's role to the device `name`, or to the first successor if `name` is "".
 * Notifies all devices, posts SH_MAIL_MOVED and sets `receiver` to the new coordinator's name.
 * SH_REFUSED: no device, or not this one, can take the role; the message lists those that can. */
sh_status sh_coordinator_hand_over(sh_coordinator *coordinator, const char *name,
                                   char receiver[SH_NAME_BYTES]) SHOAL_CHECKED;

/* Ends the job with a failure and tells all devices the reason. */
void sh_coordinator_fail(sh_coordinator *coordinator, const char *reason);

/* The reports of all devices that ever took part, in order of joining. `reports` is owned:
 * free(). */
sh_status sh_coordinator_reports(sh_coordinator *coordinator, sh_device_report **reports,
                                 size_t *count) SHOAL_CHECKED;

/* Sends what is queued and closes all connections. NULL is allowed. */
void sh_coordinator_close(sh_coordinator *coordinator);

#endif
