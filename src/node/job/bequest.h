/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that another device coordinate, as it comes and is answered by files in the run's
 * folder: its owner alone can write there.
 *
 *     if (sh_bequest_take(&bequest, run, now_ns))        // in the coordinator, now and then
 *         sh_bequest_answer(&bequest, status == SH_OK, text);
 *
 * The other side is sh_hand_over (shoal/hand_over.h). Threads: the step's.
 */
#ifndef SHOAL_NODE_JOB_BEQUEST_H
#define SHOAL_NODE_JOB_BEQUEST_H

#include "shoal/train.h"
#include "store/run.h"

/* Zeroed to begin with. */
typedef struct sh_bequest {
    const sh_run *run;        /* of the request at hand; borrowed */
    uint64_t looked_ns;       /* when last */
    char name[SH_NAME_BYTES]; /* of the device that is to coordinate; "": any */
} sh_bequest;

/* Takes a request, if one has come; looks for it a few times a second. */
bool sh_bequest_take(sh_bequest *bequest, const sh_run *run, uint64_t now_ns);

/* `text`: who coordinates from now on, or why nobody else does. */
void sh_bequest_answer(const sh_bequest *bequest, bool good, const char *text);

#endif
