/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_views.h"

#include <stdio.h>

#include "cluster/membership_select.h"
#include "cluster/membership_transfers.h"

#define AHEAD_MS 200 /* how long before its replica is complete a joiner's ring is linked */

/* --- Making views -------------------------------------------------------------------------- */

static void clear_view(sh_membership *membership, sh_seating *view, bool planned)
{
    membership->testing_links = false;
    *view = (sh_seating){.number = ++membership->last_view, .planned = planned};
    view->ring = view->number;
}

static uint32_t count_broken_links(const sh_membership *membership, const sh_seating *view)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < view->seat_count; i++)
        count += sh_membership_is_broken(membership, view->seats[i].device,
                                         view->seats[(i + 1) % view->seat_count].device);
    return count;
}

static void swap_seats(sh_seating *view, uint32_t i, uint32_t j)
{
    const sh_seat seat = view->seats[i];
    view->seats[i] = view->seats[j];
    view->seats[j] = seat;
}

/* Reduces broken links between neighbours. The coordinator and its local devices stay first. */
static void part_broken(const sh_membership *membership, sh_seating *view)
{
    uint32_t least = count_broken_links(membership, view);
    for (uint32_t i = 1; i < view->seat_count && least > 0; i++)
        for (uint32_t j = i + 1; j < view->seat_count && least > 0; j++) {
            if (view->seats[i].local != view->seats[j].local)
                continue;
            swap_seats(view, i, j);
            const uint32_t count = count_broken_links(membership, view);
            if (count >= least)
                swap_seats(view, i, j);
            least = count < least ? count : least;
        }
}

static bool is_up_to_date(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    return transfer != NULL && one->notice.whole && one->notice.fetched == transfer->number &&
           !one->notice.leaving;
}

/* A joiner stays if its replica is or soon will be complete, or if its seat is being linked. */
static bool is_to_stay(const sh_membership *membership, const sh_roster_entry *one)
{
    if (one->device == 0)
        return true;
    if (one->on_standby)
        return false;
    if (one->seated)
        return !one->notice.leaving;
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    return one->ready && transfer != NULL && !one->notice.leaving &&
           (is_up_to_date(membership, one) || sh_membership_expects(membership, one->device) ||
            (one->notice.receiving == transfer->number && one->notice.left_ms <= AHEAD_MS));
}

static bool is_untested(const sh_roster_entry *one)
{
    return one->present && one->ready && !one->reached && !one->seated && !one->dismissed &&
           !one->notice.leaving;
}

static bool is_to_sit(const sh_membership *membership, const sh_roster_entry *one)
{
    return is_to_stay(membership, one) || (membership->testing_links && is_untested(one));
}

/* Local devices come first, because no other machine can reach one that listens only on the
 * loopback. */
void sh_membership_seat_all(sh_membership *membership, sh_seating *view)
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++)
        for (uint32_t i = 0; i < membership->slots; i++) {
            const sh_roster_entry *one = &membership->members[i];
            const bool takes_part = view->planned ? is_to_sit(membership, one) : one->seated;
            if (one->present && one->local == (elsewhere == 0) && takes_part)
                view->seats[view->seat_count++] =
                    (sh_seat){.device = one->device, .local = one->local};
        }
    part_broken(membership, view);
    view->has_servers = sh_serving_seat(&membership->serving, view->seats, view->seat_count);
}

void sh_membership_deal_shares(const sh_membership *membership, sh_seating *view)
{
    float rates[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    for (uint32_t i = 0; i < view->seat_count; i++)
        rates[i] = sh_membership_speed(membership, sh_membership_seated(membership, view, i)).rate;
    sh_shares_deal(shares, rates, view->seat_count, membership->grains, membership->balance.spare);
    for (uint32_t i = 0; i < view->seat_count; i++)
        view->seats[i].share = shares[i];
}

void sh_membership_prove(sh_membership *membership)
{
    const uint64_t steps = sh_membership_coordinator(membership)->notice.position.steps;
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->now, i);
        if (one != NULL)
            one->proven = one->proven || steps > one->entered.steps;
    }
}

void sh_membership_halt(sh_membership *membership)
{
    clear_view(membership, &membership->next, false);
    membership->phase = SH_MEMBERSHIP_HALTING;
    membership->transfer_count = 0;
    sh_membership_interrupt_audit(membership);
    sh_membership_mark_all_changed(membership);
}

/* --- Unplanned changes --------------------------------------------------------------------- */

static void note_servers(sh_membership *membership)
{
    char chosen[SH_SERVING_TEXT];
    const bool lacks = !membership->now.has_servers && membership->now.seat_count > 1;
    if (lacks == membership->lacks_servers)
        return;
    membership->lacks_servers = lacks;
    sh_serving_print(&membership->serving, chosen);
    if (lacks)
        sh_membership_note(
            membership, SH_NEWS_SERVERS, SH_MEMBERSHIP_ALL,
            "none of the chosen servers (--servers %s) takes part: all devices serve", chosen);
    else
        sh_membership_note(membership, SH_NEWS_SERVERS, SH_MEMBERSHIP_ALL,
                           "a chosen server (--servers %s) takes part: the others no longer serve",
                           chosen);
}

static void enter(sh_membership *membership, sh_position start)
{
    const sh_seating *now = &membership->now;
    const uint32_t ring = now->ring;
    if (ring != membership->next.ring) /* else only the shares change */
    {
        sh_balance_restart(&membership->balance);
        membership->credit_steps.known = false;
    }
    membership->now = membership->next;
    membership->left_ring = ring != now->ring ? ring : 0;
    membership->phase = SH_MEMBERSHIP_ENTERING;
    membership->start = start;
    membership->stage_passed = false;
    membership->rebalance = false;
    uint32_t anew = 0;
    for (uint32_t i = 0; i < now->seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, now, i);
        if (!one->proven)
            one->entered = start;
        one->seated = true;
        anew += now->planned ? 0 : sh_ranges_total(&membership->recovery.work[i]);
    }
    sh_membership_note(membership, SH_NEWS_VIEW, SH_MEMBERSHIP_ALL,
                       "view %u: %u devices, from step %llu, %u of its grains are computed again",
                       now->number, now->seat_count, (unsigned long long)start.steps, anew);
    note_servers(membership);
    sh_membership_mark_all_changed(membership);
}

void sh_membership_check_recovered(sh_membership *membership)
{
    const sh_seating *next = &membership->next;
    bool all = true;
    for (uint32_t i = 0; i < next->seat_count; i++) {
        const sh_roster_entry *one = sh_membership_seated(membership, next, i);
        const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
        if (transfer != NULL && one->notice.whole && one->notice.fetched == transfer->number) {
            membership->recovery.agreement[i] = SH_REPLICA_AT;
            sh_membership_drop_transfer(membership, transfer);
        }
        all = all && membership->recovery.agreement[i] == SH_REPLICA_AT &&
              one->notice.linked == next->number;
    }
    if (all)
        enter(membership, membership->recovery.target);
}

/* --- Planned changes ----------------------------------------------------------------------- */

static void judge_speeds(sh_membership *membership)
{
    const sh_seating *now = &membership->now;
    const uint64_t steps = sh_membership_coordinator(membership)->notice.position.steps;
    const uint64_t since =
        membership->start.steps > membership->judged ? membership->start.steps : membership->judged;
    sh_credit *credits[SH_DEVICES_MAX];
    sh_speed speeds[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    if (steps < since + SH_CREDIT_STEPS)
        return;
    membership->judged = steps;
    for (uint32_t i = 0; i < now->seat_count; i++) {
        sh_roster_entry *one = sh_membership_seated(membership, now, i);
        credits[i] = &one->credit;
        speeds[i] = one->notice.speed;
        shares[i] = now->seats[i].share;
    }
    const uint32_t seat =
        sh_credit_judge(&membership->credit_steps, credits, shares, speeds, now->seat_count, steps);
    if (seat != 0)
        sh_membership_note(membership, SH_NEWS_SHARES, now->seats[seat].device,
                           "device %.64s claims %.3g grains a second, but steps take longer than "
                           "that explains: %.3g is assumed",
                           sh_membership_seated(membership, now, seat)->name,
                           (double)speeds[seat].rate, credits[seat]->shown);
}

void sh_membership_assess(sh_membership *membership)
{
    judge_speeds(membership);
    const sh_seating *now = &membership->now;
    sh_speed speeds[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    for (uint32_t i = 0; i < now->seat_count; i++) {
        speeds[i] = sh_membership_speed(membership, sh_membership_seated(membership, now, i));
        shares[i] = now->seats[i].share;
    }
    membership->rebalance =
        sh_balance_assess(&membership->balance, shares, speeds, now->seat_count, membership->grains,
                          sh_membership_coordinator(membership)->notice.position.steps,
                          membership->why, sizeof membership->why);
}

static void print_shares(const sh_seating *view, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < view->seat_count; i++) {
        const int written = snprintf(text + used, bytes - used, "%s%u", i > 0 ? " " : "",
                                     view->seats[i].share.count);
        if (written < 0 || (size_t)written >= bytes - used)
            return;
        used += (size_t)written;
    }
}

void sh_membership_plan(sh_membership *membership)
{
    sh_seating *next = &membership->next;
    const sh_seating *now = &membership->now;
    bool change = membership->rebalance, untested = false;
    for (uint32_t i = 0; i < membership->slots; i++) {
        const sh_roster_entry *one = &membership->members[i];
        untested = untested || is_untested(one);
        if (one->present && !one->dismissed)
            change = change || is_to_stay(membership, one) != one->seated;
    }
    if ((!change && !untested) || sh_membership_is_done(membership))
        return;
    clear_view(membership, next, true);
    membership->testing_links = !change; /* no device waits for a trial */
    sh_membership_seat_all(membership, next);
    sh_membership_deal_shares(membership, next);
    bool same = next->seat_count == now->seat_count;
    for (uint32_t i = 0; same && i < next->seat_count; i++)
        same = next->seats[i].device == now->seats[i].device;
    if (same)
        next->ring = now->ring;
    if (membership->rebalance && same) {
        const sh_roster_entry *last =
            sh_membership_seated(membership, now, membership->balance.last);
        char before[64], after[64];
        print_shares(now, before, sizeof before);
        print_shares(next, after, sizeof after);
        sh_membership_note(
            membership, SH_NEWS_SHARES, last->device,
            "shares change from %s to %s: the others wait for device %.64s, whose %s", before,
            after, last->name, membership->why);
    }
    membership->rebalance = false;
    membership->phase = SH_MEMBERSHIP_LINKING;
    sh_membership_mark_all_changed(membership);
}

bool sh_membership_plan_holds(const sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->next.seat_count; i++)
        if (!is_to_sit(membership, sh_membership_seated(membership, &membership->next, i)))
            return false;
    return true;
}

void sh_membership_check_link_test(sh_membership *membership)
{
    if (!membership->testing_links || !sh_membership_is_linked(membership))
        return;
    for (uint32_t i = 0; i < membership->next.seat_count; i++)
        sh_membership_seated(membership, &membership->next, i)->reached = true;
    sh_membership_give_up(membership);
}

static double shortening_ms(const sh_membership *membership)
{
    const sh_seating *views[] = {&membership->now, &membership->next};
    double seconds[2];
    for (int v = 0; v < 2; v++) {
        float rates[SH_DEVICES_MAX];
        sh_range shares[SH_DEVICES_MAX];
        for (uint32_t i = 0; i < views[v]->seat_count; i++) {
            rates[i] =
                sh_membership_speed(membership, sh_membership_seated(membership, views[v], i)).rate;
            shares[i] = views[v]->seats[i].share;
        }
        seconds[v] = sh_shares_longest(shares, rates, views[v]->seat_count, NULL);
    }
    return 1e3 * (seconds[0] - seconds[1]);
}

bool sh_membership_is_in_time(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    return one->seated || is_up_to_date(membership, one) ||
           (transfer != NULL && one->notice.receiving == transfer->number &&
            one->notice.left_ms <= shortening_ms(membership));
}

void sh_membership_give_up(sh_membership *membership)
{
    if (membership->phase == SH_MEMBERSHIP_LINKING) {
        membership->phase = SH_MEMBERSHIP_STEADY;
        sh_membership_mark_all_changed(membership);
    } else {
        sh_membership_halt(membership);
    }
}

void sh_membership_check_committed(sh_membership *membership)
{
    const sh_notice *zero = &sh_membership_coordinator(membership)->notice;
    if (zero->view != membership->next.number)
        return;
    /* The others are linked, or about to be. */
    sh_membership_prove(membership);
    enter(membership, zero->position);
}

static void dismiss(sh_membership *membership, sh_roster_entry *one)
{
    one->seated = false;
    one->dismissed = true;
    sh_membership_drop_transfers(membership, one->device);
    sh_membership_mark_changed(membership, one);
    sh_membership_note(membership, SH_NEWS_LEFT, one->device, "device %.64s left", one->name);
}

void sh_membership_dismiss_joiners(sh_membership *membership)
{
    for (uint32_t i = 1; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (one->present && one->notice.leaving && !one->seated && !one->dismissed &&
            !sh_membership_expects(membership, one->device))
            dismiss(membership, one);
    }
}

/* A leaving device may complete its last stage after the others and is dismissed only then: its
 * figures include the stage, and others may need sums from its ring. */
void sh_membership_check_entered(sh_membership *membership)
{
    const sh_seating *now = &membership->now;
    for (uint32_t i = 0; i < membership->slots; i++) {
        const sh_roster_entry *one = &membership->members[i];
        const sh_notice *notice = &one->notice;
        const bool stays = sh_seat_of(now->seats, now->seat_count, one->device) != NULL;
        const bool through = stays ? notice->view == now->number
                                   : notice->view == 0 || notice->halted >= now->number;
        if (one->present && one->seated && !through)
            return;
    }
    membership->phase = SH_MEMBERSHIP_STEADY;
    if (membership->left_ring != 0)
        sh_membership_mark_all_changed(membership);
    membership->left_ring = 0;
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (!one->present)
            continue;
        const sh_seat *seat = sh_seat_of(now->seats, now->seat_count, one->device);
        if (one->seated && seat == NULL && one->on_standby && !one->notice.leaving)
            sh_membership_set_standby(membership, one);
        else if (one->seated && seat == NULL)
            dismiss(membership, one);
        if (seat == NULL)
            continue;
        const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
        if (transfer != NULL)
            sh_membership_drop_transfer(membership, transfer);
        if (!one->welcomed)
            sh_membership_note(membership, SH_NEWS_JOINED, one->device,
                               "device %.64s joined with %u of %u grains", one->name,
                               seat->share.count, membership->grains);
        one->welcomed = true;
    }
}
