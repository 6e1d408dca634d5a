/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_state.h"

#include <stdio.h>
#include <string.h>

#define AHEAD_MS 200 /* that a joiner's ring is linked before its replica is whole */

/* --- Making views -------------------------------------------------------------------------- */

static void clear_view(sh_membership *membership, sh_seating *view, bool planned)
{
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

/* Two that may not reach each other get others between them, where there are others: by swaps, each
 * of which leaves fewer such links. The coordinator stays first, and its machine's devices before
 * those elsewhere. */
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

/* Devices of the coordinator's machine come first: only they link to each other there, and no
 * device elsewhere has to reach one that may listen on the loopback alone. */
static void seat_all(sh_membership *membership, sh_seating *view,
                     bool (*takes_part)(const sh_membership *, const sh_roster_entry *))
{
    for (int elsewhere = 0; elsewhere < 2; elsewhere++)
        for (uint32_t i = 0; i < membership->slots; i++) {
            const sh_roster_entry *one = &membership->members[i];
            if (one->present && one->local == (elsewhere == 0) && takes_part(membership, one))
                view->seats[view->seat_count++] =
                    (sh_seat){.device = one->device, .local = one->local};
        }
    part_broken(membership, view);
    view->has_servers =
        sh_serving_seat(&membership->options.serving, view->seats, view->seat_count);
}

static sh_speed speed_of(const sh_membership *membership, const sh_seat *seat)
{
    return sh_membership_find(membership, seat->device)->notice.speed;
}

static void deal_shares(const sh_membership *membership, sh_seating *view)
{
    float rates[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    for (uint32_t i = 0; i < view->seat_count; i++)
        rates[i] = speed_of(membership, &view->seats[i]).rate;
    sh_shares_deal(shares, rates, view->seat_count, membership->options.grains,
                   membership->options.spare);
    for (uint32_t i = 0; i < view->seat_count; i++)
        view->seats[i].share = shares[i];
}

/* Whoever has made a step in the view at hand with the replica that it has is proven. */
void sh_membership_prove(sh_membership *membership)
{
    const uint64_t steps = sh_membership_coordinator(membership)->notice.position.steps;
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        sh_roster_entry *one = sh_membership_find(membership, membership->now.seats[i].device);
        if (one != NULL)
            one->proven = one->proven || steps > one->entered.steps;
    }
}

void sh_membership_halt(sh_membership *membership)
{
    clear_view(membership, &membership->next, false);
    membership->phase = SH_MEMBERSHIP_HALTING;
    membership->transfer_count = 0;
    sh_membership_touch_all(membership);
}

/* --- The way of a halt --------------------------------------------------------------------- */

static bool is_seated(const sh_membership *membership, const sh_roster_entry *one)
{
    (void)membership;
    return one->seated;
}

static uint32_t survey(const sh_membership *membership, const sh_seating *view,
                       sh_survivor *survivors)
{
    for (uint32_t i = 0; i < view->seat_count; i++) {
        const sh_roster_entry *one = sh_membership_find(membership, view->seats[i].device);
        survivors[i] = (sh_survivor){one->device, &one->notice, one->proven};
    }
    return view->seat_count;
}

static void note_recovery(sh_membership *membership)
{
    bool odd = false;
    for (uint32_t i = 0; i < membership->next.seat_count; i++) {
        const sh_roster_entry *one =
            sh_membership_find(membership, membership->next.seats[i].device);
        if (membership->recovery.standing[i] != SH_STANDING_ODD)
            continue;
        odd = true;
        sh_membership_act(
            membership, SH_MEMBERSHIP_NOTE, one->device, "repaired",
            "the replica of device %.64s differed from the others at step %llu: it is brought back "
            "from them",
            one->name, (unsigned long long)membership->recovery.target.steps);
    }
    membership->differences = membership->differed && !odd ? membership->differences + 1 : 0;
}

/* Going on would mean to guess whose weights are right. */
static void end_torn(sh_membership *membership)
{
    char names[SH_MEMBERSHIP_TEXT] = "", text[2 * SH_MEMBERSHIP_TEXT];
    size_t length = 0;
    for (uint32_t i = 0; i < membership->next.seat_count && length < sizeof names; i++)
        if (membership->recovery.standing[i] == SH_STANDING_AT)
            length += (size_t)snprintf(
                names + length, sizeof names - length, "%s%.64s", length > 0 ? ", " : "",
                sh_membership_find(membership, membership->next.seats[i].device)->name);
    snprintf(text, sizeof text,
             "the weights of %s differ after step %llu, and no majority shows which are right: the "
             "memory of one is faulty; go on from the checkpoint with --resume",
             names, (unsigned long long)membership->recovery.target.steps);
    sh_membership_end(membership, SH_DIVERGED, text);
}

/* All stand still: judges, and orders what is to be done. */
static void recover(sh_membership *membership)
{
    sh_survivor survivors[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    sh_seating *next = &membership->next;
    sh_membership_prove(membership); /* its last steps are told with the halt */
    seat_all(membership, next, is_seated);
    const uint32_t count = survey(membership, next, survivors);
    if (!sh_recovery_judge(&membership->recovery, survivors, count)) {
        sh_membership_end(
            membership, SH_ABORTED,
            "the device that had the last whole replica was lost: go on from the checkpoint with "
            "--resume");
        return;
    }
    if (membership->recovery.torn) {
        end_torn(membership);
        return;
    }
    note_recovery(membership);
    if (membership->differences > SH_MEMBERSHIP_PATIENCE) {
        sh_membership_end(
            membership, SH_DIVERGED,
            "the replicas' checks do not agree, and their weights do: a device's memory is faulty; "
            "go on from the checkpoint with --resume, and other devices");
        return;
    }
    deal_shares(membership, next);
    for (uint32_t i = 0; i < count; i++)
        shares[i] = next->seats[i].share;
    sh_recovery_deal(&membership->recovery, survivors, count, shares, membership->options.grains,
                     membership->differences > 0);
    membership->differed = false;
    membership->phase = SH_MEMBERSHIP_RECOVERING;
    sh_membership_touch_all(membership);
}

void sh_membership_check_halted(sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->slots; i++) {
        const sh_roster_entry *one = &membership->members[i];
        if (one->present && one->seated && one->notice.halted < membership->next.number)
            return;
    }
    recover(membership);
}

/* The view at hand, and how much of its first step has to be dealt anew. */
static void note_view(sh_membership *membership)
{
    const sh_seating *now = &membership->now;
    uint32_t anew = 0;
    for (uint32_t i = 0; i < now->seat_count && !now->planned; i++)
        anew += sh_ranges_grains(&membership->recovery.work[i]);
    sh_membership_act(membership, SH_MEMBERSHIP_NOTE, SH_MEMBERSHIP_ALL, "view",
                      "view %u: %u devices, from step %llu, %u of its grains dealt anew",
                      now->number, now->seat_count, (unsigned long long)membership->start.steps,
                      anew);
}

/* Says when the chosen servers are gone, and when one is there again. */
static void note_servers(sh_membership *membership)
{
    char chosen[SH_SERVING_TEXT];
    const bool lacks = !membership->now.has_servers && membership->now.seat_count > 1;
    if (lacks == membership->lacks_servers)
        return;
    membership->lacks_servers = lacks;
    sh_serving_print(&membership->options.serving, chosen);
    if (lacks)
        sh_membership_act(membership, SH_MEMBERSHIP_NOTE, SH_MEMBERSHIP_ALL, "servers",
                          "none of the servers that were chosen (--servers %s) takes part: all "
                          "devices serve",
                          chosen);
    else
        sh_membership_act(membership, SH_MEMBERSHIP_NOTE, SH_MEMBERSHIP_ALL, "servers",
                          "a server that was chosen (--servers %s) takes part: the others serve no "
                          "more",
                          chosen);
}

/* Makes `next` the view at hand: its GO. */
static void enter(sh_membership *membership, sh_position start)
{
    const uint32_t ring = membership->now.ring;
    if (ring != membership->next.ring) /* else only the shares change */
        sh_balance_restart(&membership->balance);
    membership->now = membership->next;
    membership->left_ring = ring != membership->now.ring ? ring : 0;
    membership->phase = SH_MEMBERSHIP_ENTERING;
    membership->start = start;
    membership->stage_passed = false;
    membership->rebalance = false;
    for (uint32_t i = 0; i < membership->now.seat_count; i++) {
        sh_roster_entry *one = sh_membership_find(membership, membership->now.seats[i].device);
        membership->mixed = membership->mixed || one->other_family;
        if (!one->proven)
            one->entered = start;
        one->seated = true;
    }
    note_view(membership);
    note_servers(membership);
    sh_membership_touch_all(membership);
}

void sh_membership_check_recovered(sh_membership *membership)
{
    const sh_seating *next = &membership->next;
    bool all = true;
    for (uint32_t i = 0; i < next->seat_count; i++) {
        const sh_roster_entry *one = sh_membership_find(membership, next->seats[i].device);
        const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
        if (transfer != NULL && one->notice.whole && one->notice.fetched == transfer->number) {
            membership->recovery.standing[i] = SH_STANDING_AT;
            sh_membership_drop_transfer(membership, (uint32_t)(transfer - membership->transfers));
        }
        all = all && membership->recovery.standing[i] == SH_STANDING_AT &&
              one->notice.linked == next->number;
    }
    if (all)
        enter(membership, membership->recovery.target);
}

/* --- The planned way ----------------------------------------------------------------------- */

static bool is_up_to_date(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    return transfer != NULL && one->notice.whole && one->notice.fetched == transfer->number &&
           !one->notice.leaving;
}

/* Whether its replica will soon be whole, or is awaited because its seat is being linked. */
static bool is_coming(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    return transfer != NULL && !one->notice.leaving &&
           (sh_membership_expects(membership, one->device) ||
            (one->notice.coming == transfer->number && one->notice.left_ms <= AHEAD_MS));
}

static bool is_to_stay(const sh_membership *membership, const sh_roster_entry *one)
{
    if (one->device == 0)
        return true;
    if (one->seated)
        return !one->notice.leaving;
    return one->ready && (is_up_to_date(membership, one) || is_coming(membership, one));
}

/* Whether new shares pay, a step or more after it was asked last. */
void sh_membership_assess(sh_membership *membership)
{
    const sh_seating *now = &membership->now;
    sh_speed speeds[SH_DEVICES_MAX];
    sh_range shares[SH_DEVICES_MAX];
    for (uint32_t i = 0; i < now->seat_count; i++) {
        speeds[i] = speed_of(membership, &now->seats[i]);
        shares[i] = now->seats[i].share;
    }
    membership->rebalance = sh_balance_assess(
        &membership->balance, shares, speeds, now->seat_count, membership->options.grains,
        sh_membership_coordinator(membership)->notice.position.steps, membership->why,
        sizeof membership->why);
}

/* Counts of grains, as many as fit. */
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

static void note_shares(sh_membership *membership)
{
    const sh_seating *now = &membership->now;
    const sh_seat *last = &now->seats[membership->balance.last];
    char before[64], after[64];
    print_shares(now, before, sizeof before);
    print_shares(&membership->next, after, sizeof after);
    sh_membership_act(membership, SH_MEMBERSHIP_NOTE, last->device, "shares",
                      "shares %s become %s: the others wait for device %.64s, whose %s", before,
                      after, sh_membership_find(membership, last->device)->name, membership->why);
}

/* One change of the view that works, with all that has come together for it. */
void sh_membership_plan(sh_membership *membership)
{
    sh_seating *next = &membership->next;
    const sh_seating *now = &membership->now;
    bool change = membership->rebalance;
    for (uint32_t i = 0; i < membership->slots; i++) {
        const sh_roster_entry *one = &membership->members[i];
        if (one->present && !one->dismissed)
            change = change || is_to_stay(membership, one) != one->seated;
    }
    if (!change || sh_membership_is_done(membership))
        return;
    clear_view(membership, next, true);
    seat_all(membership, next, is_to_stay);
    deal_shares(membership, next);
    bool same = next->seat_count == now->seat_count;
    for (uint32_t i = 0; same && i < next->seat_count; i++)
        same = next->seats[i].device == now->seats[i].device;
    if (same)
        next->ring = now->ring;
    if (membership->rebalance && same)
        note_shares(membership);
    membership->rebalance = false;
    membership->phase = SH_MEMBERSHIP_LINKING;
    sh_membership_touch_all(membership);
}

/* Whoever is to leave, or has no replica to join with any more, is to have no seat. */
bool sh_membership_plan_holds(const sh_membership *membership)
{
    for (uint32_t i = 0; i < membership->next.seat_count; i++)
        if (!is_to_stay(membership,
                        sh_membership_find(membership, membership->next.seats[i].device)))
            return false;
    return true;
}

/* By how much the next view's computing is shorter than that of the one at hand. */
static double shortening_ms(const sh_membership *membership)
{
    const sh_seating *views[] = {&membership->now, &membership->next};
    double seconds[2];
    for (int v = 0; v < 2; v++) {
        float rates[SH_DEVICES_MAX];
        sh_range shares[SH_DEVICES_MAX];
        for (uint32_t i = 0; i < views[v]->seat_count; i++) {
            rates[i] = speed_of(membership, &views[v]->seats[i]).rate;
            shares[i] = views[v]->seats[i].share;
        }
        seconds[v] = sh_shares_longest(shares, rates, views[v]->seat_count, NULL);
    }
    return 1e3 * (seconds[0] - seconds[1]);
}

/* A joiner may be announced before its replica is whole where it will be so late at most that no
 * step is longer than without it. */
bool sh_membership_is_in_time(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    return one->seated || is_up_to_date(membership, one) ||
           (transfer != NULL && one->notice.coming == transfer->number &&
            one->notice.left_ms <= shortening_ms(membership));
}

/* The view that is being linked cannot come about as it is. */
void sh_membership_give_up(sh_membership *membership)
{
    if (membership->phase == SH_MEMBERSHIP_LINKING) {
        membership->phase = SH_MEMBERSHIP_STEADY;
        sh_membership_touch_all(membership);
    } else {
        sh_membership_halt(membership);
    }
}

/* Device 0 works in the view that it announced: the others are there, or on their way. */
void sh_membership_check_committed(sh_membership *membership)
{
    const sh_notice *zero = &sh_membership_coordinator(membership)->notice;
    if (zero->view != membership->next.number)
        return;
    sh_membership_prove(membership);
    enter(membership, zero->position);
}

static void dismiss(sh_membership *membership, sh_roster_entry *one)
{
    one->seated = false;
    one->dismissed = true;
    sh_membership_drop_transfers(membership, one->device);
    sh_membership_touch(membership, one);
    sh_membership_act(membership, SH_MEMBERSHIP_NOTE, one->device, "left", "device %.64s left",
                      one->name);
}

/* Joiners that think better of it. */
void sh_membership_dismiss_joiners(sh_membership *membership)
{
    for (uint32_t i = 1; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (one->present && one->notice.leaving && !one->seated && !one->dismissed &&
            !sh_membership_expects(membership, one->device))
            dismiss(membership, one);
    }
}

static void welcome(sh_membership *membership, sh_roster_entry *one, const sh_seat *seat)
{
    const sh_transfer *transfer = sh_membership_transfer_to(membership, one->device);
    if (transfer != NULL)
        sh_membership_drop_transfer(membership, (uint32_t)(transfer - membership->transfers));
    if (!one->welcomed)
        sh_membership_act(membership, SH_MEMBERSHIP_NOTE, one->device, "joined",
                          "device %.64s joined with %u of %u grains", one->name, seat->share.count,
                          membership->options.grains);
    one->welcomed = true;
}

/* Whether it has come to the end of what it had to do in the view before. */
static bool is_through(const sh_membership *membership, const sh_roster_entry *one)
{
    const sh_notice *notice = &one->notice;
    const sh_seating *now = &membership->now;
    if (sh_seating_of(now, one->device) != NULL)
        return notice->view == now->number;
    return notice->view == 0 || notice->halted >= now->number;
}

/* Who leaves may have passed the last stage later than others, and is dismissed only then: its
 * figures count that stage, and who leaves with it may have the sums from its ring. */
void sh_membership_check_entered(sh_membership *membership)
{
    const sh_seating *now = &membership->now;
    for (uint32_t i = 0; i < membership->slots; i++) {
        const sh_roster_entry *one = &membership->members[i];
        if (one->present && one->seated && !is_through(membership, one))
            return;
    }
    membership->phase = SH_MEMBERSHIP_STEADY;
    if (membership->left_ring != 0)
        sh_membership_touch_all(membership); /* who stays may close it */
    membership->left_ring = 0;
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (!one->present)
            continue;
        const sh_seat *seat = sh_seating_of(now, one->device);
        if (one->seated && seat == NULL)
            dismiss(membership, one);
        else if (seat != NULL)
            welcome(membership, one, seat);
    }
}
