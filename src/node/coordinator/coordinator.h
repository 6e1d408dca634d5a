/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinator's connections: the door that devices come in by, a control channel to each, and
 * the cluster's membership, whose actions it carries out. It decides nothing itself.
 *
 *     SH_TRY(sh_coordinator_open(&coordinator, &options));
 *     print(sh_coordinator_invitation(coordinator)->text);
 *     sh_coordinator_ready(coordinator);          // device 0, which is this process, is prepared
 *     ... the step's thread does what sh_coordinator_agent says, until the mailbox gets END ...
 *     sh_coordinator_close(coordinator);
 *
 * Threads: one caller, not the loop's. Inside, everything happens on the loop's thread.
 */
#ifndef SHOAL_NODE_COORDINATOR_H
#define SHOAL_NODE_COORDINATOR_H

#include "cluster/serving.h"
#include "node/coordinator/doors.h"
#include "node/coordinator/invitation.h"
#include "node/mail/mailbox.h"
#include "node/member/agent.h"
#include "node/member/legacy.h"
#include "node/record/run_journal.h"
#include "shoal/train.h"
#include "train/traffic.h"

typedef struct sh_coordinator_options {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_workbench *bench;     /* of device 0; its replica is whole */
    const char *name;        /* of this device */
    const char *first_grain; /* this device's hash of it */
    uint32_t min_devices;
    uint32_t gather_ms;      /* as sh_membership_options has it */
    const sh_legacy *legacy; /* of the coordinator whose job this one goes on with; NULL: of none */
    sh_serving serving;
    sh_traffic traffic; /* of the job */
    uint32_t used;      /* as sh_membership_options has it */
    const char *listen; /* "[ADDRESS]:PORT"; NULL: a free port of the loopback */
    const char
        *token_file; /* keeps the token for the coordinator's next life; NULL: nothing does */
    const sh_clock *clock;
    sh_run_journal *journal; /* NULL: nothing is recorded */
} sh_coordinator_options;

typedef struct sh_coordinator sh_coordinator;

/* Opens the door. The options' pointers are borrowed until sh_coordinator_close. */
sh_status sh_coordinator_open(sh_coordinator **coordinator,
                              const sh_coordinator_options *options) SHOAL_CHECKED;

/* The tokens; borrowed until close. */
const sh_invitation *sh_coordinator_invitation(const sh_coordinator *coordinator);

/* Device 0 is prepared. */
void sh_coordinator_ready(sh_coordinator *coordinator);

/* Device 0's place in the job; borrowed until close. */
sh_agent *sh_coordinator_agent(const sh_coordinator *coordinator);

/* The view that device 0 is to announce now, as sh_part.announce has it. */
bool sh_coordinator_announce(sh_coordinator *coordinator, bool last, uint64_t *view);

/* Device 0 enters a view with its next step, for the journal. */
void sh_coordinator_enter(sh_coordinator *coordinator, uint32_t view, uint64_t step);

/* How often the list of known doors has changed so far; and the list. */
uint32_t sh_coordinator_doors_changes(const sh_coordinator *coordinator);
void sh_coordinator_doors(sh_coordinator *coordinator, sh_doors *doors);

/* Another device is to coordinate: the one of this name, or the first that can if it is "". All
 * are told, and the mailbox gets SH_MAIL_MOVED. `receiver` gets its name. SH_REFUSED: nobody can,
 * or not this one; says who could. */
sh_status sh_coordinator_hand_over(sh_coordinator *coordinator, const char *name,
                                   char receiver[SH_NAME_BYTES]) SHOAL_CHECKED;

/* Gives up: tells all devices why. */
void sh_coordinator_fail(sh_coordinator *coordinator, const char *reason);

/* What each device that ever took part did, in the order of coming. `reports` is owned: free(). */
sh_status sh_coordinator_reports(sh_coordinator *coordinator, sh_device_report **reports,
                                 size_t *count) SHOAL_CHECKED;

/* Writes what is queued, closes everything and frees it. NULL is fine. */
void sh_coordinator_close(sh_coordinator *coordinator);

#endif
