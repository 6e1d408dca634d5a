/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the membership knows of devices that are wrong: the halt at hand, who is suspected, who was
 * put out. membership_halt and membership_numbers judge by it, membership_losses remembers.
 *
 *     sh_faults *faults = &membership->faults;
 *
 * Threads: as membership.h; a value, zeroed to begin with.
 */
#ifndef SHOAL_CLUSTER_FAULTS_H
#define SHOAL_CLUSTER_FAULTS_H

#include "base/position.h"
#include "cluster/membership.h"
#include "cluster/repairs.h"

#define SH_FAULTS_OUTCASTS 8 /* that are remembered */

/* What a halt finds. */
typedef enum sh_finding {
    SH_FINDING_NOBODY, /* nobody has to go */
    SH_FINDING_OUT,    /* somebody was put out: judge the others anew */
    SH_FINDING_END,    /* the job has ended */
} sh_finding;

/* A device that was put out. No name: none. */
typedef struct sh_outcast {
    char name[SH_MEMBERSHIP_TEXT];
    bool guilty; /* refused; else it gets in, and is put out again at its first fault */
} sh_outcast;

typedef struct sh_faults {
    bool differed;           /* the halt at hand is for checks that did not agree */
    sh_position differed_at; /* of this stage */
    bool unsound;            /* likewise, for numbers that are not finite */
    bool afresh;             /* the stage begins anew: sums with a wrong word are no good */

    /* One device alone had numbers that are not finite: others compute its grains of this stage. */
    bool suspecting;
    uint32_t suspected;
    sh_position suspected_at;

    sh_repairs unexplained;           /* halts for checks that found nobody to be wrong */
    char suspect[SH_MEMBERSHIP_TEXT]; /* is tried without since; "": nobody */

    uint32_t outcast_count; /* ever */
    sh_outcast outcasts[SH_FAULTS_OUTCASTS];
} sh_faults;

#endif
