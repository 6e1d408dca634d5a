/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_fixture.h"

static void gathers_until_enough_are_ready(void **state)
{
    (void)state;
    begin(3);
    come(1);
    settle();
    assert_int_equal(membership->now.number, 0);
    go(1);
    come(2);
    settle();
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_NONE);
    come(3);
    settle();
    fetch(2, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(membership->now.number, 0);
    fetch(3, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(membership->now.number, 1);
    assert_int_equal(parts[0].directive.seat_count, 3);
    uint32_t grains = 0;
    for (uint32_t i = 0; i < DEVICES; i++)
        if (present[i]) {
            const sh_task task = take_run(i, 1);
            assert_true(task.dealt && !task.keep);
            grains += sh_ranges_total(&task.work);
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
                                      .first_grain = "hash"});
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
    assert_int_equal(step(1, 1), 0);
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
    assert_non_null(strstr(
        notes, "shares: shares change from 4 4 4 to 5 2 5: the others wait for device d1, whose 4 "
               "grains at 5 a second take 800.0 ms; a step changes from 800.0 ms to 500.0 ms\n"));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(take_run(i, 2).share.count, i == 1 ? 2 : 5);
        assert_int_equal(parts[i].directive.ring, 1);
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
    assert_false(parts[1].directive.dismissed); /* it needs the sums of the ring */
    assert_true(sh_participant_needs_ring(&parts[0], 1));
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
    go(2); /* it had grains 8 to 11 */
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_HALT);
    assert_false(sh_participant_needs_ring(&parts[0], 1));
    stop(0, 0, 4);
    stop(1, 4, 3);
    settle();
    assert_int_equal(membership->now.number, 2);
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
    assert_non_null(strstr(notes, "lost: device d2 was lost 0 ms after its last message"));
    assert_non_null(
        strstr(notes, "view 2: 2 devices, from step 0, 5 of its grains are computed again"));
}

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
    static const char gone[] = "servers: none of the chosen servers (--servers 2,5)";
    static const char back[] = "servers: a chosen server (--servers 2,5) takes part";
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
    assert_int_equal(step(2, 2), 4);
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
    assert_int_equal(step(1, 1), 0); /* proves all */
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

static void two_that_differ_end_the_job(void **state)
{
    (void)state;
    work_with(2);
    assert_int_equal(step(1, 1), 0); /* proves both */
    check_of[0] = 78;
    for (uint32_t i = 0; i < 2; i++)
        (void)take_run(i, 1);
    for (uint32_t i = 0; i < 2; i++)
        inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_DIFFERED});
    settle();
    assert_int_equal(ended, 2);
    assert_string_equal(
        ending, "the weights of d0, d1 differ after step 1, and no majority shows which are right: "
                "one has faulty memory; continue from the checkpoint with --resume");
    assert_null(strstr(notes, "repaired"));
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
    for (int i = 0; i < 1300; i++) { /* until that pause is forgotten */
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
    assert_non_null(strstr(notes, "450 ms after its last message: nothing was heard from it"));
    assert_int_equal(refused, 1);
    assert_true(again);
}

static void hear_each(uint64_t *now_ms, uint64_t pause_ms)
{
    for (uint64_t passed_ms = 0; passed_ms < 4000; passed_ms += 50) {
        *now_ms += 50;
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = *now_ms});
        if (passed_ms % pause_ms == 0)
            coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_HEARD, .device = 1});
    }
}

static void one_that_gets_slow_is_not_lost(void **state)
{
    (void)state;
    work_with(2);
    uint64_t now_ms = 1000;
    for (uint64_t pause_ms = 100; pause_ms < 1000; pause_ms += pause_ms / 2 / 50 * 50)
        hear_each(&now_ms, pause_ms);
    assert_true(sh_membership_has(membership, 1));
    come(3);
    for (int i = 0; i < 39; i++)
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now_ms += 50});
    assert_true(sh_membership_has(membership, 3));
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now_ms += 50});
    assert_false(sh_membership_has(membership, 3));
    assert_true(sh_membership_has(membership, 1)); /* its recent pauses were nearly a second */
    for (int i = 0; i < 40; i++)
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now_ms += 50});
    assert_false(sh_membership_has(membership, 1));
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
    assert_string_equal(refusal, "its link with device d0 broke 3 times: check the network");
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
        assert_true(parts[0].directive.seat_count == 4);
    }
}

/* An earlier view's ring remains in use after a later one could not be linked. */
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

/* A slow connection delays device 1's notice that it entered the view. */
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

static void another_first_grain_is_refused(void **state)
{
    (void)state;
    const sh_notice ready = {.serial = 5, .life = SH_LIFE_READY};
    char name[65];
    begin(2);
    come(7);
    settle();
    assert_int_equal(refused, 7);
    assert_false(again);
    assert_string_equal(
        refusal,
        "device d7 computes different bits: its processor, memory or build of shoal has a defect; "
        "use another device, and please report it with its output of shoal version and lscpu");
    assert_non_null(strstr(notes, "defect: device d7 computes different bits"));
    assert_false(sh_membership_has(membership, 7));

    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_HELLO, .device = 8, .name = name, .version = "1"});
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE,
                                      .device = 8,
                                      .notice = &ready,
                                      .fingerprint = "data",
                                      .first_grain = "other"});
    assert_int_equal(refused, 8);
    assert_non_null(strstr(refusal, " lscpu"));
}

static void nonsense_costs_the_place(void **state)
{
    (void)state;
    work_with(2);
    sh_notice notice = parts[1].notice;
    notice.leaving = true;
    notice.serial--;
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    assert_int_equal(parts[1].directive.phase, SH_DIRECTIVE_GO);
    notice.leaving = false;
    notice.serial += 2;
    notice.grains = GRAINS + 1;
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    assert_string_equal(refusal, "it sent an invalid notice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_until_enough_are_ready),
        cmocka_unit_test(strangers_are_refused_with_a_reason),
        cmocka_unit_test(shares_follow_what_is_measured),
        cmocka_unit_test(is_dismissed_once_it_has_passed_the_last_stage),
        cmocka_unit_test(a_death_costs_its_grains_only),
        cmocka_unit_test(chosen_devices_serve_and_all_for_want_of_them),
        cmocka_unit_test(who_has_passed_brings_the_others_along),
        cmocka_unit_test(one_that_is_alone_ahead_comes_back),
        cmocka_unit_test(an_odd_replica_is_brought_back),
        cmocka_unit_test(two_that_differ_end_the_job),
        cmocka_unit_test(silence_is_noticed_but_not_our_own),
        cmocka_unit_test(one_that_gets_slow_is_not_lost),
        cmocka_unit_test(a_link_that_keeps_breaking_costs_the_place),
        cmocka_unit_test(those_that_cannot_link_get_others_between_them),
        cmocka_unit_test(an_older_ring_can_break_last),
        cmocka_unit_test(the_end_is_told_once),
        cmocka_unit_test(the_end_waits_for_word_of_all),
        cmocka_unit_test(another_first_grain_is_refused),
        cmocka_unit_test(nonsense_costs_the_place),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
