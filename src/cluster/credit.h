/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much is believed of the speed that a device claims. What is known of it is the share that it
 * brings in time, beside device 0's share and speed, which are measured here. Beyond that there is
 * hope: one that waits for the others may be faster than it can show. So it is believed up to
 * SH_CREDIT_HOPE times that, and gets the grains to prove it. If steps then take longer than all
 * claims explain, it is believed no more than what arrived, for SH_CREDIT_MEMORY steps.
 *
 *     sh_credit_judge(&credit, credits, shares, speeds, seats, steps); // now and then
 *     rate = sh_credit_rate(&one->credit, one->notice.speed.rate, steps);
 *
 * There is no clock in it; nothing of it reaches the weights. Threads: caller locks; values.
 */
#ifndef SHOAL_CLUSTER_CREDIT_H
#define SHOAL_CLUSTER_CREDIT_H

#include "train/pace.h"
#include "train/schedule.h"

#define SH_CREDIT_HOPE 4.0   /* times what is known */
#define SH_CREDIT_MEMORY 512 /* steps until a broken promise is forgotten */
#define SH_CREDIT_STEPS 6    /* of a view before it is judged, and between two judgements */

/* Of a device. Zeroed to begin with. */
typedef struct sh_credit {
    double shown;   /* grains/s; 0: nothing is known, so no claim is believed */
    double most;    /* likewise, while shares matter little in a step; 0: any */
    uint32_t share; /* grains with which it was judged last */
    uint64_t until; /* steps: doubted before this many */
} sh_credit;

/* Of the job: the part of a step that no share explains, as the network's; the least of late. */
typedef struct sh_credit_steps {
    bool known;
    double rest_s;
} sh_credit_steps;

/*
 * Judges the seats of a view that has made SH_CREDIT_STEPS steps or more, `steps` in all. Seat 0 is
 * device 0; without its speed nothing is judged. Returns the seat that is doubted from now on; 0:
 * none.
 */
uint32_t sh_credit_judge(sh_credit_steps *all, sh_credit *const *credits, const sh_range *shares,
                         const sh_speed *speeds, uint32_t seats, uint64_t steps);

/* What is believed of a claimed rate; 0: unknown. */
float sh_credit_rate(const sh_credit *credit, float claimed, uint64_t steps);

#endif
