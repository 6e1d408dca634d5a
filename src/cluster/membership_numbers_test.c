/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_fixture.h"

/* The devices in the mask `by` add non-finite numbers to a stage. */
static void spoil(uint32_t by)
{
    const uint32_t view = membership->now.number;
    sh_task tasks[DEVICES] = {0};
    for (uint32_t i = 0; i < DEVICES; i++)
        if (present[i] && parts[i].notice.view == view)
            tasks[i] = take_run(i, view);
    for (uint32_t i = 0; i < DEVICES; i++) {
        const sh_range share = tasks[i].share;
        const sh_ranges held = {1, {share}};
        const bool own_not_finite = by >> i & 1;
        if (tasks[i].kind == SH_TASK_RUN)
            inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_NOT_FINITE,
                                             .own_not_finite = own_not_finite,
                                             .held = own_not_finite ? NULL : &held});
    }
    settle();
}

/* 99: not dealt. */
static uint32_t work_of(uint32_t device)
{
    return parts[device].dealt ? sh_ranges_total(&parts[device].work) : 99;
}

static void one_alone_is_computed_again_by_others(void **state)
{
    (void)state;
    work_with(3);
    spoil(1u << 1);
    assert_int_equal(ended, 0);
    assert_non_null(strstr(notes, "repaired: device d1 alone has non-finite numbers in step 1: "
                                  "others compute its grains again"));
    assert_int_equal(work_of(1), 0);
    assert_int_equal(work_of(0) + work_of(2), GRAINS / 3);
    assert_true(parts[0].keep && parts[2].keep);
    assert_int_equal(step(membership->now.number, 1), 0);
    assert_non_null(strstr(notes, "defect: device d1 alone had non-finite numbers in step 1"));
    assert_true(present[1]);

    spoil(1u << 1);
    assert_false(present[1]);
    assert_false(again);
    assert_string_equal(refusal, "it alone had non-finite numbers twice, last in step 2: its "
                                 "memory or processor computes wrongly");
    assert_int_equal(step(membership->now.number, 2), 0);
    assert_int_equal(ended, 0);
}

static void the_first_seat_is_spared_too(void **state)
{
    (void)state;
    work_with(2);
    spoil(1);
    assert_int_equal(work_of(0), 0);
    assert_int_equal(work_of(1), GRAINS / 2);
    assert_int_equal(step(membership->now.number, 1), 0);
    spoil(1);
    assert_int_equal(ended, 2);
    assert_non_null(strstr(ending, "this device alone had non-finite numbers twice"));
}

static void two_that_have_them_end_the_job(void **state)
{
    (void)state;
    work_with(3);
    spoil(1u << 1 | 1u << 2);
    assert_int_equal(ended, 2);
    assert_non_null(strstr(ending, "step 1: the result of several devices is no longer finite"));
}

static void another_that_has_them_too_ends_the_job(void **state)
{
    (void)state;
    work_with(3);
    spoil(1u << 1);
    assert_int_equal(ended, 0);
    spoil(1u << 2);
    assert_int_equal(ended, 2);
    assert_non_null(strstr(ending, "step 1: the result of a second device"));
}

static void a_sum_beyond_all_floats_ends_the_job(void **state)
{
    (void)state;
    work_with(3);
    spoil(0);
    assert_int_equal(ended, 2);
}

static void one_that_only_says_so_ends_nothing(void **state)
{
    (void)state;
    work_with(3);
    for (uint64_t i = 0; i < 2; i++) {
        const uint32_t view = membership->now.number;
        for (uint32_t k = 0; k < 3; k++)
            (void)take_run(k, view);
        inform(2,
               (sh_participant_event){.kind = SH_PARTICIPANT_NOT_FINITE, .own_not_finite = i == 0});
        for (uint32_t k = 0; k < 2; k++)
            inform(k, (sh_participant_event){.kind = SH_PARTICIPANT_STOPPED});
        settle();
    }
    assert_int_equal(ended, 0);
    assert_int_equal(step(membership->now.number, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_is_computed_again_by_others),
        cmocka_unit_test(the_first_seat_is_spared_too),
        cmocka_unit_test(two_that_have_them_end_the_job),
        cmocka_unit_test(another_that_has_them_too_ends_the_job),
        cmocka_unit_test(a_sum_beyond_all_floats_ends_the_job),
        cmocka_unit_test(one_that_only_says_so_ends_nothing),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
