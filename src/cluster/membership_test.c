/* SPDX-License-Identifier: Apache-2.0 */
/* A membership and its participants, with nothing between them: what one says the other hears at
 * once. Threads are the test's: it takes their tasks and says how they went. */
#include "cluster/membership.h"

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
static bool again; /* it may come back */
static int ended;  /* 1: well, 2: failed */
static sh_serving serving;

static void coordinate(const sh_membership_event *event);

static void inform(uint32_t device, sh_participant_event event)
{
    sh_participant_handle(&parts[device], &event);
}

static void carry_out(const sh_membership_action *action)
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
        snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s: %s\n", action->event,
                 action->text);
        break;
    case SH_MEMBERSHIP_END:
        ended = action->status != SH_OK ? 2 : 1;
        snprintf(ending, sizeof ending, "%s", action->text);
        break;
    case SH_MEMBERSHIP_ADMIT:
        break;
    }
}

static void coordinate(const sh_membership_event *event)
{
    sh_membership_action action;
    sh_membership_handle(membership, event);
    while (sh_membership_next(membership, &action))
        carry_out(&action);
}

/* Checks and links are made, notices sent, until nobody has anything to say. */
static void settle(void)
{
    for (bool busy = true; busy;) {
        busy = false;
        for (uint32_t i = 0; i < DEVICES; i++) {
            sh_participant *part = &parts[i];
            if (!present[i])
                continue;
            const uint32_t link = sh_participant_link(part);
            if (link != 0)
                inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_LINKED, .view = link});
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
                                              .fingerprint = "data",
                                              .family = i == 7 ? "other" : "family"});
        }
    }
}

static void come(uint32_t device)
{
    present[device] = true;
    sent[device] = 0;
    check_of[device] = 77;
    sh_participant_init(&parts[device], device);
    char name[16];
    snprintf(name, sizeof name, "d%u", device);
    if (device > 0)
        coordinate(&(sh_membership_event){
            .kind = SH_MEMBERSHIP_HELLO, .device = device, .name = name, .version = "1"});
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_PREPARED,
                                          .whole = device == 0,
                                          .position = {0, SH_PHASE_FIRST},
                                          .grains = device == 0 ? GRAINS : 0});
}

static void begin_with(uint32_t min_devices, bool mixed)
{
    sh_membership_free(membership);
    assert_ok(sh_membership_new(&membership, &(sh_membership_options){.min_devices = min_devices,
                                                                      .mixed = mixed,
                                                                      .grains = GRAINS,
                                                                      .serving = serving,
                                                                      .name = "d0",
                                                                      .version = "1",
                                                                      .fingerprint = "data",
                                                                      .family = "family"}));
    memset(present, 0, sizeof present);
    memset(speed_of, 0, sizeof speed_of);
    notes[0] = refusal[0] = ending[0] = '\0';
    ended = 0;
    refused = 0;
    come(0);
}

static void begin(uint32_t min_devices)
{
    begin_with(min_devices, false);
}

/* Takes the replica that the device is told to take. */
static void fetch(uint32_t device, sh_position position)
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

static sh_task take_run(uint32_t device, uint32_t view)
{
    const sh_task task = sh_participant_take(&parts[device]);
    assert_int_equal(task.kind, SH_TASK_RUN);
    assert_int_equal(task.view, view);
    return task;
}

static void pass(uint32_t device, sh_position position, uint32_t next_view)
{
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_PASSED,
                                          .position = position,
                                          .grains = GRAINS,
                                          .speed = speed_of[device],
                                          .next_view = next_view});
}

/* A stage of all that are in the view, to the next step. Returns what was announced. */
static uint32_t step(uint32_t view, uint64_t steps)
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

static void stop(uint32_t device, uint32_t first, uint32_t count)
{
    const sh_ranges held = {count > 0, {{first, count}}};
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_STOPPED, .held = &held});
}

static void go(uint32_t device)
{
    present[device] = false;
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_GONE, .device = device, .reason = "its connection ended"});
}

/* Devices 0 to count - 1 work in view 1, at the beginning. */
static void work_with(uint32_t count)
{
    begin(count);
    for (uint32_t i = 1; i < count; i++)
        come(i);
    settle();
    for (uint32_t i = 1; i < count; i++)
        fetch(i, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(sh_membership_view(membership), 1);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(parts[i].notice.view, 1);
        assert_int_equal(parts[i].share.count, GRAINS / count);
    }
}

static void gathers_until_enough_are_ready(void **state)
{
    (void)state;
    begin(3);
    come(1);
    settle();
    assert_int_equal(sh_membership_view(membership), 0);
    go(1);
    come(2);
    settle();
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_NONE);
    come(3);
    settle(); /* all halt; 2 and 3 take device 0's replica */
    fetch(2, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(sh_membership_view(membership), 0);
    fetch(3, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(sh_membership_view(membership), 1);
    assert_int_equal(sh_membership_devices(membership), 3);
    uint32_t grains = 0;
    for (uint32_t i = 0; i < DEVICES; i++)
        if (present[i]) {
            const sh_task task = take_run(i, 1);
            assert_true(task.dealt && !task.keep);
            grains += sh_ranges_grains(&task.work);
        }
    assert_int_equal(grains, GRAINS);
}

static void strangers_are_refused_with_a_reason(void **state)
{
    (void)state;
    work_with(2);
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_HELLO, .device = 5, .name = "old", .version = "0"});
    assert_string_equal(refusal, "this device runs shoal 0, the job shoal 1: use the same");
    assert_false(sh_membership_has(membership, 5));
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_HELLO, .device = 6, .name = "x", .version = "1"});
    const sh_notice ready = {.serial = 5, .life = SH_LIFE_READY};
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE,
                                      .device = 6,
                                      .notice = &ready,
                                      .fingerprint = "others",
                                      .family = "family"});
    assert_non_null(strstr(refusal, "its data differ from the job's"));
    assert_int_equal(refused, 6);
    assert_false(again);
    for (uint32_t i = 0; i < 260; i++)
        coordinate(&(sh_membership_event){
            .kind = SH_MEMBERSHIP_HELLO, .device = 100 + i, .name = "x", .version = "1"});
    assert_non_null(strstr(refusal, "the job has 256 devices"));
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_HELLO, .device = 100, .name = "x", .version = "1"});
    assert_string_equal(refusal, "a second hello");
    assert_int_equal(step(1, 1), 0); /* the job is unharmed */
}

static void joins_while_the_others_work(void **state)
{
    (void)state;
    work_with(2);
    come(2);
    settle();
    assert_int_equal(step(1, 1), 0);
    assert_true(parts[2].directive.transfers[0].live);
    assert_int_equal(parts[2].directive.transfers[0].donor_count, 2);
    fetch(2, (sh_position){1, SH_PHASE_FIRST}); /* up to date: all link, and work goes on */
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_LINK);
    assert_true(parts[0].directive.planned);
    assert_int_equal(step(1, 2), 2);
    assert_int_equal(parts[0].notice.view, 2);
    assert_int_equal(parts[1].notice.view, 2);
    assert_int_equal(parts[2].notice.view, 0); /* its replica is one step behind */
    assert_int_equal(sh_participant_take(&parts[2]).kind, SH_TASK_WAIT);
    inform(2, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                     .transfer = parts[2].fetching,
                                     .position = {2, SH_PHASE_FIRST},
                                     .grains = GRAINS});
    settle();
    assert_int_equal(step(2, 3), 0);
    assert_int_equal(parts[2].share.count, 4);
    assert_non_null(strstr(notes, "transfer: device d2 takes the replica from 2 others"));
    assert_non_null(strstr(notes, "whole: device d2 has all of the replica, at step 1"));
    assert_null(strstr(notes, "at step 2\n")); /* from then on it follows */
    assert_non_null(strstr(notes, "view 2: 3 devices, from step 2, 0 of its grains dealt anew"));
    assert_non_null(strstr(notes, "joined: device d2 joined with 4 of 12 grains"));
    assert_true(sh_membership_is_reproducible(membership));
}

static void say_left(uint32_t device, uint32_t left_ms)
{
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHING,
                                          .transfer = parts[device].fetching,
                                          .left_ms = left_ms});
    settle();
}

/* Three at 10 grains/s take 400 ms for a step of 12, four take 300 ms. */
static void come_to_three_that_work(void)
{
    work_with(3);
    for (uint32_t i = 0; i < 3; i++)
        speed_of[i] = (sh_speed){10, 0.01f, 0.4f};
    assert_int_equal(step(1, 1), 0);
    come(3);
    settle();
    assert_int_equal(sh_participant_take(&parts[3]).kind, SH_TASK_FETCH);
}

static void is_announced_before_it_is_whole(void **state)
{
    (void)state;
    come_to_three_that_work();
    assert_true(sh_membership_is_changing(membership));
    say_left(3, 1000); /* too early for links */
    assert_int_equal(parts[3].directive.phase, SH_DIRECTIVE_NONE);
    say_left(3, 200);
    assert_int_equal(parts[3].directive.phase, SH_DIRECTIVE_LINK);
    assert_int_equal(parts[3].notice.linked, 2);
    say_left(3, 1000);
    assert_int_equal(sh_membership_announce(membership), 0);
    say_left(3, 101);
    assert_int_equal(sh_membership_announce(membership), 0);
    say_left(3, 99);
    assert_int_equal(step(1, 2), 2);
    assert_int_equal(parts[0].notice.view, 2);
    assert_int_equal(sh_participant_take(&parts[3]).kind, SH_TASK_WAIT);
    inform(3, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                     .transfer = parts[3].fetching,
                                     .position = {2, SH_PHASE_FIRST},
                                     .grains = GRAINS});
    settle();
    assert_int_equal(step(2, 3), 0);
    assert_int_equal(parts[3].notice.position.steps, 3);
    assert_false(sh_membership_is_changing(membership));
}

/* What it was to come with does not come: the others begin the step anew, and it takes the replica
 * of those who stand still. */
static void is_announced_and_does_not_come(void **state)
{
    (void)state;
    come_to_three_that_work();
    say_left(3, 99);
    assert_int_equal(step(1, 2), 2);
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 2);
    inform(3, (sh_participant_event){.kind = SH_PARTICIPANT_FETCH_FAILED,
                                     .transfer = parts[3].fetching});
    settle();
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_HALT);
    for (uint32_t i = 0; i < 3; i++)
        stop(i, 3 * i, 3);
    settle();
    fetch(3, (sh_position){2, SH_PHASE_FIRST});
    uint32_t grains = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const sh_task task = take_run(i, 3);
        assert_int_equal(task.keep, i < 3);
        grains += sh_ranges_grains(&task.work);
        pass(i, (sh_position){3, SH_PHASE_FIRST}, 0);
    }
    assert_int_equal(grains, 3);
    settle();
    assert_int_equal(step(3, 4), 0);
}

static void joins_although_another_dies_meanwhile(void **state)
{
    (void)state;
    work_with(2);
    come(2);
    settle();
    fetch(2, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(step(1, 1), 2);
    assert_int_equal(parts[2].notice.view, 0); /* it has a seat, and is a step behind */
    go(1);
    settle();
    assert_null(strstr(notes, "joined"));
    fetch(2, (sh_position){1, SH_PHASE_FIRST});
    assert_int_equal(parts[2].notice.view, 3);
    assert_non_null(strstr(notes, "joined: device d2 joined with 6 of 12 grains"));
}

static void leaves_at_the_next_boundary(void **state)
{
    (void)state;
    work_with(3);
    inform(1, (sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
    settle();
    assert_int_equal(step(1, 1), 2);
    assert_int_equal(sh_participant_take(&parts[1]).kind, SH_TASK_END);
    assert_non_null(strstr(notes, "left: device d1 left"));
    go(1);
    assert_null(strstr(notes, "lost"));
    assert_int_equal(step(2, 2), 0);
    assert_int_equal(parts[2].share.count, 6);
}

/* The others work on, and may be alone by then; what it still needs is in its ring. */
static void who_leaves_has_its_ring_until_it_is_through(void **state)
{
    (void)state;
    work_with(3);
    inform(1, (sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
    settle();
    const uint32_t next = sh_membership_announce(membership);
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 1);
    coordinate(&(sh_membership_event){SH_MEMBERSHIP_ANNOUNCED, .view = next});
    for (uint32_t i = 0; i < 3; i += 2)
        pass(i, (sh_position){1, SH_PHASE_FIRST}, next);
    settle();
    assert_int_equal(step(next, 2), 0);
    assert_int_equal(step(next, 3), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(sh_participant_may_stand(&parts[i], 1));
    pass(1, (sh_position){1, SH_PHASE_FIRST}, next);
    settle();
    for (uint32_t i = 0; i < 3; i++)
        assert_false(sh_participant_may_stand(&parts[i], 1));
    assert_int_equal(sh_participant_take(&parts[1]).kind, SH_TASK_END);
}

static void shares_follow_what_is_measured(void **state)
{
    (void)state;
    work_with(3);
    for (uint32_t i = 0; i < 3; i++)
        speed_of[i] = (sh_speed){i == 1 ? 5 : 10, 0.01f, 0.8f};
    uint32_t steps = 0;
    while (step(1, ++steps) == 0)
        assert_true(steps < 10);
    assert_non_null(strstr(notes, "shares: shares 4 4 4 become 5 2 5: the others wait for device "
                                  "d1, whose 4 grains at 5 a second take 800.0 ms; a step of 800.0 "
                                  "ms becomes one of 500.0 ms\n"));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(take_run(i, 2).share.count, i == 1 ? 2 : 5);
        assert_int_equal(parts[i].directive.ring, 1); /* by the old links */
    }
}

static void is_dismissed_once_it_has_passed_the_last_stage(void **state)
{
    (void)state;
    work_with(2);
    inform(1, (sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
    settle();
    for (uint32_t i = 0; i < 2; i++)
        (void)take_run(i, 1);
    assert_int_equal(sh_membership_announce(membership), 2);
    coordinate(&(sh_membership_event){SH_MEMBERSHIP_ANNOUNCED, .view = 2});
    pass(0, (sh_position){1, SH_PHASE_FIRST}, 2);
    settle();
    assert_int_equal(parts[0].notice.view, 2);
    assert_false(parts[1].directive.dismissed); /* the ring is to bring it the sums */
    assert_true(sh_participant_may_stand(&parts[0], 1));
    pass(1, (sh_position){1, SH_PHASE_FIRST}, 2);
    settle();
    assert_true(parts[1].directive.dismissed);
}

static void a_death_costs_its_grains_only(void **state)
{
    (void)state;
    work_with(3);
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 1);
    go(2); /* had 8 to 11 */
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_HALT);
    assert_false(sh_participant_may_stand(&parts[0], 1));
    stop(0, 0, 4);
    stop(1, 4, 3);
    settle();
    assert_int_equal(sh_membership_view(membership), 2);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const sh_task task = take_run(i, 2);
        assert_true(task.dealt && task.keep);
        for (uint32_t j = 0; j < task.work.count; j++)
            for (uint32_t k = 0; k < task.work.items[j].count; k++)
                seen += 1u << (task.work.items[j].first + k);
        pass(i, (sh_position){1, SH_PHASE_FIRST}, 0);
    }
    assert_int_equal(seen, 0xf80); /* 7 to 11, each once */
    settle();
    assert_int_equal(step(2, 2), 0);
    assert_non_null(strstr(notes, "lost: device d2 was lost 0 ms after it was last heard"));
    assert_non_null(strstr(notes, "view 2: 2 devices, from step 0, 5 of its grains dealt anew"));
}

/* Which devices of the view serve, as device 0 has heard: bit by bit. */
static uint32_t who_serves(void)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < parts[0].directive.seat_count; i++)
        mask |= (uint32_t)parts[0].directive.seats[i].serves << parts[0].directive.seats[i].device;
    return mask;
}

static void chosen_devices_serve_and_all_for_want_of_them(void **state)
{
    (void)state;
    static const char gone[] = "servers: none of the servers that were chosen (--servers 2,5)";
    static const char back[] = "servers: a server that was chosen (--servers 2,5) takes part";
    serving = (sh_serving){.on = true, .count = 2, .devices = {2, 5}};
    work_with(3);
    assert_int_equal(who_serves(), 4);
    assert_null(strstr(notes, "servers"));
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 1);
    go(2);
    stop(0, 0, 4);
    stop(1, 4, 4);
    settle();
    assert_int_equal(who_serves(), 3);
    assert_non_null(strstr(notes, gone));
    assert_int_equal(step(2, 1), 0);
    come(5);
    settle();
    fetch(5, (sh_position){1, SH_PHASE_FIRST});
    assert_int_equal(who_serves(), 1u << 5);
    assert_null(strstr(notes, back)); /* not before it takes part */
    assert_int_equal(step(2, 2), 3);
    assert_non_null(strstr(notes, back));
    serving = (sh_serving){0};
}

static void who_has_passed_brings_the_others_along(void **state)
{
    (void)state;
    work_with(4);
    for (uint32_t i = 0; i < 4; i++)
        (void)take_run(i, 1);
    pass(0, (sh_position){1, SH_PHASE_FIRST}, 0);
    go(3);
    stop(1, 3, 3);
    stop(2, 6, 3);
    settle();
    for (uint32_t i = 1; i < 3; i++) {
        assert_int_equal(parts[i].directive.transfers[0].wanted.steps, 1);
        assert_int_equal(parts[i].directive.transfers[0].donors[0], 0);
        fetch(i, (sh_position){1, SH_PHASE_FIRST});
    }
    assert_int_equal(step(2, 2), 0);
}

/* The one that is ahead could die while it gives its replica away, and with it the job. */
static void one_that_is_alone_ahead_comes_back(void **state)
{
    (void)state;
    work_with(3);
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 1);
    pass(1, (sh_position){1, SH_PHASE_FIRST}, 0);
    go(2);
    stop(0, 0, 4);
    settle();
    fetch(1, (sh_position){0, SH_PHASE_FIRST});
    assert_true(take_run(0, 2).keep);
    assert_false(take_run(1, 2).keep);
}

static void an_odd_replica_is_brought_back(void **state)
{
    (void)state;
    work_with(3);
    assert_int_equal(step(1, 1), 0); /* proves them */
    check_of[1] = 78;
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 1);
    for (uint32_t i = 0; i < 3; i++) {
        const sh_ranges held = {1, {{4 * i, 4}}};
        inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_DIFFERED, .held = &held});
    }
    settle();
    assert_non_null(strstr(notes, "repaired: the replica of device d1 differed from the others"));
    fetch(1, (sh_position){1, SH_PHASE_FIRST});
    assert_true(take_run(0, 2).keep);
    const sh_task task = take_run(1, 2);
    assert_false(task.keep);
    assert_true(take_run(2, 2).keep);
}

/* Of two that differ nobody can say which is right: the job ends, and says who they are. */
static void two_that_differ_end_the_job(void **state)
{
    (void)state;
    work_with(2);
    assert_int_equal(step(1, 1), 0); /* proves them */
    check_of[0] = 78;
    for (uint32_t i = 0; i < 2; i++)
        (void)take_run(i, 1);
    for (uint32_t i = 0; i < 2; i++)
        inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_DIFFERED});
    settle();
    assert_int_equal(ended, 2);
    assert_string_equal(ending, "the weights of d0, d1 differ after step 1, and no majority shows "
                                "which are right: the memory of one is faulty; go on from the "
                                "checkpoint with --resume");
    assert_null(strstr(notes, "repaired")); /* who can tell */
}

static void silence_is_noticed_but_not_our_own(void **state)
{
    (void)state;
    work_with(2);
    uint64_t now = 1000;
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now});
    now += 3600000; /* the coordinator was frozen */
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now});
    assert_true(sh_membership_has(membership, 1));
    for (int i = 0; i < 20; i++) {
        now += 50;
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now});
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_HEARD, .device = 1});
    }
    assert_true(sh_membership_has(membership, 1));
    for (int i = 0; i < 9; i++) {
        assert_true(sh_membership_has(membership, 1));
        now += 50;
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now});
    }
    assert_false(sh_membership_has(membership, 1));
    assert_non_null(strstr(notes, "450 ms after it was last heard: nothing was heard of it"));
    assert_int_equal(refused, 1);
    assert_true(again);
}

static void a_link_that_keeps_breaking_costs_the_place(void **state)
{
    (void)state;
    work_with(3);
    for (uint32_t view = 1; view <= 3; view++) {
        assert_true(present[2]);
        for (uint32_t i = 0; i < 3; i++)
            (void)take_run(i, view);
        inform(0,
               (sh_participant_event){.kind = SH_PARTICIPANT_LINK_BROKEN, .view = view, .peer = 2});
        for (uint32_t i = 0; i < 3; i++)
            stop(i, 4 * i, 4);
        settle();
    }
    assert_false(present[2]);
    assert_string_equal(refusal, "its link with device d0 broke 3 times: see to the network");
    assert_int_equal(step(5, 1), 0);
}

static bool are_next(uint32_t one, uint32_t other)
{
    const sh_directive *directive = &parts[0].directive;
    for (uint32_t i = 0; i < directive->seat_count; i++) {
        const uint32_t a = directive->seats[i].device;
        const uint32_t b = directive->seats[(i + 1) % directive->seat_count].device;
        if ((a == one && b == other) || (a == other && b == one))
            return true;
    }
    return false;
}

static void those_that_cannot_link_get_others_between_them(void **state)
{
    (void)state;
    for (uint32_t peer = 0; peer < 4; peer += 2) {
        work_with(4);
        assert_true(are_next(1, peer));
        for (uint32_t i = 0; i < 4; i++)
            (void)take_run(i, 1);
        inform(1,
               (sh_participant_event){.kind = SH_PARTICIPANT_LINK_BROKEN, .view = 1, .peer = peer});
        for (uint32_t i = 0; i < 4; i++)
            stop(i, 3 * i, 3);
        settle();
        assert_false(are_next(1, peer));
        assert_int_equal(parts[0].directive.seats[0].device, 0);
        assert_int_equal(step(2, 1), 0);
        assert_true(sh_membership_devices(membership) == 4);
    }
}

/* The ring of an earlier view serves on after another one could not be linked. */
static void an_older_ring_can_break_last(void **state)
{
    (void)state;
    work_with(2);
    inform(0, (sh_participant_event){.kind = SH_PARTICIPANT_LINK_BROKEN, .view = 1, .peer = 1});
    assert_int_equal(parts[0].notice.broken, 1);
    parts[0].notice.broken = 9; /* one that was given up */
    inform(0, (sh_participant_event){.kind = SH_PARTICIPANT_LINK_BROKEN, .view = 1, .peer = 1});
    assert_int_equal(parts[0].notice.broken, 1);
}

static void the_end_is_told_once(void **state)
{
    (void)state;
    work_with(2);
    for (uint32_t i = 0; i < 2; i++)
        (void)take_run(i, 1);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ended, 0);
        inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_PASSED,
                                         .position = {1, SH_PHASE_FIRST},
                                         .finished = true});
        settle();
    }
    assert_int_equal(ended, 1);
    work_with(2);
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_GONE, .device = 0, .reason = "the disk is full"});
    assert_int_equal(ended, 2);
    assert_string_equal(ending, "the disk is full");
}

/* A slow connection: it has entered, and nobody knows yet when the others are at the end. */
static void the_end_waits_for_word_of_all(void **state)
{
    (void)state;
    work_with(2);
    sh_notice before = parts[1].notice;
    before.view = 0;
    before.serial++;
    parts[1].notice.serial = sent[1] = before.serial + 1;
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &before});
    for (uint32_t i = 0; i < 2; i++) {
        (void)take_run(i, 1);
        assert_int_equal(ended, 0);
        inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_PASSED,
                                         .position = {1, SH_PHASE_FIRST},
                                         .finished = true});
        settle();
    }
    assert_int_equal(ended, 1);
}

static void other_arithmetic_is_refused_or_told(void **state)
{
    (void)state;
    begin(2);
    come(7);
    settle();
    assert_int_equal(refused, 7);
    assert_non_null(strstr(refusal, "it computes other bits than the job's devices"));
    assert_false(sh_membership_has(membership, 7));
    assert_true(sh_membership_is_reproducible(membership));
    begin_with(2, true);
    come(7);
    settle();
    assert_non_null(strstr(notes, "family: device d7 computes other bits than device d0"));
    fetch(7, (sh_position){0, SH_PHASE_FIRST});
    assert_false(sh_membership_is_reproducible(membership));
}

static void nonsense_costs_the_place(void **state)
{
    (void)state;
    work_with(2);
    sh_notice notice = parts[1].notice;
    notice.leaving = true; /* an older one that comes late says nothing */
    notice.serial--;
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    assert_int_equal(parts[1].directive.phase, SH_DIRECTIVE_GO);
    notice.leaving = false;
    notice.serial += 2;
    notice.grains = GRAINS + 1;
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    assert_string_equal(refusal, "it sent a notice that makes no sense");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_until_enough_are_ready),
        cmocka_unit_test(strangers_are_refused_with_a_reason),
        cmocka_unit_test(joins_while_the_others_work),
        cmocka_unit_test(is_announced_before_it_is_whole),
        cmocka_unit_test(is_announced_and_does_not_come),
        cmocka_unit_test(joins_although_another_dies_meanwhile),
        cmocka_unit_test(leaves_at_the_next_boundary),
        cmocka_unit_test(who_leaves_has_its_ring_until_it_is_through),
        cmocka_unit_test(shares_follow_what_is_measured),
        cmocka_unit_test(is_dismissed_once_it_has_passed_the_last_stage),
        cmocka_unit_test(a_death_costs_its_grains_only),
        cmocka_unit_test(chosen_devices_serve_and_all_for_want_of_them),
        cmocka_unit_test(who_has_passed_brings_the_others_along),
        cmocka_unit_test(one_that_is_alone_ahead_comes_back),
        cmocka_unit_test(an_odd_replica_is_brought_back),
        cmocka_unit_test(two_that_differ_end_the_job),
        cmocka_unit_test(silence_is_noticed_but_not_our_own),
        cmocka_unit_test(a_link_that_keeps_breaking_costs_the_place),
        cmocka_unit_test(those_that_cannot_link_get_others_between_them),
        cmocka_unit_test(an_older_ring_can_break_last),
        cmocka_unit_test(the_end_is_told_once),
        cmocka_unit_test(the_end_waits_for_word_of_all),
        cmocka_unit_test(other_arithmetic_is_refused_or_told),
        cmocka_unit_test(nonsense_costs_the_place),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
