/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_fixture.h"

#include <math.h>

static void joins_while_the_others_work(void **state)
{
    (void)state;
    work_with(2);
    come(2);
    settle();
    assert_int_equal(step(1, 1), 0);
    assert_true(parts[2].directive.transfers[0].live);
    assert_int_equal(parts[2].directive.transfers[0].donor_count, 2);
    fetch(2, (sh_position){1, SH_PHASE_FIRST}); /* work continues meanwhile */
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_LINK);
    assert_true(parts[0].directive.planned);
    assert_int_equal(step(1, 2), 3);
    assert_int_equal(parts[0].notice.view, 3);
    assert_int_equal(parts[1].notice.view, 3);
    assert_int_equal(parts[2].notice.view, 0); /* its replica is one step behind */
    assert_int_equal(sh_participant_take(&parts[2]).kind, SH_TASK_WAIT);
    inform(2, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                     .transfer = parts[2].fetching,
                                     .position = {2, SH_PHASE_FIRST},
                                     .grains = GRAINS});
    settle();
    assert_int_equal(step(3, 3), 0);
    assert_int_equal(parts[2].share.count, 4);
    assert_non_null(strstr(notes, "transfer: device d2 receives the replica from 2 others"));
    assert_non_null(strstr(notes, "whole: device d2 has all of the replica, at step 1"));
    assert_null(strstr(notes, "at step 2\n"));
    assert_non_null(
        strstr(notes, "view 3: 3 devices, from step 2, 0 of its grains are computed again"));
    assert_non_null(strstr(notes, "joined: device d2 joined with 4 of 12 grains"));
}

static void fail_fetch(uint32_t device, bool live)
{
    const sh_task task = sh_participant_take(&parts[device]);
    assert_int_equal(task.kind, SH_TASK_FETCH);
    assert_true(task.transfer.live == live);
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_FETCH_FAILED,
                                          .transfer = task.transfer.number});
    settle();
}

/* The steps change the weights faster than its link carries them. */
static void the_steps_wait_for_one_that_cannot_follow_them(void **state)
{
    (void)state;
    work_with(2);
    come(2);
    settle();
    assert_int_equal(step(1, 1), 0);
    fail_fetch(2, true);
    assert_int_equal(step(1, 2), 0);
    fail_fetch(2, true);
    assert_int_equal(membership->phase, SH_MEMBERSHIP_RECOVERING);
    assert_int_equal(parts[2].directive.transfers[0].wanted.steps, 2);
    fetch(2, (sh_position){2, SH_PHASE_FIRST});
    assert_int_equal(refused, 0);
    assert_int_equal(parts[2].notice.whole, true);
    assert_int_equal(parts[2].share.count, 4);

    come(3); /* and one that can never receive them is lost */
    settle();
    fail_fetch(3, true);
    fail_fetch(3, true);
    fail_fetch(3, false);
    assert_int_equal(refused, 3);
    assert_non_null(strstr(refusal, "its connection is too slow"));
}

static void say_left(uint32_t device, uint32_t left_ms)
{
    inform(device, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHING,
                                          .transfer = parts[device].fetching,
                                          .left_ms = left_ms});
    settle();
}

/* At 10 grains/s each, a step of 12 takes 400 ms with three devices, 300 ms with four. */
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
    assert_int_equal(parts[3].notice.linked, 3);
    say_left(3, 1000);
    assert_int_equal(sh_membership_announce(membership), 0);
    say_left(3, 101);
    assert_int_equal(sh_membership_announce(membership), 0);
    say_left(3, 99);
    assert_int_equal(step(1, 2), 3);
    assert_int_equal(parts[0].notice.view, 3);
    assert_int_equal(sh_participant_take(&parts[3]).kind, SH_TASK_WAIT);
    inform(3, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                     .transfer = parts[3].fetching,
                                     .position = {2, SH_PHASE_FIRST},
                                     .grains = GRAINS});
    settle();
    assert_int_equal(step(3, 3), 0);
    assert_int_equal(parts[3].notice.position.steps, 3);
    assert_false(sh_membership_is_changing(membership));
}

static void is_announced_and_does_not_come(void **state)
{
    (void)state;
    come_to_three_that_work();
    say_left(3, 99);
    assert_int_equal(step(1, 2), 3);
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 3);
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
        const sh_task task = take_run(i, 4);
        assert_int_equal(task.keep, i < 3);
        grains += sh_ranges_total(&task.work);
        pass(i, (sh_position){3, SH_PHASE_FIRST}, 0);
    }
    assert_int_equal(grains, 3);
    settle();
    assert_int_equal(step(4, 4), 0);
}

static void joins_although_another_dies_meanwhile(void **state)
{
    (void)state;
    work_with(2);
    come(2);
    settle();
    fetch(2, (sh_position){0, SH_PHASE_FIRST});
    assert_int_equal(step(1, 1), 3);
    assert_int_equal(parts[2].notice.view, 0);
    go(1);
    settle();
    assert_null(strstr(notes, "joined"));
    fetch(2, (sh_position){1, SH_PHASE_FIRST});
    assert_int_equal(parts[2].notice.view, 4);
    assert_non_null(strstr(notes, "joined: device d2 joined with 6 of 12 grains"));
}

static void who_cannot_be_reached_takes_no_replica(void **state)
{
    (void)state;
    work_with(2);
    unreached = 2;
    come(2);
    settle();
    assert_false(present[2]);
    assert_false(again);
    assert_string_equal(refusal,
                        "device d0 cannot reach device d2 at 10.0.0.2:4711: allow connections "
                        "there, or choose another port with shoal join --port N");
    assert_non_null(strstr(notes, "lost: device d2 was lost"));
    assert_null(strstr(notes, "transfer: device d2"));
    assert_int_equal(step(1, 1), 0);
}

static void who_cannot_be_reached_takes_none_to_begin_with(void **state)
{
    (void)state;
    begin(2);
    unreached = 1;
    come(1);
    settle();
    assert_false(present[1]);
    assert_non_null(strstr(refusal, "device d0 cannot reach device d1 at 10.0.0.2:4711"));
    assert_null(strstr(notes, "transfer: "));
    assert_int_equal(step(parts[0].notice.view, 1), 0);
}

/* A failed connection takes seconds, so fewer are tried while all wait. */
static void who_cannot_be_reached_after_a_loss_is_lost_soon(void **state)
{
    (void)state;
    work_with(4);
    for (uint32_t i = 0; i < 3; i++)
        (void)take_run(i, 1);
    const uint32_t ring = membership->now.ring;
    unreached = 2;
    go(3);
    for (uint32_t i = 0; i < 3; i++)
        stop(i, 0, 0);
    settle();
    assert_false(present[2]);
    assert_non_null(strstr(notes, "device d0 cannot reach device d2"));
    assert_int_equal(membership->now.seat_count, 2);
    assert_int_equal(membership->now.ring - ring, 3); /* two with device 2, one without */
}

static void nobody_waits_for_a_trial(void **state)
{
    (void)state;
    work_with(3);
    unreached = 3;
    unanswered = true;
    come(3);
    settle();
    assert_int_equal(parts[0].directive.phase, SH_DIRECTIVE_LINK);
    assert_int_equal(parts[0].directive.seat_count, 4);
    assert_false(sh_membership_is_changing(membership));
    assert_int_equal(step(1, 1), 0);
    inform(1, (sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
    settle();
    assert_int_equal(parts[0].directive.seat_count, 2);
    assert_int_not_equal(step(1, 2), 0);
    assert_int_equal(sh_participant_take(&parts[1]).kind, SH_TASK_END);
    unreached = 0;
    assert_true(present[3]);
    settle();
    assert_non_null(strstr(notes, "transfer: device d3 receives the replica"));
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

/* The old ring still carries what it needs. */
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
        assert_true(sh_participant_needs_ring(&parts[i], 1));
    pass(1, (sh_position){1, SH_PHASE_FIRST}, next);
    settle();
    for (uint32_t i = 0; i < 3; i++)
        assert_false(sh_participant_needs_ring(&parts[i], 1));
    assert_int_equal(sh_participant_take(&parts[1]).kind, SH_TASK_END);
}

static void a_liar_about_its_speed_does_not_get_all(void **state)
{
    (void)state;
    uint32_t view = 1, most = 0;
    double all_s = 0;
    work_with(3);
    for (uint64_t steps = 1; steps <= 300; steps++) {
        double step_s = 0;
        for (uint32_t i = 0; i < 3; i++)
            step_s = fmax(step_s, parts[i].share.count / 10.0);
        for (uint32_t i = 0; i < 3; i++)
            speed_of[i] = (sh_speed){i == 1 ? 1e9f : 10, 0.01f, (float)step_s};
        most = parts[1].share.count > most ? parts[1].share.count : most;
        all_s += step_s;
        const uint32_t next = step(view, steps);
        view = next != 0 ? next : view;
    }
    assert_int_equal(ended, 0);
    assert_true(most < GRAINS);
    assert_true(all_s < 1.2 * 300 * (GRAINS / 3) / 10.0); /* as with its fair share */
    assert_non_null(strstr(notes, "shares: device d1 claims 1e+09 grains a second"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_while_the_others_work),
        cmocka_unit_test(the_steps_wait_for_one_that_cannot_follow_them),
        cmocka_unit_test(is_announced_before_it_is_whole),
        cmocka_unit_test(is_announced_and_does_not_come),
        cmocka_unit_test(joins_although_another_dies_meanwhile),
        cmocka_unit_test(who_cannot_be_reached_takes_no_replica),
        cmocka_unit_test(who_cannot_be_reached_takes_none_to_begin_with),
        cmocka_unit_test(who_cannot_be_reached_after_a_loss_is_lost_soon),
        cmocka_unit_test(nobody_waits_for_a_trial),
        cmocka_unit_test(leaves_at_the_next_boundary),
        cmocka_unit_test(who_leaves_has_its_ring_until_it_is_through),
        cmocka_unit_test(a_liar_about_its_speed_does_not_get_all),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
