/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_select.h"

#include <math.h>
#include <string.h>

#include "cluster/membership_transfers.h"
#include "plan/curve.h"

#define RATE_MS 2000   /* to wait for device 0's speed */
#define LINK_MS 3000   /* and for the measurement of its link */
#define EACH_MS 4      /* between two choices, per device */
#define HOPE_MS 120000 /* rest that doubles a device's assumed speed: it may be faster now */
#define HOPE_MAX 4.0
#define CURVE_MS 1000 /* after devices joined: others may follow */
#define CURVE_MOST 32 /* of devices: more take too long to compute and read */

bool sh_membership_selects(const sh_membership *membership)
{
    return membership->standby.most != SH_STANDBY_ALL;
}

/* ---- choosing devices ------------------------------------------------------------------------ */

static bool is_server(const sh_membership *membership, uint32_t device)
{
    for (uint32_t i = 0; i < membership->serving.count; i++)
        if (membership->serving.devices[i] == device)
            return true;
    return false;
}

static bool is_fixed(const sh_membership *membership, const sh_roster_entry *one)
{
    return one->device == 0 || one->local || is_server(membership, one->device);
}

static bool is_to_choose(const sh_membership *membership, const sh_roster_entry *one)
{
    if (!one->present || !one->ready || one->dismissed || one->notice.leaving)
        return false;
    const bool measured =
        one->link.in > 0 || membership->clock_ms >= one->ready_ms + LINK_MS || one->considered;
    return one->seated || (one->reached && measured);
}

static double rate_of(const sh_membership *membership, const sh_roster_entry *one)
{
    const double rate = (double)sh_membership_speed(membership, one).rate;
    if (one->seated)
        return rate;
    const double rested = (double)(membership->clock_ms - one->standby_changed_ms) / HOPE_MS;
    return rate * fmin(exp2(rested), HOPE_MAX);
}

/* Nothing is predictable without device 0's speed. */
static void take_all(sh_membership *membership)
{
    for (uint32_t i = 1; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (one->on_standby && !one->considered && is_to_choose(membership, one) &&
            membership->clock_ms >= one->ready_ms + RATE_MS)
            one->on_standby = false;
    }
}

static void set(sh_membership *membership, sh_roster_entry *one, bool on_standby)
{
    one->on_standby = on_standby;
    one->standby_changed_ms = membership->clock_ms;
    if (!on_standby) /* a transfer that ends once complete is replaced by one that follows */
        sh_membership_drop_transfers(membership, one->device);
}

static void say(sh_membership *membership, sh_roster_entry *one)
{
    sh_membership_note(membership, SH_NEWS_STANDBY, one->device,
                       "device %.64s is on standby: %.255s", one->name, one->why);
}

static void tell_curve(sh_membership *membership, const sh_lineup_device *devices,
                       sh_roster_entry *const *members, uint32_t count)
{
    const char *names[CURVE_MOST];
    char text[SH_MEMBERSHIP_TEXT];
    sh_curve curve;
    if (membership->curve_ms == 0 || membership->clock_ms < membership->curve_ms)
        return;
    membership->curve_ms = 0;
    if (count < 2 || count > CURVE_MOST)
        return;
    for (uint32_t i = 0; i < count; i++)
        names[i] = members[i]->name;
    sh_curve_make(&curve, &membership->standby.job, devices, count);
    sh_curve_describe(&curve, names, text, sizeof text);
    sh_membership_note(membership, SH_NEWS_CURVE, SH_MEMBERSHIP_ALL, "%s", text);
}

/* If steps take the expected time, links of the ring carry at least the rate that they show. A
 * measurement beside the steps shows less, because they use most of the link. */
static void note_carried(sh_membership *membership)
{
    const sh_standby *standby = &membership->standby;
    const uint32_t seats = membership->now.seat_count;
    for (uint32_t i = 0; i < seats && (standby->slow || standby->exchange_s > 0); i++) {
        sh_roster_entry *one = sh_membership_seated(membership, &membership->now, i);
        if (standby->slow)
            one->carried = 0;
        else
            one->carried =
                fmax(one->carried, sh_lineup_bytes(&standby->job, seats) / standby->exchange_s);
    }
}

/* If a chosen device cannot follow the steps, seats all chosen devices and returns true. */
static bool seat_at_once(const sh_membership *membership, sh_roster_entry *const *members,
                         uint32_t count)
{
    uint32_t joining = 0;
    bool follow = true;
    for (uint32_t i = 0; i < count; i++)
        joining += !members[i]->on_standby && !members[i]->seated;
    for (uint32_t i = 0; i < count; i++)
        if (!members[i]->on_standby && !members[i]->seated)
            follow = follow && sh_membership_can_follow(membership, members[i], joining);
    for (uint32_t i = 0; i < count && !follow; i++)
        members[i]->seated = members[i]->seated || !members[i]->on_standby;
    return !follow;
}

bool sh_membership_select(sh_membership *membership)
{
    sh_lineup_device devices[SH_DEVICES_MAX];
    sh_roster_entry *members[SH_DEVICES_MAX];
    bool used[SH_DEVICES_MAX], fresh[SH_DEVICES_MAX];
    uint32_t count = 0;
    char text[SH_MEMBERSHIP_TEXT];
    const sh_notice *zero = &sh_membership_coordinator(membership)->notice;
    if (!sh_membership_selects(membership) || membership->phase != SH_MEMBERSHIP_STEADY ||
        sh_membership_is_done(membership) ||
        membership->clock_ms < membership->standby.assessed_ms + EACH_MS * membership->slots)
        return false;
    if (!(zero->speed.rate > 0)) {
        take_all(membership);
        return false;
    }
    for (uint32_t i = 0; i < membership->slots; i++) {
        sh_roster_entry *one = &membership->members[i];
        if (!is_to_choose(membership, one))
            continue;
        if (one->seated == one->on_standby)
            return false; /* a change is under way */
        devices[count] = (sh_lineup_device){.rate = rate_of(membership, one),
                                            .out = fmax(one->link.out, one->carried),
                                            .in = fmax(one->link.in, one->carried),
                                            .delay_s = one->link.delay_s,
                                            .fixed = is_fixed(membership, one)};
        used[count] = one->seated;
        fresh[count] = !one->seated && (!one->considered || membership->vacant);
        members[count++] = one;
    }
    const sh_standby_seen seen = {.step_s = (double)zero->speed.step_s,
                                  .view = membership->now.number,
                                  .steps = zero->position.steps - membership->start.steps,
                                  .now_ms = membership->clock_ms};
    if (sh_standby_compare(&membership->standby, membership->now.seat_count, &seen, text,
                           sizeof text))
        sh_membership_note(membership, SH_NEWS_COMPARED, SH_MEMBERSHIP_ALL, "%s", text);
    const bool other_view = membership->standby.view != seen.view;
    const bool changed =
        sh_standby_assess(&membership->standby, devices, fresh, used, count, &seen) || other_view;
    membership->vacant = false;
    note_carried(membership);
    for (uint32_t i = 0; i < count; i++) {
        sh_roster_entry *one = members[i];
        const bool first = !one->considered;
        one->considered = true;
        if (first)
            membership->curve_ms = membership->clock_ms + CURVE_MS;
        if (!used[i] && (first || changed))
            sh_standby_explain(&membership->standby, devices, used, count, i, one->why,
                               sizeof one->why);
        if (used[i] == one->on_standby)
            set(membership, one, !used[i]);
        if (one->on_standby && first && !one->seated)
            say(membership, one);
    }
    tell_curve(membership, devices, members, count);
    return seat_at_once(membership, members, count);
}

void sh_membership_set_standby(sh_membership *membership, sh_roster_entry *one)
{
    one->seated = one->welcomed = false;
    one->kept_ms = membership->clock_ms; /* it has the current weights */
    sh_membership_drop_transfers(membership, one->device);
    sh_membership_mark_changed(membership, one);
    say(membership, one);
}
