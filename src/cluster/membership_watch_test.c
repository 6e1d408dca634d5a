/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_fixture.h"

static uint64_t now_ms = 1000;

static void says(uint32_t device, sh_activity activity)
{
    parts[device].notice.doing.activity = activity;
}

static void gets_on(uint32_t device)
{
    parts[device].notice.doing.progress++;
}

static void is_stuck(uint32_t device, uint32_t peer, uint32_t ms)
{
    parts[device].notice.doing.stuck_peer = peer;
    parts[device].notice.doing.stuck_ms = ms;
}

static uint32_t silent; /* its heartbeats do not arrive; 0: none */

/* Each heartbeat is followed by a tick. */
static void pass_time(uint64_t ms)
{
    for (uint64_t passed = 0; passed < ms && ended == 0; passed += 100) {
        for (uint32_t i = 0; i < DEVICES; i++) {
            if (!present[i] || (silent != 0 && i == silent))
                continue;
            const sh_notice notice = parts[i].notice;
            coordinate(&(sh_membership_event){
                .kind = SH_MEMBERSHIP_NOTICE, .device = i, .notice = &notice});
        }
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now_ms += 100});
    }
}

static void compute_with(uint32_t count)
{
    memset(parts, 0, sizeof parts);
    work_with(count);
    for (uint32_t i = 0; i < count; i++)
        (void)take_run(i, 1);
    pass_time(300);
    says(1, SH_ACTIVITY_COMPUTES);
    pass_time(200);
}

static void follow(void)
{
    for (uint32_t i = 0; i < DEVICES; i++)
        if (present[i] && parts[i].under_way == SH_TASK_RUN)
            stop(i, 0, 0);
    settle();
}

static void one_that_hangs_is_told_of_and_put_out(void **state)
{
    (void)state;
    compute_with(3);
    pass_time(1600);
    assert_null(strstr(notes, "waited: "));
    pass_time(600);
    assert_non_null(strstr(notes, "waited: the others wait for device d1: it computes"));
    assert_int_equal(refused, 0);
    pass_time(2000);
    assert_int_equal(refused, 1);
    assert_true(again);
    assert_non_null(strstr(refusal, "it computes, and made no progress for 4.0 s"));
    assert_non_null(strstr(notes, "lost: device d1 was lost"));
    follow();
    assert_int_equal(membership->phase, SH_MEMBERSHIP_STEADY);
    assert_int_equal(membership->now.seat_count, 2);
    assert_int_equal(parts[0].work.count + parts[2].work.count > 0, 1);
}

static void one_that_is_slow_stays(void **state)
{
    (void)state;
    compute_with(3);
    for (int i = 0; i < 20; i++) {
        pass_time(3500);
        gets_on(1);
        assert_int_equal(refused, 0);
    }
    pass_time(14000); /* within four times its longest pauses */
    assert_int_equal(refused, 0);
    pass_time(1500);
    assert_int_equal(refused, 1);
}

static void one_that_was_slow_before_the_job_stays(void **state)
{
    (void)state;
    memset(parts, 0, sizeof parts);
    begin(2);
    settle();
    present[1] = true;
    sent[1] = 0;
    check_of[1] = 77;
    sh_participant_init(&parts[1], 1);
    coordinate(&(sh_membership_event){
        .kind = SH_MEMBERSHIP_HELLO, .device = 1, .name = "d1", .version = "1"});
    says(1, SH_ACTIVITY_COMPUTES);
    for (int i = 0; i < 2; i++) {
        pass_time(3000);
        gets_on(1);
    }
    pass_time(100);
    says(1, SH_ACTIVITY_WAITS);
    inform(1, (sh_participant_event){.kind = SH_PARTICIPANT_PREPARED});
    settle();
    fetch(1, (sh_position){0, SH_PHASE_FIRST});
    pass_time(100000);
    (void)take_run(1, 1);
    says(1, SH_ACTIVITY_COMPUTES);
    pass_time(11000);
    assert_int_equal(refused, 0);
}

static void pauses_of_another_kind_do_not_count(void **state)
{
    (void)state;
    static const sh_activity others[] = {SH_ACTIVITY_READS, SH_ACTIVITY_TAKES};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        compute_with(3);
        says(1, others[i]);
        pass_time(3000);
        gets_on(1);
        pass_time(100);
        says(1, SH_ACTIVITY_COMPUTES);
        pass_time(3900);
        assert_int_equal(refused, 0);
        pass_time(300);
        assert_int_equal(refused, 1);
        assert_non_null(strstr(refusal, "it computes, and made no progress for 4.0 s"));
    }
}

static void those_that_wait_are_not_put_out(void **state)
{
    (void)state;
    compute_with(3);
    for (int i = 0; i < 3000; i++) {
        gets_on(1);
        pass_time(100);
    }
    assert_int_equal(refused, 0);
    assert_null(strstr(notes, "waited: "));
}

static void the_silent_do_not_count_as_hung(void **state)
{
    (void)state;
    compute_with(3);
    for (int i = 0; i < 3; i++) { /* it is heard every 1.5 s */
        present[1] = false;
        pass_time(1500);
        present[1] = true;
        gets_on(1);
        pass_time(100);
    }
    present[1] = false;
    pass_time(5900);
    assert_int_equal(refused, 0);
    pass_time(600);
    assert_int_equal(refused, 1);
    assert_string_equal(refusal, "nothing was heard from it");
}

static void the_words_say_what_it_did(void **state)
{
    (void)state;
    compute_with(2);
    says(1, SH_ACTIVITY_READS);
    pass_time(5100);
    assert_int_equal(refused, 1);
    assert_non_null(strstr(refusal, "it reads samples, and made no progress"));
    assert_non_null(strstr(refusal, "check its disk"));
}

static void device_0_is_told_of_and_resigns(void **state)
{
    (void)state;
    compute_with(2);
    resigned = 0;
    says(0, SH_ACTIVITY_READS);
    says(1, SH_ACTIVITY_WAITS);
    pass_time(3900);
    assert_int_equal(resigned, 0);
    pass_time(1000);
    assert_int_equal(resigned, 1);
    pass_time(50000);
    assert_int_equal(resigned, 51);
    assert_int_equal(refused, 0);
    assert_int_equal(ended, 0);
    assert_non_null(strstr(notes, "the others wait for device d0: it reads samples"));
    assert_null(strstr(strstr(notes, "waited: ") + 1, "waited: "));
    gets_on(0);
    pass_time(2000);
    assert_int_equal(resigned, 51);
}

static void device_0_that_does_not_follow_resigns(void **state)
{
    (void)state;
    compute_with(4);
    resigned = 0;
    says(1, SH_ACTIVITY_WAITS);
    go(3);
    stop(1, 0, 0);
    stop(2, 0, 0);
    settle();
    pass_time(1900);
    assert_int_equal(resigned, 0);
    pass_time(300);
    assert_int_equal(resigned, 1);
    assert_int_equal(refused, 0);
}

static void two_hang_at_once(void **state)
{
    (void)state;
    compute_with(4);
    says(3, SH_ACTIVITY_READS);
    pass_time(5500);
    assert_false(present[1] || present[3]);
    follow();
    assert_int_equal(membership->now.seat_count, 2);
    assert_int_equal(membership->phase, SH_MEMBERSHIP_STEADY);
}

/* The others have stopped; device 1 hangs in its last grain. */
static void one_that_hangs_in_a_halt_is_put_out(void **state)
{
    (void)state;
    compute_with(4);
    go(3);
    stop(0, 0, 0);
    stop(2, 0, 0);
    settle();
    assert_int_equal(membership->phase, SH_MEMBERSHIP_HALTING);
    pass_time(5500);
    assert_int_equal(refused, 1);
    settle();
    assert_int_equal(membership->now.seat_count, 2);
    assert_int_equal(membership->phase, SH_MEMBERSHIP_STEADY);
}

static void one_that_does_not_follow_is_put_out(void **state)
{
    (void)state;
    compute_with(4);
    says(1, SH_ACTIVITY_WAITS);
    go(3);
    stop(0, 0, 0);
    stop(2, 0, 0);
    settle();
    pass_time(1900);
    assert_int_equal(refused, 0);
    pass_time(300);
    assert_int_equal(refused, 1);
    assert_non_null(strstr(refusal, "did not follow the coordinator"));
}

static void two_that_do_not_follow_are_put_out_together(void **state)
{
    (void)state;
    compute_with(6);
    says(1, SH_ACTIVITY_WAITS);
    go(5);
    stop(0, 0, 0);
    stop(3, 0, 0);
    settle();
    pass_time(1900);
    assert_int_equal(refused, 0);
    go(4);
    pass_time(400);
    assert_false(present[1] || present[2]);
    settle();
    assert_int_equal(membership->now.seat_count, 2);
    assert_int_equal(membership->phase, SH_MEMBERSHIP_STEADY);
}

static void one_that_follows_slowly_stays(void **state)
{
    (void)state;
    compute_with(4);
    pass_time(900);
    gets_on(1);
    pass_time(100);
    says(1, SH_ACTIVITY_WAITS);
    go(3);
    stop(0, 0, 0);
    stop(2, 0, 0);
    settle();
    pass_time(3500);
    assert_int_equal(refused, 0);
    stop(1, 0, 0);
    settle();
    assert_int_equal(membership->phase, SH_MEMBERSHIP_STEADY);
    assert_int_equal(membership->now.seat_count, 3);
}

static void of_a_stuck_link_the_later_end_is_put_out(void **state)
{
    (void)state;
    compute_with(3);
    says(1, SH_ACTIVITY_WAITS);
    pass_time(4000);
    is_stuck(2, 1, 3900);
    pass_time(200);
    assert_int_equal(refused, 0);
    is_stuck(2, 1, 4000);
    pass_time(100);
    assert_int_equal(refused, 2);
    assert_false(again);
    assert_non_null(strstr(refusal, "from device d2 to device d1 for 4.0 s"));
}

static void a_link_whose_reader_hung_is_not_stuck(void **state)
{
    (void)state;
    compute_with(3);
    pass_time(3700);
    is_stuck(2, 1, 4000);
    says(1, SH_ACTIVITY_WAITS);
    pass_time(800);
    assert_int_equal(refused, 0);
    is_stuck(2, 1, 0); /* it has read */
    pass_time(5000);
    assert_int_equal(refused, 0);
    is_stuck(2, 1, 4000);
    pass_time(100);
    assert_int_equal(refused, 2);
}

/* Device 1 is often late: its silence counts as a loss only after 8 s. */
static void a_silent_device_is_not_known_to_wait(void **state)
{
    (void)state;
    compute_with(3);
    says(1, SH_ACTIVITY_WAITS);
    for (int i = 0; i < 8; i++) { /* pauses of 400, 800, ... 2000 ms */
        silent = 1;
        pass_time(i < 4 ? 400 * (uint64_t)(i + 1) : 2000);
        silent = 0;
        pass_time(400);
    }
    assert_int_equal(refused, 0);
    silent = 1;
    pass_time(1000);
    is_stuck(2, 1, 4100);
    pass_time(4000);
    silent = 0;
    assert_int_equal(refused, 0);
    assert_true(present[1] && present[2]);
    pass_time(100); /* heard again, and the link is stuck indeed */
    assert_int_equal(refused, 2);
}

/* The receiver works, or its own link is stuck. */
static void links_to_those_that_cannot_take_are_not_stuck(void **state)
{
    (void)state;
    compute_with(3);
    is_stuck(0, 1, 60000);
    for (int i = 0; i < 100; i++) {
        gets_on(1);
        pass_time(100);
    }
    assert_int_equal(refused, 0);
    says(1, SH_ACTIVITY_WAITS);
    is_stuck(1, 2, 3000);
    pass_time(1000);
    assert_int_equal(refused, 1); /* now it is this link's */
}

static void the_last_of_a_chain_of_stuck_links_is_meant(void **state)
{
    (void)state;
    compute_with(3);
    says(1, SH_ACTIVITY_WAITS);
    is_stuck(0, 1, 9000);
    is_stuck(1, 2, 8000);
    pass_time(5100);
    assert_int_equal(refused, 2);
    assert_non_null(strstr(refusal, "from device d1 to device d2"));
}

static void more_devices_are_parted_first(void **state)
{
    (void)state;
    compute_with(4);
    says(1, SH_ACTIVITY_WAITS);
    pass_time(4000);
    is_stuck(1, 2, 4000);
    pass_time(100);
    assert_int_equal(refused, 0);
    assert_non_null(strstr(notes, "from device d1 to device d2 for 4.0 s: they are separated"));
    is_stuck(1, 0, 0);
    follow();
    assert_int_equal(membership->now.seat_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const sh_seat *seats = membership->now.seats;
        const uint32_t a = seats[i].device, b = seats[(i + 1) % 4].device;
        assert_false((a == 1 && b == 2) || (a == 2 && b == 1));
    }
}

static void a_link_is_judged_only_where_no_stage_passes(void **state)
{
    (void)state;
    compute_with(2);
    says(1, SH_ACTIVITY_WAITS);
    is_stuck(0, 1, 4000);
    pass_time(3000);
    pass(0, (sh_position){1, SH_PHASE_FIRST}, 0);
    pass(1, (sh_position){1, SH_PHASE_FIRST}, 0);
    settle();
    pass_time(3000);
    assert_int_equal(refused, 0);
    pass_time(1200);
    assert_int_equal(refused, 1);
}

static void a_transfer_that_stands_still_begins_anew(void **state)
{
    (void)state;
    memset(parts, 0, sizeof parts);
    begin(2);
    come(1);
    settle();
    for (int attempt = 1; attempt <= 3; attempt++) {
        assert_int_equal(refused, 0);
        const sh_task task = sh_participant_take(&parts[1]);
        assert_int_equal(task.kind, SH_TASK_FETCH);
        assert_int_equal(task.transfer.number, membership->last_transfer);
        says(1, SH_ACTIVITY_TAKES);
        pass_time(3000);
        gets_on(1);
        uint64_t waited_ms = 0;
        for (; refused == 0 && membership->last_transfer == task.transfer.number; waited_ms += 100)
            pass_time(100);
        assert_in_range(waited_ms, 5500, 6500); /* twice that piece's time */
    }
    assert_int_equal(refused, 1);
    assert_non_null(strstr(refusal, "could not receive a replica"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_hangs_is_told_of_and_put_out),
        cmocka_unit_test(one_that_is_slow_stays),
        cmocka_unit_test(one_that_was_slow_before_the_job_stays),
        cmocka_unit_test(pauses_of_another_kind_do_not_count),
        cmocka_unit_test(those_that_wait_are_not_put_out),
        cmocka_unit_test(the_silent_do_not_count_as_hung),
        cmocka_unit_test(the_words_say_what_it_did),
        cmocka_unit_test(device_0_is_told_of_and_resigns),
        cmocka_unit_test(device_0_that_does_not_follow_resigns),
        cmocka_unit_test(two_hang_at_once),
        cmocka_unit_test(one_that_hangs_in_a_halt_is_put_out),
        cmocka_unit_test(one_that_does_not_follow_is_put_out),
        cmocka_unit_test(two_that_do_not_follow_are_put_out_together),
        cmocka_unit_test(one_that_follows_slowly_stays),
        cmocka_unit_test(of_a_stuck_link_the_later_end_is_put_out),
        cmocka_unit_test(a_link_whose_reader_hung_is_not_stuck),
        cmocka_unit_test(a_silent_device_is_not_known_to_wait),
        cmocka_unit_test(links_to_those_that_cannot_take_are_not_stuck),
        cmocka_unit_test(the_last_of_a_chain_of_stuck_links_is_meant),
        cmocka_unit_test(more_devices_are_parted_first),
        cmocka_unit_test(a_link_is_judged_only_where_no_stage_passes),
        cmocka_unit_test(a_transfer_that_stands_still_begins_anew),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
