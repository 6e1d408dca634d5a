/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_select.h"

#include "cluster/membership_fixture.h"

#define MBIT 125000.0

static uint64_t now_ms;

static void begin_with(uint32_t used, double bytes)
{
    begin(1);
    membership->balance.spare = used != SH_STANDBY_ALL;
    sh_standby_init(&membership->standby, &(sh_lineup_job){.grains = GRAINS, .summed = bytes},
                    used);
    now_ms = 1000;
    settle();
}

static void link_of(uint32_t device, double mbit)
{
    const sh_link_speed link = {mbit * MBIT, mbit * MBIT, 0.0005};
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_LINK, .device = device, .link = &link});
}

static void tick(void)
{
    now_ms += 100;
    for (uint32_t k = 0; k < DEVICES; k++)
        if (present[k])
            coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_HEARD, .device = k});
    coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now_ms});
    settle();
}

/* Each tick has heartbeats and a step. */
static void pass_time(uint32_t *view, uint64_t *steps, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        tick();
        const uint32_t next = step(*view, ++*steps);
        *view = next != 0 ? next : *view;
        for (uint32_t k = 0; k < DEVICES; k++)
            if (present[k] && parts[k].fetching != 0 && parts[k].notice.whole)
                inform(k, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                                 .transfer = parts[k].fetching,
                                                 .position = {*steps, SH_PHASE_FIRST},
                                                 .grains = GRAINS});
        settle();
    }
}

static sh_roster_entry *entry(uint32_t device)
{
    return sh_membership_find(membership, device);
}

static void set_speeds(float rate, float step_s)
{
    for (uint32_t i = 0; i < DEVICES; i++)
        speed_of[i] = (sh_speed){rate, 0.01f, step_s};
}

static void begin_and_let_one_come(uint32_t *view, uint64_t *steps, float rate, float step_s,
                                   double mbit)
{
    *view = 1;
    *steps = 0;
    begin_with(SH_STANDBY_AUTO, 4e5);
    set_speeds(rate, step_s);
    pass_time(view, steps, 4);
    come(1);
    link_of(1, mbit);
}

/* 12 grains take 3 ms, and 400 KB on 10 Mbit/s much longer. */
static void a_device_that_would_slow_the_job_stands_by(void **state)
{
    (void)state;
    uint32_t view;
    uint64_t steps;
    begin_and_let_one_come(&view, &steps, 4000, 0.003f, 10);
    pass_time(&view, &steps, 10);
    assert_true(entry(1)->on_standby);
    assert_false(entry(1)->seated);
    assert_non_null(strstr(notes, "rests: device d1 is on standby: a step would take"));
    assert_non_null(strstr(notes, "its link of 10 Mbit/s would carry 0.4 MB a step"));
    assert_null(strstr(notes, "joined"));
    assert_int_equal(membership->transfer_count, 1);
    assert_true(membership->transfers[0].once);
    fetch(1, (sh_position){steps, SH_PHASE_FIRST});
    assert_int_equal(membership->transfer_count, 0);
    assert_true(parts[1].notice.whole);
    pass_time(&view, &steps, 20);
    assert_int_equal(membership->transfer_count, 0);
    assert_int_equal(membership->now.seat_count, 1);
    /* After ten seconds and a hundred times the duration, it receives them again. */
    pass_time(&view, &steps, 1200);
    assert_int_equal(membership->transfer_count, 1);
}

static void the_reason_follows_the_choice(void **state)
{
    (void)state;
    uint32_t view = 1;
    uint64_t steps = 0;
    begin_with(2, 4e5);
    set_speeds(4, 3);
    pass_time(&view, &steps, 4);
    come(1);
    link_of(1, 0.1);
    pass_time(&view, &steps, 10);
    assert_non_null(strstr(entry(1)->why, "its link of 0.1 Mbit/s would carry"));
    come(2);
    link_of(2, 100);
    pass_time(&view, &steps, 2);
    assert_false(entry(2)->on_standby);
    assert_non_null(strstr(entry(1)->why, "only 2 may compute"));
}

/* 12 grains take 3 s, so a device with such a link helps. */
static void a_device_that_helps_computes(void **state)
{
    (void)state;
    uint32_t view;
    uint64_t steps;
    begin_and_let_one_come(&view, &steps, 4, 3, 10);
    pass_time(&view, &steps, 2);
    assert_false(entry(1)->on_standby);
    fetch(1, (sh_position){steps, SH_PHASE_FIRST});
    pass_time(&view, &steps, 4);
    assert_true(entry(1)->seated);
    assert_null(strstr(notes, "is on standby"));
    assert_null(strstr(notes, "compared"));
    set_speeds(4, 2);
    pass_time(&view, &steps, 40);
    /* Each computes six of the twelve grains, four a second, and sends 400 KB, a quarter of which
     * computing hides. */
    assert_non_null(strstr(notes, "compared: with 2 devices a step takes 2 s; expected 1.74 s"));
    assert_non_null(strstr(notes, "curve: expected of a step: 3 s with 1, 2 s with 2 (fastest); "
                                  "with all, computing takes longest"));
    notes[0] = '\0';
    pass_time(&view, &steps, 40);
    assert_null(strstr(notes, "compared"));
}

static void a_device_goes_out_and_comes_back(void **state)
{
    (void)state;
    uint32_t view;
    uint64_t steps;
    begin_and_let_one_come(&view, &steps, 4, 0, 100);
    pass_time(&view, &steps, 2);
    fetch(1, (sh_position){steps, SH_PHASE_FIRST});
    pass_time(&view, &steps, 4);
    assert_true(entry(1)->seated);
    link_of(1, 0.1);
    for (int i = 0; i < 200; i++)
        tick();
    const uint32_t next = step(view, ++steps);
    assert_true(next > view);
    view = next;
    assert_false(entry(1)->seated);
    assert_true(present[1]);
    assert_false(entry(1)->dismissed);
    assert_int_equal(parts[1].ring, 0);
    assert_int_equal(parts[0].notice.view, view);
    assert_non_null(strstr(notes, "device d1 is on standby"));
    notes[0] = '\0';
    set_speeds(4, 3);
    pass_time(&view, &steps, 10);
    link_of(1, 100);
    pass_time(&view, &steps, 30);
    fetch(1, (sh_position){steps, SH_PHASE_FIRST});
    pass_time(&view, &steps, 4);
    assert_true(entry(1)->seated);
    assert_non_null(strstr(notes, "device d1 joined with"));
}

/* Its link carries a step's sums in a second, and a step takes less. */
static void all_stand_still_for_one_that_cannot_follow(void **state)
{
    (void)state;
    uint32_t view = 1;
    uint64_t steps = 0;
    begin_with(SH_STANDBY_AUTO, 4e5);
    membership->followed = 12.5e6;
    set_speeds(30, 0.4f);
    pass_time(&view, &steps, 4);
    come(1);
    link_of(1, 100);
    while (!entry(1)->seated && steps < 40)
        tick();
    assert_int_equal(membership->phase, SH_MEMBERSHIP_RECOVERING);
    assert_int_equal(membership->transfer_count, 1);
    assert_false(membership->transfers[0].live);
    fetch(1, (sh_position){steps, SH_PHASE_FIRST});
    assert_int_equal(membership->now.seat_count, 2);
}

static void one_that_stands_by_may_leave(void **state)
{
    (void)state;
    uint32_t view;
    uint64_t steps;
    begin_and_let_one_come(&view, &steps, 4000, 0.003f, 10);
    pass_time(&view, &steps, 3);
    inform(1, (sh_participant_event){.kind = SH_PARTICIPANT_LEAVE});
    settle();
    assert_true(parts[1].directive.dismissed);
    assert_non_null(strstr(notes, "device d1 left"));
}

static void nobody_waits_for_one_that_stands_by(void **state)
{
    (void)state;
    uint32_t view;
    uint64_t steps;
    begin_and_let_one_come(&view, &steps, 4000, 0.003f, 10);
    pass_time(&view, &steps, 3);
    go(1);
    assert_int_equal(membership->phase, SH_MEMBERSHIP_STEADY);
    assert_int_equal(membership->now.number, view);
}

static void those_of_the_first_view_are_left_out_later(void **state)
{
    (void)state;
    uint32_t view = 1;
    uint64_t steps = 0;
    sh_membership_free(membership);
    assert_ok(sh_membership_new(&membership, &(sh_membership_options){
                                                 .min_devices = 3,
                                                 .grains = GRAINS,
                                                 .used = SH_STANDBY_AUTO,
                                                 .lineup = {.summed = 4e5},
                                                 .name = "d0",
                                                 .version = "1",
                                                 .fingerprint = "data",
                                                 .first_grain = "hash",
                                             }));
    memset(present, 0, sizeof present);
    notes[0] = '\0';
    ended = 0;
    now_ms = 1000;
    set_speeds(4000, 0.4f);
    for (uint32_t i = 0; i < 3; i++)
        come(i);
    settle();
    for (uint32_t i = 1; i < 3; i++) {
        fetch(i, (sh_position){0, SH_PHASE_FIRST});
        link_of(i, 10);
    }
    assert_int_equal(membership->now.seat_count, 3);
    pass_time(&view, &steps, 5); /* the loss so far is below the price of a change */
    assert_int_equal(membership->now.seat_count, 3);
    pass_time(&view, &steps, 15);
    assert_int_equal(membership->now.seat_count, 1);
    assert_non_null(strstr(notes, "device d1 is on standby"));
    assert_non_null(strstr(notes, "device d2 is on standby"));
    assert_true(parts[1].notice.whole && parts[2].notice.whole);
}

/* Two may compute: the third replaces a lost one at once. */
static void a_free_place_is_taken_at_once(void **state)
{
    (void)state;
    uint32_t view = 1;
    uint64_t steps = 0;
    begin_with(2, 4e5);
    set_speeds(4, 0);
    pass_time(&view, &steps, 4);
    for (uint32_t i = 1; i < 3; i++) {
        come(i);
        link_of(i, 100);
        pass_time(&view, &steps, 2);
        fetch(i, (sh_position){steps, SH_PHASE_FIRST});
        pass_time(&view, &steps, 4);
    }
    assert_true(entry(1)->seated);
    assert_true(entry(2)->on_standby);
    go(1);
    settle();
    view = membership->now.number;
    pass_time(&view, &steps, 3);
    assert_false(entry(2)->on_standby);
}

static void all_compute_where_the_user_wants_it(void **state)
{
    (void)state;
    uint32_t view = 1;
    uint64_t steps = 0;
    begin_with(SH_STANDBY_ALL, 4e5);
    set_speeds(4000, 0.003f);
    pass_time(&view, &steps, 4);
    come(1);
    link_of(1, 0.01);
    settle();
    fetch(1, (sh_position){steps, SH_PHASE_FIRST});
    pass_time(&view, &steps, 40);
    assert_true(entry(1)->seated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_would_slow_the_job_stands_by),
        cmocka_unit_test(the_reason_follows_the_choice),
        cmocka_unit_test(a_device_that_helps_computes),
        cmocka_unit_test(a_device_goes_out_and_comes_back),
        cmocka_unit_test(all_stand_still_for_one_that_cannot_follow),
        cmocka_unit_test(one_that_stands_by_may_leave),
        cmocka_unit_test(nobody_waits_for_one_that_stands_by),
        cmocka_unit_test(those_of_the_first_view_are_left_out_later),
        cmocka_unit_test(a_free_place_is_taken_at_once),
        cmocka_unit_test(all_compute_where_the_user_wants_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
