/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides who replaces a lost coordinator. Devices know their order as *successors*: the first
 * remaining one becomes the coordinator, and the others join it. A device that lost the coordinator
 * asks all successors and the coordinator's own address repeatedly. There is no vote: all replicas
 * are equal, so two coordinators compute the same, and when they meet, the one behind follows.
 *
 *     choice = sh_succession_choose(&whom, &succession, answers, now_ms);
 *     if (choice == SH_SUCCESSION_FOLLOW)
 *         join(endpoints[whom]);
 *
 * Threads: any; pure functions.
 */
#ifndef SHOAL_CLUSTER_SUCCESSION_H
#define SHOAL_CLUSTER_SUCCESSION_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SUCCESSORS_MAX 16
#define SH_SUCCESSION_ALIVE_MS 1000  /* who heard from its coordinator within this still has it */
#define SH_SUCCESSION_SILENT_MS 1000 /* to wait for a silent earlier successor, */
#define SH_SUCCESSION_SLOW_MS 4000   /* and for one that answers and may lead; */
#define SH_SUCCESSION_NEXT_MS 1000   /* so much longer for each successor between it and this one */

typedef enum sh_successor_state {
    SH_SUCCESSOR_SILENT,  /* cannot be reached, or did not answer */
    SH_SUCCESSOR_FOLLOWS, /* another coordinator, or the one that this device lost */
    SH_SUCCESSOR_LOST,    /* it lost its coordinator too */
    SH_SUCCESSOR_LEADS,   /* it is the coordinator, and proved its right */
} sh_successor_state;

typedef struct sh_successor_answer {
    sh_successor_state word;
    uint32_t term;     /* its own, or its coordinator's */
    uint32_t heard_ms; /* FOLLOWS: time since it heard from its coordinator */
    bool able;         /* LOST: it could become the coordinator */
    uint64_t steps;    /* LEADS: applied to its replica */
} sh_successor_answer;

typedef struct sh_succession {
    uint32_t term; /* of the lost coordinator */
    uint32_t successors;
    uint32_t others;  /* number of other addresses where a device of the job may listen */
    uint32_t own;     /* this device's place; `successors`: not a successor, or cannot lead */
    uint32_t devices; /* of the last view, including the lost one */
    bool majority;    /* of them must remain: the weights depend on who takes part */
    uint64_t lost_ms;
} sh_succession;

typedef enum sh_succession_choice {
    SH_SUCCESSION_ASK, /* nothing is clear yet */
    SH_SUCCESSION_FOLLOW,
    SH_SUCCESSION_LEAD, /* become the coordinator of the next term */
} sh_succession_choice;

/* `answers`: of each successor, by its place, then of the coordinator's own address, then of other
 * addresses: successors + 1 + others in all. This device's own is ignored. FOLLOW sets *whom, an
 * index of `answers`. */
sh_succession_choice sh_succession_choose(uint32_t *whom, const sh_succession *succession,
                                          const sh_successor_answer *answers, uint64_t now_ms);

/* Whether a coordinator with this term and these steps must follow `other`, which LEADS. The higher
 * term wins, then more steps, then the lower key. `lower`: this one has it. */
bool sh_succession_is_behind(uint32_t term, uint64_t steps, bool lower,
                             const sh_successor_answer *other);

#endif
