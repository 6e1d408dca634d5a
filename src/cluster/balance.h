/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When new shares pay: what the present shares lose beyond noise is added up, and they change once
 * that is what a change costs. The cost is then about twice that with knowledge of the future (the
 * ski-rental problem: Karlin et al., "Competitive snoopy caching", 1988), and noise, which is won
 * back as often as it is lost, does not add up (Page, "Continuous inspection schemes", 1954).
 *
 *     if (sh_balance_assess(&balance, shares, speeds, seats, grains, steps, reason, sizeof reason))
 *         ... a view with the shares of sh_shares_deal ...
 *
 * There is no clock in it: time is counted in steps. Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_BALANCE_H
#define SHOAL_CLUSTER_BALANCE_H

#include "plan/shares.h"
#include "train/pace.h"

#define SH_BALANCE_GAIN 0.01    /* of a step's time: less is not looked at */
#define SH_BALANCE_PRICE 0.75   /* of a change, in steps */
#define SH_BALANCE_PRICE_MAX 24 /* after many that were not good for long */
#define SH_BALANCE_TRIAL 10     /* steps after which a change is judged */
#define SH_BALANCE_MEMORY 512   /* steps that halve mistrust */
#define SH_BALANCE_CALM 128     /* steps without a change that halve the price */

/* Zeroed to begin with; lives as long as the job. */
typedef struct sh_balance {
    bool spare;        /* as sh_shares_deal has it */
    double price;      /* of the next change, in steps; 0: SH_BALANCE_PRICE */
    double mistrust;   /* of a step: what a change was short of its promise */
    double lost;       /* steps, by shares that are not the best; 0 or more */
    uint64_t assessed; /* steps applied when it was assessed last */
    uint64_t changed;  /* when it last asked for a change, or the price fell; 0: long ago */
    double before_s, promised_s; /* a step before that change, and after it; 0: is judged */
    uint32_t last;               /* of a change: the seat that the others wait for */
} sh_balance;

/*
 * Whether to change to the shares of sh_shares_deal, after `steps`; assessed once a step at most. A
 * gain must be SH_BALANCE_GAIN of the step, exceed the rates' errors, and be twice what an earlier
 * change lacked of its promise, if that was more than half. What exceeds this need is added to what
 * is lost, what falls short is taken off; a gain of twice the need is added in full. Nothing is
 * lost while a seat with grains has no known rate. The price doubles with a change within
 * SH_BALANCE_CALM steps of another, and halves after as many steps without one. On true `reason`
 * says why.
 */
bool sh_balance_assess(sh_balance *balance, const sh_range *shares, const sh_speed *speeds,
                       uint32_t seats, uint32_t grains, uint64_t steps, char *reason,
                       size_t reason_bytes);

/* The view has other devices, or follows a halt: what was lost and promised before does not count.
 */
void sh_balance_restart(sh_balance *balance);

#endif
