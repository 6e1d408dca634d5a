/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to make another device the coordinator, through files in the run's folder, where only
 * its owner can write.
 *
 *     if (sh_bequest_take(&bequest, run, now_ns))        // in the coordinator, regularly
 *         sh_bequest_answer(&bequest, status == SH_OK, text);
 *
 * The other side is sh_hand_over (shoal/hand_over.h). Threads: the step's thread.
 */
#ifndef SHOAL_NODE_JOB_BEQUEST_H
#define SHOAL_NODE_JOB_BEQUEST_H

#include "shoal/train.h"
#include "store/run.h"

/* Initially zero. */
typedef struct sh_bequest {
    const sh_run *run;        /* with the current request; borrowed */
    uint64_t looked_ns;       /* last check */
    char name[SH_NAME_BYTES]; /* of the new coordinator; "": any */
} sh_bequest;

/* Takes a request; false: none. Checks a few times per second. */
bool sh_bequest_take(sh_bequest *bequest, const sh_run *run, uint64_t now_ns);

/* `text`: the new coordinator's name, or the reason for refusing. */
void sh_bequest_answer(const sh_bequest *bequest, bool good, const char *text);

#endif
