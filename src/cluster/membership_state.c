/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_state.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_MS 450
#define AVOID_MS 30000 /* a link that broke */
#define TICK_MS 100

/* A note that finds the queue full is dropped; nothing else ever does (SH_MEMBERSHIP_LOST_MAX). */
void sh_membership_act(sh_membership *membership, sh_membership_action_kind kind, uint32_t device,
                       const char *event, const char *format, ...)
{
    const uint32_t room = SH_MEMBERSHIP_ACTIONS_MAX - membership->action_count;
    if (kind == SH_MEMBERSHIP_NOTE && room <= SH_MEMBERSHIP_LOST_MAX + 2)
        return;
    assert(room > 0);
    sh_membership_action *action = &membership->actions[membership->action_count++];
    *action = (sh_membership_action){.kind = kind, .device = device, .event = event};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(action->text, sizeof action->text, format, arguments);
    va_end(arguments);
}

/* The directive of a member says something else now. */
void sh_membership_touch(sh_membership *membership, sh_roster_entry *one)
{
    one->serial = ++membership->serial;
    one->changed = true;
}

void sh_membership_touch_all(sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->slots; i++)
        if (membership->members[i].present)
            sh_membership_touch(membership, &membership->members[i]);
}

void sh_membership_end(sh_membership *membership, sh_status status, const char *text)
{
    if (membership->phase == SH_MEMBERSHIP_ENDED)
        return;
    membership->phase = SH_MEMBERSHIP_ENDED;
    sh_membership_act(membership, SH_MEMBERSHIP_END, 0, NULL, "%s", text);
    membership->actions[membership->action_count - 1].status = status;
}

sh_roster_entry *sh_membership_find(const sh_membership *membership, uint32_t device)
{
    for (uint32_t i = 0; i < membership->slots; i++)
        if (membership->members[i].present && membership->members[i].device == device)
            return (sh_roster_entry *)&membership->members[i];
    return NULL;
}

sh_roster_entry *sh_membership_coordinator(const sh_membership *membership)
{
    return (sh_roster_entry *)&membership->members[0];
}

const sh_seat *sh_seating_of(const sh_seating *view, uint32_t device)
{
    for (uint32_t i = 0; i < view->seat_count; i++)
        if (view->seats[i].device == device)
            return &view->seats[i];
    return NULL;
}

/* Whether the view being made has a seat for a device. */
bool sh_membership_expects(const sh_membership *membership, uint32_t device)
{
    return (membership->phase == SH_MEMBERSHIP_LINKING ||
            membership->phase == SH_MEMBERSHIP_COMMITTED ||
            membership->phase == SH_MEMBERSHIP_RECOVERING) &&
           sh_seating_of(&membership->next, device) != NULL;
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

sh_status sh_membership_new(sh_membership **membership, const sh_membership_options *options)
{
    sh_membership *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sh_fail_memory(sizeof *made, "the membership");
    made->options = *options;
    if (made->options.min_devices == 0)
        made->options.min_devices = 1;
    if (made->options.silence_ms == 0)
        made->options.silence_ms = SILENCE_MS;
    if (made->options.tick_ms == 0)
        made->options.tick_ms = TICK_MS;
    made->last_view = options->views_before;
    made->balance.spare = options->spare;
    snprintf(made->version, sizeof made->version, "%s", options->version);
    snprintf(made->fingerprint, sizeof made->fingerprint, "%s", options->fingerprint);
    snprintf(made->family, sizeof made->family, "%s", options->family);
    made->slots = 1;
    made->members[0] = (sh_roster_entry){.present = true, .local = true};
    snprintf(made->members[0].name, sizeof made->members[0].name, "%s", options->name);
    sh_membership_touch(made, &made->members[0]);
    *membership = made;
    return SH_OK;
}

void sh_membership_free(sh_membership *membership)
{
    free(membership);
}

bool sh_membership_next(sh_membership *membership, sh_membership_action *action)
{
    if (membership->action_taken < membership->action_count) {
        *action = membership->actions[membership->action_taken++];
        return true;
    }
    membership->action_taken = membership->action_count = 0;
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (!one->present || !one->changed || membership->phase == SH_MEMBERSHIP_ENDED)
            continue;
        one->changed = false;
        *action = (sh_membership_action){.kind = SH_MEMBERSHIP_ORDER, .device = one->device};
        return true;
    }
    return false;
}

static void put_view(sh_directive *directive, const sh_seating *view, sh_directive_phase phase)
{
    directive->phase = phase;
    directive->view = view->number;
    directive->ring = view->ring;
    directive->planned = view->planned;
    if (phase == SH_DIRECTIVE_HALT)
        return;
    directive->seat_count = view->seat_count;
    memcpy(directive->seats, view->seats, view->seat_count * sizeof *view->seats);
}

/* Who may see which phase: those with a seat, and those who are to have one. */
static void put_phase(sh_directive *directive, const sh_membership *membership,
                      const sh_roster_entry *one)
{
    const bool seated = one->seated;
    switch (membership->phase) {
    case SH_MEMBERSHIP_HALTING:
        if (seated)
            put_view(directive, &membership->next, SH_DIRECTIVE_HALT);
        break;
    case SH_MEMBERSHIP_RECOVERING:
        if (seated)
            put_view(directive, &membership->next, SH_DIRECTIVE_LINK);
        break;
    case SH_MEMBERSHIP_LINKING:
    case SH_MEMBERSHIP_COMMITTED:
        if (seated || sh_membership_expects(membership, one->device))
            put_view(directive, &membership->next, SH_DIRECTIVE_LINK);
        break;
    case SH_MEMBERSHIP_STEADY:
    case SH_MEMBERSHIP_ENTERING:
        if (!seated)
            break;
        put_view(directive, &membership->now, SH_DIRECTIVE_GO);
        directive->start = membership->start;
        directive->left = membership->left_ring;
        directive->ends = !membership->now.planned && membership->recovery.ends;
        for (uint32_t i = 0; i < membership->now.seat_count && !membership->now.planned; i++)
            if (membership->now.seats[i].device == one->device) {
                directive->keep = membership->recovery.keep[i];
                directive->work = membership->recovery.work[i];
            }
        break;
    case SH_MEMBERSHIP_GATHERING:
    case SH_MEMBERSHIP_ENDED:
        break;
    }
}

bool sh_membership_directive(sh_directive *directive, const sh_membership *membership,
                             uint32_t device)
{
    const sh_roster_entry *one = sh_membership_find(membership, device);
    uint32_t stripe;
    if (one == NULL)
        return false;
    *directive = (sh_directive){.serial = one->serial, .dismissed = one->dismissed};
    put_phase(directive, membership, one);
    for (uint32_t i = 0; i < membership->transfer_count; i++)
        if (membership->transfers[i].taker == device ||
            sh_transfer_gives(&stripe, &membership->transfers[i], device))
            directive->transfers[directive->transfer_count++] = membership->transfers[i];
    return true;
}

uint32_t sh_membership_announce(const sh_membership *membership)
{
    if (membership->phase == SH_MEMBERSHIP_COMMITTED)
        return membership->next.number;
    if (membership->phase != SH_MEMBERSHIP_LINKING)
        return 0;
    for (uint32_t i = 0; i < membership->next.seat_count; i++) {
        const sh_roster_entry *one =
            sh_membership_find(membership, membership->next.seats[i].device);
        if (one->notice.linked != membership->next.number ||
            !sh_membership_is_in_time(membership, one))
            return 0;
    }
    return membership->next.number;
}

bool sh_membership_is_changing(const sh_membership *membership)
{
    return membership->phase == SH_MEMBERSHIP_LINKING ||
           (membership->phase == SH_MEMBERSHIP_STEADY && membership->transfer_count > 0);
}

bool sh_membership_has(const sh_membership *membership, uint32_t device)
{
    return membership->phase != SH_MEMBERSHIP_ENDED &&
           sh_membership_find(membership, device) != NULL;
}

uint32_t sh_membership_devices(const sh_membership *membership)
{
    return membership->now.seat_count;
}

uint32_t sh_membership_view(const sh_membership *membership)
{
    return membership->now.number;
}

bool sh_membership_is_reproducible(const sh_membership *membership)
{
    return !membership->mixed;
}
