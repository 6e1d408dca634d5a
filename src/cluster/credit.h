/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how much of a device's claimed speed is believed. Its known speed follows from the share
 * that it delivers in time and from device 0's share and speed, which are measured here. A device
 * that waits for others may be faster, so its claim is believed up to SH_CREDIT_HOPE times the
 * known speed, and it receives the grains to prove it. If steps then take longer than the claims
 * explain, only the delivered speed is believed for SH_CREDIT_MEMORY steps.
 *
 *     sh_credit_judge(&credit, credits, shares, speeds, seats, steps); // from time to time
 *     rate = sh_credit_rate(&one->credit, one->notice.speed.rate, steps);
 *
 * Threads: caller locks; values.
 */
#ifndef SHOAL_CLUSTER_CREDIT_H
#define SHOAL_CLUSTER_CREDIT_H

#include "train/pace.h"
#include "train/schedule.h"

#define SH_CREDIT_HOPE 4.0   /* times the known speed */
#define SH_CREDIT_MEMORY 512 /* steps until a refuted claim is forgotten */
#define SH_CREDIT_STEPS 6    /* of a view before each judgement */

/* Per device; all zero at first. */
typedef struct sh_credit {
    double shown;   /* grains/s; 0: unknown, so no claim is believed */
    double most;    /* likewise, while shares hardly affect a step; 0: no limit */
    uint32_t share; /* grains at the last judgement */
    uint64_t until; /* doubted before this step */
} sh_credit;

/* Per job; all zero at first. */
typedef struct sh_credit_steps {
    bool known;
    double rest_s; /* recent minimum of the part of a step that shares do not explain */
} sh_credit_steps;

/*
 * Judges the seats of a view after at least SH_CREDIT_STEPS steps; `steps` is the job's total. Seat
 * 0 is device 0; without its speed nothing is judged. Returns the seat whose claim is refuted now,
 * or 0.
 */
uint32_t sh_credit_judge(sh_credit_steps *all, sh_credit *const *credits, const sh_range *shares,
                         const sh_speed *speeds, uint32_t seats, uint64_t steps);

/* The believed part of a claim; 0: unknown. */
float sh_credit_rate(const sh_credit *credit, float claimed, uint64_t steps);

#endif
