/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/membership_fixture.h"

#define CHECK 77

static uint32_t view;

/* Starts `count` devices with a step together, so that their checks count. */
static void prove(uint32_t count)
{
    work_with(count);
    assert_int_equal(step(1, 1), 0);
    view = 1;
}

/* Runs a stage whose checks differ. `word`: the check that device `liar` adds to the sum;
 * `own_check`: the one that it reports. */
static void differ(uint32_t liar, uint64_t word, uint64_t own_check)
{
    uint64_t total = 0;
    view = membership->now.number;
    for (uint32_t i = 0; i < DEVICES; i++) {
        if (!present[i] || parts[i].notice.view != view)
            continue;
        (void)take_run(i, view);
        total += i == liar ? word : check_of[i];
    }
    for (uint32_t i = 0; i < DEVICES; i++)
        if (parts[i].under_way == SH_TASK_RUN && present[i])
            inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_DIFFERED,
                                             .own_check = i == liar ? own_check : check_of[i],
                                             .total = total});
    settle();
}

static void differ_by_weights(uint32_t device)
{
    check_of[device] = CHECK + 1;
    differ(device, CHECK + 1, CHECK + 1);
}

static void stuck_bits_are_put_out_after_three_repairs(void **state)
{
    (void)state;
    uint32_t donors[4] = {0};
    prove(4);
    for (uint32_t repair = 1; repair <= 3; repair++) {
        differ_by_weights(2);
        assert_true(present[2]);
        const sh_transfer *transfer = &parts[2].directive.transfers[0];
        assert_int_equal(transfer->donor_count, repair == 1 ? 3 : 1);
        donors[repair] = transfer->donors[0];
        fetch(2, (sh_position){1, SH_PHASE_FIRST});
    }
    assert_true(donors[2] != donors[3]);
    differ_by_weights(2);
    assert_false(present[2]);
    assert_int_equal(refused, 2);
    assert_false(again);
    assert_string_equal(
        refusal,
        "its replica differed 4 times, last at step 1: its memory or processor computes wrongly");
    assert_non_null(strstr(notes, "lost: device d2 is evicted: its replica differed 4 times"));
    assert_null(strstr(notes, "reported a wrong check"));
    assert_int_equal(ended, 0);
    assert_int_equal(step(membership->now.number, 2), 0);
}

/* Other devices are lost before its replica is restored: that is no further fault of it. */
static void losses_during_a_repair_are_no_faults(void **state)
{
    (void)state;
    prove(6);
    differ_by_weights(2);
    for (uint32_t lost = 5; lost > 2; lost--) {
        go(lost);
        settle();
        assert_true(present[2]);
    }
    fetch(2, (sh_position){1, SH_PHASE_FIRST});
    assert_int_equal(step(membership->now.number, 2), 0);
    assert_null(strstr(notes, "evicted"));
}

static void each_donor_is_tried_alone(void **state)
{
    (void)state;
    uint32_t donors[4] = {0};
    prove(3);
    differ_by_weights(2); /* moves the turn among donors to device 1 */
    fetch(2, (sh_position){1, SH_PHASE_FIRST});
    assert_int_equal(step(membership->now.number, 2), 0);
    for (uint32_t repair = 1; repair <= 3; repair++) {
        differ_by_weights(1);
        donors[repair] = parts[1].directive.transfers[0].donors[0];
        fetch(1, (sh_position){2, SH_PHASE_FIRST});
    }
    assert_true(donors[2] != donors[3]);
}

static void a_step_between_repairs_forgives_most_of_them(void **state)
{
    (void)state;
    prove(3);
    for (uint64_t steps = 1; steps <= 6; steps++) {
        differ_by_weights(1);
        assert_true(present[1]);
        fetch(1, (sh_position){steps, SH_PHASE_FIRST});
        assert_int_equal(step(membership->now.number, steps + 1), 0);
    }
}

static void one_that_comes_back_is_put_out_at_its_first_fault(void **state)
{
    (void)state;
    prove(3);
    for (uint32_t repair = 1; repair <= 3; repair++) {
        differ_by_weights(2);
        fetch(2, (sh_position){1, SH_PHASE_FIRST});
    }
    differ_by_weights(2);
    assert_false(present[2]);
    assert_int_equal(step(membership->now.number, 2), 0);
    come_as(3, "d2");
    settle();
    fetch(3, (sh_position){2, SH_PHASE_FIRST});
    assert_true(step(membership->now.number, 3) > 0);
    inform(3, (sh_participant_event){.kind = SH_PARTICIPANT_FETCHED,
                                     .transfer = parts[3].fetching,
                                     .position = {3, SH_PHASE_FIRST},
                                     .grains = GRAINS});
    settle();
    assert_int_equal(parts[3].notice.view, membership->now.number);
    differ_by_weights(3);
    assert_false(present[3]);
    assert_non_null(strstr(refusal, "it rejoined, and its replica differs again"));
}

static void a_wrong_check_in_a_trailer_names_its_device(void **state)
{
    (void)state;
    prove(3);
    for (uint32_t i = 0; i < 3; i++) {
        differ(1, CHECK + 4, CHECK + 4);
        assert_true(present[1]);
        assert_int_equal(membership->transfer_count, 0); /* its weights are right */
        for (uint32_t k = 0; k < 3; k++)
            assert_false(parts[k].keep);
    }
    assert_non_null(strstr(notes, "repaired: device d1 reported a wrong check of its weights"));
    differ(1, CHECK + 4, CHECK + 4);
    assert_false(present[1]);
    assert_false(again);
    assert_non_null(strstr(refusal, "its check of the weights in a sum differed 4 times"));
    assert_int_equal(ended, 0);
    assert_int_equal(step(membership->now.number, 2), 0);
}

static void one_that_says_otherwise_than_it_adds_is_found_by_trial(void **state)
{
    (void)state;
    prove(4);
    for (uint32_t i = 0; i < 3; i++)
        differ(2, CHECK + 9, CHECK);
    assert_true(present[1] && present[2] && present[3]);
    differ(2, CHECK + 9, CHECK);
    assert_false(present[3]); /* the newest, which may rejoin */
    assert_true(again);
    differ(2, CHECK + 9, CHECK);
    assert_false(present[2]);
    assert_true(present[1]);
    assert_int_equal(ended, 0);
    assert_int_equal(step(membership->now.number, 2), 0);
    assert_non_null(strstr(notes, "defect: without device d2 the checks in the sums agree"));
    come_as(5, "d3");
    assert_true(present[5]);
    come_as(6, "d2");
    assert_false(present[6]);
    assert_non_null(strstr(refusal, "the checks of the weights disagree only with device d2"));
}

static void one_that_only_says_that_it_differs_is_put_out(void **state)
{
    (void)state;
    prove(3);
    for (uint64_t i = 0; i < 4; i++) {
        view = membership->now.number;
        for (uint32_t k = 0; k < 3; k++)
            (void)take_run(k, view);
        inform(2, (sh_participant_event){
                      .kind = SH_PARTICIPANT_DIFFERED, .own_check = CHECK, .total = 3 * CHECK});
        for (uint32_t k = 0; k < 2; k++)
            inform(k, (sh_participant_event){.kind = SH_PARTICIPANT_STOPPED, .own_check = CHECK});
        settle();
    }
    assert_false(present[2]);
    assert_int_equal(ended, 0);
    assert_int_equal(step(membership->now.number, 2), 0);
}

static void the_coordinators_own_faults_end_the_job(void **state)
{
    (void)state;
    prove(3);
    for (uint32_t repair = 1; repair <= 3; repair++) {
        differ_by_weights(0);
        fetch(0, (sh_position){1, SH_PHASE_FIRST});
    }
    differ_by_weights(0);
    assert_int_equal(ended, 2);
    assert_non_null(strstr(ending, "its replica differed from the other devices' 4 times, last at "
                                   "step 1: its memory or processor computes wrongly"));
}

static void a_view_that_never_was_cannot_differ(void **state)
{
    (void)state;
    prove(2);
    sh_notice notice = parts[1].notice;
    notice.serial++;
    notice.differing = 900;
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    assert_string_equal(refusal, "it sent an invalid notice");
}

static void a_replica_that_was_not_to_be_taken_is_no_news(void **state)
{
    (void)state;
    prove(2);
    notes[0] = '\0';
    sh_notice notice = parts[1].notice;
    for (uint64_t i = 0; i < 100; i++) {
        notice.serial++;
        notice.fetched = 1000 + i;
        coordinate(
            &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    }
    assert_string_equal(notes, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stuck_bits_are_put_out_after_three_repairs),
        cmocka_unit_test(losses_during_a_repair_are_no_faults),
        cmocka_unit_test(each_donor_is_tried_alone),
        cmocka_unit_test(a_step_between_repairs_forgives_most_of_them),
        cmocka_unit_test(one_that_comes_back_is_put_out_at_its_first_fault),
        cmocka_unit_test(a_wrong_check_in_a_trailer_names_its_device),
        cmocka_unit_test(one_that_says_otherwise_than_it_adds_is_found_by_trial),
        cmocka_unit_test(one_that_only_says_that_it_differs_is_put_out),
        cmocka_unit_test(the_coordinators_own_faults_end_the_job),
        cmocka_unit_test(a_view_that_never_was_cannot_differ),
        cmocka_unit_test(a_replica_that_was_not_to_be_taken_is_no_news),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
