/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a membership and its participants, connected directly, so that messages arrive at
 * once. The test plays their threads.
 */
#ifndef SHOAL_CLUSTER_MEMBERSHIP_FIXTURE_H
#define SHOAL_CLUSTER_MEMBERSHIP_FIXTURE_H

#include "cluster/membership_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "cluster/participant.h"

#define DEVICES 8
#define GRAINS 12

static sh_membership *membership;
static sh_participant parts[DEVICES];
static bool present[DEVICES];
static uint64_t sent[DEVICES], check_of[DEVICES];
static sh_speed speed_of[DEVICES];
static char notes[4096], refusal[512], ending[512];
static uint32_t refused;
static bool again; /* it may rejoin */
static int ended;  /* 1: success, 2: failure */
static uint32_t resigned;
static sh_serving serving;
static uint32_t unreached; /* no device can reach this one; 0: none */
static bool unanswered;    /* device 0 does not learn that */

static inline void inform(uint32_t device, sh_participant_event event)
{
    sh_participant_handle(&parts[device], &event);
}

static inline void carry_out(const sh_membership_action *action)
{
    sh_directive directive;
    switch (action->kind) {
    case SH_MEMBERSHIP_ORDER:
        assert_true(sh_membership_directive(&directive, membership, action->device));
        if (action->device < DEVICES && present[action->device])
            inform(action->device, (sh_participant_event){.kind = SH_PARTICIPANT_DIRECTIVE,
                                                          .directive = &directive});
        break;
    case SH_MEMBERSHIP_REFUSE:
        refused = action->device;
        again = action->again;
        snprintf(refusal, sizeof refusal, "%s", action->text);
        if (action->device < DEVICES)
            present[action->device] = false;
        break;
    case SH_MEMBERSHIP_NOTE:
        snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s: %s\n",
                 sh_news_name(action->news), action->text);
        break;
    case SH_MEMBERSHIP_END:
        ended = action->status != SH_OK ? 2 : 1;
        snprintf(ending, sizeof ending, "%s", action->text);
        break;
    case SH_MEMBERSHIP_RESIGN:
        resigned++;
        break;
    case SH_MEMBERSHIP_ADMIT:
        break;
    }
}

static inline void coordinate(const sh_membership_event *event)
{
    sh_membership_action action;
    sh_membership_handle(membership, event);
    while (sh_membership_next(membership, &action))
        carry_out(&action);
}

static inline void settle(void)
{
    for (bool busy = true; busy;) {
        busy = false;
        for (uint32_t i = 0; i < DEVICES; i++) {
            sh_participant *part = &parts[i];
            if (!present[i])
                continue;
            const uint32_t link = sh_participant_link(part);
            const bool linked =
                unreached == 0 ||
                sh_seat_of(part->directive.seats, part->directive.seat_count, unreached) == NULL;
            if (link != 0 && linked)
                inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_LINKED, .view = link});
            else if (link != 0 && i == 0 && !unanswered)
                inform(i, (sh_participant_event){
                              .kind = SH_PARTICIPANT_LINK_BROKEN, .view = link, .peer = unreached});
            if (part->under_way == SH_TASK_WAIT && part->notice.halted < part->directive.view &&
                !part->directive.planned && part->notice.view < part->directive.view &&
                part->notice.whole) {
                assert_int_equal(sh_participant_take(part).kind, SH_TASK_CHECK);
                inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_CHECKED,
                                                 .check = check_of[i]});
            }
            if (part->notice.serial == sent[i])
                continue;
            busy = true;
            sent[i] = part->notice.serial;
            const sh_notice notice = part->notice;
            coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE,
                                              .device = i,
                                              .notice = &notice,
                                              .address = "10.0.0.2:4711",
                                              .fingerprint = "data",
                                              .first_grain = i == 7 ? "other" : "hash"});
        }
    }
}

static inline void come_as(uint32_t device, const char *name)
{
    present[device] = true;
    sent[device] = 0;
    check_of[device] = 77;
    sh_participant_init(&parts[device], device);
    if (device > 0)
        coordinate(&(sh_membership_event){
            .kind = SH_MEMBERSHIP_HELLO, .device = device, .name = name, .version = "1"});
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_PREPARED,
                                          .whole = device == 0,
                                          .position = {0, SH_PHASE_FIRST},
                                          .grains = device == 0 ? GRAINS : 0});
}

static inline void come(uint32_t device)
{
    char name[16];
    snprintf(name, sizeof name, "d%u", device);
    come_as(device, name);
}

static inline void begin(uint32_t min_devices)
{
    sh_membership_free(membership);
    assert_ok(sh_membership_new(&membership, &(sh_membership_options){.min_devices = min_devices,
                                                                      .grains = GRAINS,
                                                                      .serving = serving,
                                                                      .name = "d0",
                                                                      .version = "1",
                                                                      .fingerprint = "data",
                                                                      .first_grain = "hash"}));
    memset(present, 0, sizeof present);
    memset(speed_of, 0, sizeof speed_of);
    notes[0] = refusal[0] = ending[0] = '\0';
    ended = 0;
    refused = unreached = 0;
    unanswered = false;
    come(0);
}

static inline void fetch(uint32_t device, sh_position position)
{
    const sh_task task = sh_participant_take(&parts[device]);
    assert_int_equal(task.kind, SH_TASK_FETCH);
    check_of[device] = 77;
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                          .transfer = task.transfer.number,
                                          .position = position,
                                          .grains = GRAINS});
    settle();
}

static inline sh_task take_run(uint32_t device, uint32_t view)
{
    const sh_task task = sh_participant_take(&parts[device]);
    assert_int_equal(task.kind, SH_TASK_RUN);
    assert_int_equal(task.view, view);
    return task;
}

static inline void pass(uint32_t device, sh_position position, uint32_t next_view)
{
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_PASSED,
                                          .position = position,
                                          .grains = GRAINS,
                                          .speed = speed_of[device],
                                          .next_view = next_view});
}

/* Runs a stage of all devices in the view, up to `steps`. Returns the announced view, or 0. */
static inline uint32_t step(uint32_t view, uint64_t steps)
{
    const uint32_t next = sh_membership_announce(membership);
    bool takes_part[DEVICES];
    for (uint32_t i = 0; i < DEVICES; i++) {
        takes_part[i] = present[i] && parts[i].notice.view == view;
        if (takes_part[i])
            (void)take_run(i, view);
    }
    if (next != 0)
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_ANNOUNCED, .view = next});
    for (uint32_t i = 0; i < DEVICES; i++)
        if (takes_part[i])
            pass(i, (sh_position){steps, SH_PHASE_FIRST}, next);
    settle();
    return next;
}

static inline void stop(uint32_t device, uint32_t first, uint32_t count)
{
    const sh_ranges held = {count > 0, {{first, count}}};
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_STOPPED, .held = &held});
}

static inline void go(uint32_t device)
{
    present[device] = false;
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_GONE, .device = device, .reason = "its connection ended"});
}

/* Devices 0 to count - 1 work in view 1, at step 0. */
static inline void work_with(uint32_t count)
{
    begin(count);
    for (uint32_t i = 1; i < count; i++)
        come(i);
    settle();
    for (uint32_t i = 1; i < count; i++)
        fetch(i, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(membership->now.number, 1);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(parts[i].notice.view, 1);
        assert_int_equal(parts[i].share.count, GRAINS / count);
    }
}

#endif
