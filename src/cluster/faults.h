/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the membership knows about faulty devices: the current halt, the suspects, and the devices
 * that were evicted.
 *
 *     sh_faults *faults = &membership->faults;
 *
 * Threads: as membership.h; a value, all zero at first.
 */
#ifndef SHOAL_CLUSTER_FAULTS_H
#define SHOAL_CLUSTER_FAULTS_H

#include "base/position.h"
#include "cluster/membership.h"
#include "cluster/repairs.h"

#define SH_FAULTS_EVICTED 8

typedef enum sh_finding {
    SH_FINDING_NOBODY,
    SH_FINDING_OUT, /* a device was evicted: judge the others again */
    SH_FINDING_END,
} sh_finding;

typedef struct sh_evicted {
    char name[SH_MEMBERSHIP_TEXT]; /* "": none */
    bool guilty; /* refused when it returns; else evicted again at its first fault */
} sh_evicted;

typedef struct sh_faults {
    bool differed;           /* the current halt is for disagreeing checks */
    sh_position differed_at; /* of this stage */
    bool not_finite;         /* likewise, for non-finite numbers */
    bool not_added;          /* likewise, for a sum that is not what devices committed to */
    bool restart;            /* the stage restarts: its sums have a wrong word */

    /* Only this device had non-finite numbers: others compute its grains of this stage. */
    bool suspecting;
    uint32_t suspected;
    sh_position suspected_at;

    sh_repairs unexplained;           /* halts that found no faulty device */
    char suspect[SH_MEMBERSHIP_TEXT]; /* the device left out on trial, or "" */

    uint32_t evicted_count; /* ever: may exceed SH_FAULTS_EVICTED */
    sh_evicted evicted[SH_FAULTS_EVICTED];
} sh_faults;

#endif
