/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_state.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define AVOID_MS 30000 /* how long a broken link is avoided */

void sh_membership_act(sh_membership *membership, sh_membership_action_kind kind, uint32_t device,
                       const char *format, ...)
{
    assert(membership->action_count < SH_MEMBERSHIP_ACTIONS_MAX);
    sh_membership_action *action = &membership->actions[membership->action_count++];
    *action = (sh_membership_action){.kind = kind, .device = device};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(action->text, sizeof action->text, format, arguments);
    va_end(arguments);
}

/* Drops a note if the queue is full; other actions always fit (SH_MEMBERSHIP_LOST_MAX). */
void sh_membership_note(sh_membership *membership, sh_news news, uint32_t device,
                        const char *format, ...)
{
    if (SH_MEMBERSHIP_ACTIONS_MAX - membership->action_count <= SH_MEMBERSHIP_LOST_MAX + 2)
        return;
    char text[2 * SH_MEMBERSHIP_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sh_membership_act(membership, SH_MEMBERSHIP_NOTE, device, "%s", text);
    membership->actions[membership->action_count - 1].news = news;
}

void sh_membership_mark_changed(sh_membership *membership, sh_roster_entry *one)
{
    one->serial = ++membership->serial;
    one->changed = true;
}

void sh_membership_mark_all_changed(sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->slots; i++)
        if (membership->members[i].present)
            sh_membership_mark_changed(membership, &membership->members[i]);
}

void sh_membership_end(sh_membership *membership, sh_status status, const char *text)
{
    if (membership->phase == SH_MEMBERSHIP_ENDED)
        return;
    membership->phase = SH_MEMBERSHIP_ENDED;
    if (membership->audit.part > 0)
        sh_membership_note(membership, SH_NEWS_AUDITED, SH_MEMBERSHIP_ALL,
                           "audit: %llu shares of %llu steps were computed again and found right, "
                           "%u devices were evicted",
                           (unsigned long long)membership->audit.shares,
                           (unsigned long long)membership->audit.steps, membership->audit.named);
    sh_membership_act(membership, SH_MEMBERSHIP_END, 0, "%s", text);
    membership->actions[membership->action_count - 1].status = status;
}

sh_roster_entry *sh_membership_find(const sh_membership *membership, uint32_t device)
{
    for (uint32_t i = 0; i < membership->slots; i++)
        if (membership->members[i].present && membership->members[i].device == device)
            return (sh_roster_entry *)&membership->members[i];
    return NULL;
}

sh_roster_entry *sh_membership_seated(const sh_membership *membership, const sh_seating *view,
                                      uint32_t seat)
{
    return sh_membership_find(membership, view->seats[seat].device);
}

sh_roster_entry *sh_membership_coordinator(const sh_membership *membership)
{
    return (sh_roster_entry *)&membership->members[0];
}

sh_speed sh_membership_speed(const sh_membership *membership, const sh_roster_entry *one)
{
    const uint64_t steps = sh_membership_coordinator(membership)->notice.position.steps;
    sh_speed speed = one->notice.speed;
    if (one->device != 0)
        speed.rate = sh_credit_rate(&one->credit, speed.rate, steps);
    return speed;
}

bool sh_membership_expects(const sh_membership *membership, uint32_t device)
{
    const sh_seating *next = &membership->next;
    return (membership->phase == SH_MEMBERSHIP_LINKING ||
            membership->phase == SH_MEMBERSHIP_COMMITTED ||
            membership->phase == SH_MEMBERSHIP_RECOVERING) &&
           sh_seat_of(next->seats, next->seat_count, device) != NULL;
}

bool sh_membership_is_broken(const sh_membership *membership, uint32_t one, uint32_t other)
{
    const uint32_t a = one < other ? one : other, b = one < other ? other : one;
    for (uint32_t i = 0; i < SH_MEMBERSHIP_PAIRS_MAX; i++) {
        const sh_broken_pair *pair = &membership->pairs[i];
        if (b != 0 && pair->a == a && pair->b == b &&
            membership->clock_ms - pair->broke_ms < AVOID_MS)
            return true;
    }
    return false;
}

bool sh_membership_works(const sh_membership *membership)
{
    return membership->phase >= SH_MEMBERSHIP_STEADY && membership->phase <= SH_MEMBERSHIP_ENTERING;
}

bool sh_membership_is_done(const sh_membership *membership)
{
    return sh_membership_coordinator(membership)->notice.life == SH_LIFE_FINISHED;
}

bool sh_membership_is_linked(const sh_membership *membership)
{
    const sh_seating *next = &membership->next;
    for (uint32_t i = 0; i < next->seat_count; i++)
        if (sh_membership_seated(membership, next, i)->notice.linked != next->number)
            return false;
    return true;
}

void sh_membership_interrupt_audit(sh_membership *membership)
{
    sh_membership_audit *audit = &membership->audit;
    const bool open = audit->stage > SH_AUDITING_NOTHING && audit->stage < SH_AUDITING_DONE;
    audit->due = audit->due || open;
    audit->stage = SH_AUDITING_NOTHING;
    audit->key = 0;
}
