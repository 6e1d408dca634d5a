/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when new shares pay: accumulates the loss of the current shares beyond noise, and changes
 * them once it reaches the cost of a change. The cost is then about twice that with knowledge of
 * the future (the ski-rental problem: Karlin et al., "Competitive snoopy caching", 1988). Noise
 * does not add up (Page, "Continuous inspection schemes", 1954).
 *
 *     if (sh_balance_assess(&balance, shares, speeds, seats, grains, steps, reason, sizeof reason))
 *         ... a view with the shares of sh_shares_deal ...
 *
 * Time is counted in steps.
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_BALANCE_H
#define SHOAL_CLUSTER_BALANCE_H

#include "plan/shares.h"
#include "train/pace.h"

#define SH_BALANCE_GAIN 0.01    /* of a step's time: smaller gains are ignored */
#define SH_BALANCE_PRICE 0.75   /* of a change, in steps */
#define SH_BALANCE_PRICE_MAX 24 /* after many short-lived changes */
#define SH_BALANCE_TRIAL 10     /* steps before a change is assessed */
#define SH_BALANCE_MEMORY 512   /* steps that halve mistrust */
#define SH_BALANCE_CALM 128     /* steps without a change that halve the price */

/* All zero at first; one per job. */
typedef struct sh_balance {
    bool spare;                  /* see sh_shares_deal */
    double price;                /* in steps; 0: SH_BALANCE_PRICE */
    double mistrust;             /* part of a step by which a change missed its prediction */
    double lost;                 /* steps, by suboptimal shares */
    uint64_t assessed;           /* steps, at the last assessment */
    uint64_t changed;            /* step of the last change or fall of the price; 0: long ago */
    double before_s, promised_s; /* a step then, and as predicted; 0: assessed */
    uint32_t last;               /* the seat for which the others waited before a change */
} sh_balance;

/*
 * Whether to change to the shares of sh_shares_deal after `steps`; assessed at most once per step.
 * The required gain is the largest of SH_BALANCE_GAIN of the step, the errors of the rates, and
 * twice the amount by which an earlier change missed its prediction if it missed more than half.
 * Nothing accumulates while a seat with grains has no known rate. The price doubles with a change
 * within SH_BALANCE_CALM steps of another. On true `reason` says why.
 */
bool sh_balance_assess(sh_balance *balance, const sh_range *shares, const sh_speed *speeds,
                       uint32_t seats, uint32_t grains, uint64_t steps, char *reason,
                       size_t reason_bytes);

/* Discards accumulated loss and prediction: the view has other devices, or follows a halt. */
void sh_balance_restart(sh_balance *balance);

#endif
