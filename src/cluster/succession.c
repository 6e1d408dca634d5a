/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/succession.h"

/* Highest term, then most steps. Only the lost coordinator, which may have another address now, has
 * the lost term. */
static bool find_leader(uint32_t *whom, const sh_succession *succession,
                        const sh_successor_answer *answers)
{
    bool found = false;
    for (uint32_t i = 0; i <= succession->successors + succession->others; i++) {
        const sh_successor_answer *one = &answers[i];
        const bool former = i >= succession->successors && one->term == succession->term;
        if (i == succession->own && i < succession->successors)
            continue;
        if (one->word != SH_SUCCESSOR_LEADS || (one->term <= succession->term && !former))
            continue;
        const sh_successor_answer *best = &answers[*whom];
        if (found &&
            (one->term < best->term || (one->term == best->term && one->steps <= best->steps)))
            continue;
        *whom = i;
        found = true;
    }
    return found;
}

static bool has_coordinator(const sh_successor_answer *one)
{
    return one->word == SH_SUCCESSOR_FOLLOWS && one->heard_ms < SH_SUCCESSION_ALIVE_MS;
}

/* Its coordinator has a later term and a known address. */
static bool find_follower(uint32_t *whom, const sh_succession *succession,
                          const sh_successor_answer *answers)
{
    for (uint32_t i = 0; i <= succession->successors + succession->others; i++) {
        if ((i == succession->own && i < succession->successors) || !has_coordinator(&answers[i]) ||
            answers[i].term <= succession->term)
            continue;
        *whom = i;
        return true;
    }
    return false;
}

static bool is_alive_elsewhere(const sh_succession *succession, const sh_successor_answer *answers)
{
    for (uint32_t i = 0; i < succession->successors; i++)
        if (i != succession->own && has_coordinator(&answers[i]) &&
            answers[i].term == succession->term)
            return true;
    return false;
}

/* Whether to wait for an earlier successor, with `between` others before this device. If it never
 * leads, the next one begins before those after it stop waiting. */
static bool comes_first(const sh_successor_answer *one, uint32_t between, uint64_t passed_ms)
{
    if (one->word == SH_SUCCESSOR_SILENT)
        return passed_ms < SH_SUCCESSION_SILENT_MS;
    return (one->able || one->word != SH_SUCCESSOR_LOST) &&
           passed_ms < SH_SUCCESSION_SLOW_MS + between * SH_SUCCESSION_NEXT_MS;
}

/* Whether this device and the successors that lost the same coordinator are a majority of the last
 * view. */
static bool has_majority(const sh_succession *succession, const sh_successor_answer *answers)
{
    uint32_t left = 1;
    for (uint32_t i = 0; i < succession->successors; i++)
        left += i != succession->own && answers[i].word == SH_SUCCESSOR_LOST &&
                answers[i].term == succession->term;
    return 2 * left > succession->devices;
}

sh_succession_choice sh_succession_choose(uint32_t *whom, const sh_succession *succession,
                                          const sh_successor_answer *answers, uint64_t now_ms)
{
    const uint64_t passed_ms = now_ms - succession->lost_ms;
    uint32_t found = 0;
    if (find_leader(&found, succession, answers) || find_follower(&found, succession, answers)) {
        *whom = found;
        return SH_SUCCESSION_FOLLOW;
    }
    if (succession->own >= succession->successors || is_alive_elsewhere(succession, answers))
        return SH_SUCCESSION_ASK;
    for (uint32_t i = 0; i < succession->own; i++)
        if (comes_first(&answers[i], succession->own - i - 1, passed_ms))
            return SH_SUCCESSION_ASK;
    if (succession->majority && !has_majority(succession, answers))
        return SH_SUCCESSION_ASK;
    return SH_SUCCESSION_LEAD;
}

bool sh_succession_is_behind(uint32_t term, uint64_t steps, bool lower,
                             const sh_successor_answer *other)
{
    if (other->term != term)
        return other->term > term;
    if (other->steps != steps)
        return other->steps > steps;
    return !lower;
}
