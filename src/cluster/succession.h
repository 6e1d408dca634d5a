/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who goes on where the coordinator is lost. The devices of a job know their order, the *heirs*:
 * the first one that is left becomes the coordinator, the others join it. A device that has lost
 * the coordinator asks all heirs and the coordinator's own door, again and again, and decides by
 * what they answer. Nobody votes: all replicas are the same, so two coordinators compute the same,
 * and where they meet the one behind follows (sh_succession_is_behind).
 *
 *     choice = sh_succession_choose(&whom, &succession, answers, now_ms);
 *     if (choice == SH_SUCCESSION_FOLLOW)
 *         join(doors[whom]);
 *
 * Threads: any; pure functions.
 */
#ifndef SHOAL_CLUSTER_SUCCESSION_H
#define SHOAL_CLUSTER_SUCCESSION_H

#include <stdbool.h>
#include <stdint.h>

#define SH_HEIRS_MAX 16
#define SH_SUCCESSION_ALIVE_MS 1000  /* who heard of the coordinator since then has it still */
#define SH_SUCCESSION_SILENT_MS 1000 /* an earlier heir that is silent is waited for so long, */
#define SH_SUCCESSION_SLOW_MS 4000   /* and one that has lost the coordinator too, so long */

typedef enum sh_heir_word {
    SH_HEIR_SILENT,  /* cannot be reached, or did not answer */
    SH_HEIR_FOLLOWS, /* another coordinator, or the one that this device has lost */
    SH_HEIR_LOST,    /* it has lost its coordinator too */
    SH_HEIR_LEADS,   /* it is the coordinator, and has proved that it may be */
} sh_heir_word;

/* What is known of a device that was asked. */
typedef struct sh_heir_answer {
    sh_heir_word word;
    uint32_t term;     /* of it, or of its coordinator */
    uint32_t heard_ms; /* FOLLOWS: since it heard of its coordinator */
    bool able;         /* LOST: it could go on as the coordinator */
    uint64_t steps;    /* LEADS: that its replica stands after */
} sh_heir_answer;

typedef struct sh_succession {
    uint32_t term;    /* of the coordinator that was lost */
    uint32_t heirs;   /* how many there are */
    uint32_t own;     /* this device's place among them; `heirs`: not an heir, or cannot lead */
    uint32_t devices; /* of the last view, with the lost one */
    bool majority;    /* of them must be left: the strategy's weights depend on who takes part */
    uint64_t lost_ms; /* when this device lost the coordinator */
} sh_succession;

typedef enum sh_succession_choice {
    SH_SUCCESSION_ASK,    /* nothing is clear yet: ask again */
    SH_SUCCESSION_FOLLOW, /* join at the door `whom` */
    SH_SUCCESSION_LEAD,   /* go on as the coordinator, of the next term */
} sh_succession_choice;

/* `answers`: of each heir, by its place, then of the coordinator's own door: heirs + 1 in all. What
 * stands in this device's own place does not count. *whom is set for FOLLOW. */
sh_succession_choice sh_succession_choose(uint32_t *whom, const sh_succession *succession,
                                          const sh_heir_answer *answers, uint64_t now_ms);

/* Whether a coordinator of this term and this many steps is to follow another one, whose answer
 * says LEADS: the higher term goes on; of one term, the one with more steps; of equals, the one
 * whose key is lower. `lower`: this one's key is. */
bool sh_succession_is_behind(uint32_t term, uint64_t steps, bool lower,
                             const sh_heir_answer *other);

#endif
