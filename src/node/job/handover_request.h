/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to make another device the coordinator, through files in the run's folder, where only
 * its owner can write. The other side is sh_hand_over.
 *
 *     if (sh_handover_request_take(&handover, run, now_ns))        // in the coordinator, regularly
 *         sh_handover_request_answer(&handover, status == SH_OK, text);
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_JOB_HANDOVER_REQUEST_H
#define SHOAL_NODE_JOB_HANDOVER_REQUEST_H

#include "shoal/train.h"
#include "store/run.h"

/* Initially zero. */
typedef struct sh_handover_request {
    const sh_run *run; /* with the current request; borrowed */
    uint64_t looked_ns;
    char name[SH_NAME_BYTES]; /* the new coordinator; "": any */
} sh_handover_request;

/* False: no request. Looks only a few times per second, however often it is called. */
bool sh_handover_request_take(sh_handover_request *handover, const sh_run *run, uint64_t now_ns);

/* `text`: the new coordinator's name, or the reason for refusing. */
void sh_handover_request_answer(const sh_handover_request *handover, bool good, const char *text);

#endif
