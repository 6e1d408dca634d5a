/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cluster.h"

#include "base/random.h"
#include "base/test.h"

static sh_cluster cluster;

static void begin(uint32_t min_devices, uint32_t grains)
{
    sh_cluster_init(&cluster, &(sh_cluster_options){.min_devices = min_devices,
                                                    .grains = grains,
                                                    .name = "zero",
                                                    .version = "1",
                                                    .fingerprint = "data",
                                                    .family = "fam"});
}

static void send(sh_cluster_event_kind kind, uint32_t device)
{
    sh_cluster_handle(
        &cluster, &(sh_cluster_event){kind, device, "dev", "1", "data", "fam", "cut", device == 1});
}

/* Takes the next action and checks what it is. */
static sh_cluster_action expect(sh_cluster_action_kind kind, uint32_t device)
{
    sh_cluster_action action;
    assert_true(sh_cluster_next(&cluster, &action));
    assert_int_equal(action.kind, kind);
    assert_int_equal(action.device, device);
    return action;
}

static void expect_nothing(void)
{
    sh_cluster_action action;
    assert_false(sh_cluster_next(&cluster, &action));
}

static void three_devices_from_hello_to_end(void **state)
{
    (void)state;
    begin(3, 8);
    send(SH_CLUSTER_HELLO, 1);
    expect(SH_CLUSTER_ADMIT, 1);
    send(SH_CLUSTER_HELLO, 2);
    expect(SH_CLUSTER_ADMIT, 2);
    for (uint32_t i = 0; i < 3; i++) {
        send(SH_CLUSTER_READY, 2 - i);
        assert_string_equal(expect(SH_CLUSTER_NOTE, 2 - i).text, "");
    }
    expect(SH_CLUSTER_VIEW, 0);
    assert_int_equal(cluster.view, 1);
    uint32_t next = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        const sh_member *member = &cluster.members[sh_cluster_device_at(&cluster, rank)];
        assert_int_equal(member->first_grain, next);
        assert_in_range(member->grains, 2, 3);
        next += member->grains;
    }
    assert_int_equal(next, 8);
    for (uint32_t i = 0; i < 3; i++) {
        expect_nothing();
        send(SH_CLUSTER_OPENED, i);
    }
    expect(SH_CLUSTER_START, 0);
    send(SH_CLUSTER_REPORTED, 1);
    send(SH_CLUSTER_GONE, 1); /* has reported: may go */
    send(SH_CLUSTER_REPORTED, 0);
    expect_nothing();
    send(SH_CLUSTER_REPORTED, 2);
    expect(SH_CLUSTER_END, 0);
    assert_true(sh_cluster_is_reproducible(&cluster));
}

static void the_coordinator_may_give_up(void **state)
{
    (void)state;
    begin(3, 8);
    send(SH_CLUSTER_HELLO, 1);
    expect(SH_CLUSTER_ADMIT, 1);
    send(SH_CLUSTER_GONE, 0);
    assert_string_equal(expect(SH_CLUSTER_LOSE, 0).text, "the job has ended: cut");
    send(SH_CLUSTER_GONE, 1);
    expect_nothing();
}

static void one_device_needs_nobody(void **state)
{
    (void)state;
    begin(1, 4);
    send(SH_CLUSTER_READY, 0);
    expect(SH_CLUSTER_NOTE, 0);
    expect(SH_CLUSTER_VIEW, 0);
    send(SH_CLUSTER_OPENED, 0);
    expect(SH_CLUSTER_START, 0);
    send(SH_CLUSTER_HELLO, 1);
    assert_non_null(strstr(expect(SH_CLUSTER_REFUSE, 1).text, "has begun"));
}

static void strangers_are_refused_with_a_reason(void **state)
{
    (void)state;
    begin(3, 4);
    sh_cluster_handle(&cluster,
                      &(sh_cluster_event){SH_CLUSTER_HELLO, 1, .name = "old", .version = "0"});
    assert_non_null(
        strstr(expect(SH_CLUSTER_REFUSE, 1).text, "this device runs shoal 0, the job shoal 1"));
    send(SH_CLUSTER_HELLO, 2);
    expect(SH_CLUSTER_ADMIT, 2);
    sh_cluster_handle(
        &cluster, &(sh_cluster_event){SH_CLUSTER_READY, 2, .fingerprint = "x", .family = "fam"});
    assert_non_null(strstr(expect(SH_CLUSTER_REFUSE, 2).text, "data differ"));
    send(SH_CLUSTER_READY, 2); /* crossed the refusal */
    expect_nothing();
    send(SH_CLUSTER_HELLO, SH_CLUSTER_MAX);
    assert_non_null(strstr(expect(SH_CLUSTER_REFUSE, SH_CLUSTER_MAX).text, "most"));
    send(SH_CLUSTER_GONE, SH_CLUSTER_MAX);
    send(SH_CLUSTER_REPORTED, SH_CLUSTER_MAX);
    expect_nothing();
    send(SH_CLUSTER_HELLO, 3);
    expect(SH_CLUSTER_ADMIT, 3);
    send(SH_CLUSTER_HELLO, 3);
    expect(SH_CLUSTER_REFUSE, 3);
}

static void late_preparers_are_left_out(void **state)
{
    (void)state;
    begin(2, 4);
    send(SH_CLUSTER_HELLO, 1);
    send(SH_CLUSTER_HELLO, 2);
    send(SH_CLUSTER_READY, 0);
    send(SH_CLUSTER_READY, 2);
    expect(SH_CLUSTER_ADMIT, 1);
    expect(SH_CLUSTER_ADMIT, 2);
    expect(SH_CLUSTER_NOTE, 0);
    expect(SH_CLUSTER_NOTE, 2);
    assert_non_null(strstr(expect(SH_CLUSTER_REFUSE, 1).text, "before this device was ready"));
    expect(SH_CLUSTER_VIEW, 0);
    assert_int_equal(sh_cluster_device_at(&cluster, 1), 2);
}

static void going_while_gathering_harms_nobody(void **state)
{
    (void)state;
    begin(2, 4);
    send(SH_CLUSTER_HELLO, 1);
    expect(SH_CLUSTER_ADMIT, 1);
    send(SH_CLUSTER_READY, 1);
    expect(SH_CLUSTER_NOTE, 1);
    send(SH_CLUSTER_GONE, 1);
    send(SH_CLUSTER_READY, 0);
    expect(SH_CLUSTER_NOTE, 0);
    expect_nothing(); /* one is not two */
    send(SH_CLUSTER_HELLO, 2);
    expect(SH_CLUSTER_ADMIT, 2);
    send(SH_CLUSTER_READY, 2);
    expect(SH_CLUSTER_NOTE, 2);
    expect(SH_CLUSTER_VIEW, 0);
}

static void a_loss_ends_the_job_once(void **state)
{
    (void)state;
    static const sh_cluster_event_kind last[] = {SH_CLUSTER_GONE, SH_CLUSTER_READY};
    for (int i = 0; i < 2; i++) {
        begin(2, 4);
        send(SH_CLUSTER_HELLO, 1);
        send(SH_CLUSTER_READY, 0);
        send(SH_CLUSTER_READY, 1);
        send(SH_CLUSTER_OPENED, 1);
        for (sh_cluster_action action; sh_cluster_next(&cluster, &action);)
            ;
        send(last[i], 1); /* gone, or out of turn */
        const sh_cluster_action lost = expect(SH_CLUSTER_LOSE, 1);
        assert_non_null(strstr(lost.text, i == 0 ? "device dev was lost: cut" : "out of turn"));
        send(SH_CLUSTER_GONE, 0);
        expect_nothing();
        assert_int_equal(cluster.phase, SH_CLUSTER_ENDED);
    }
}

static void other_arithmetic_is_told(void **state)
{
    (void)state;
    begin(2, 4);
    send(SH_CLUSTER_HELLO, 1);
    expect(SH_CLUSTER_ADMIT, 1);
    sh_cluster_handle(&cluster, &(sh_cluster_event){SH_CLUSTER_READY, 1, .fingerprint = "data",
                                                    .family = "other"});
    assert_non_null(strstr(expect(SH_CLUSTER_NOTE, 1).text, "not reproducible"));
    assert_false(sh_cluster_is_reproducible(&cluster));
}

/* Any events in any order: it never asserts, starts twice, or gives a grain twice. */
static void local_devices_come_first(void **state)
{
    (void)state;
    begin(4, 8);
    for (uint32_t i = 1; i < 4; i++)
        sh_cluster_handle(&cluster, &(sh_cluster_event){SH_CLUSTER_HELLO, i, .name = "dev",
                                                        .version = "1", .local = i == 3});
    for (uint32_t i = 0; i < 4; i++)
        send(SH_CLUSTER_READY, i);
    static const uint32_t order[] = {0, 3, 1, 2};
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_int_equal(sh_cluster_device_at(&cluster, rank), order[rank]);
}

static void survives_any_events(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 3000; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0);
        uint32_t starts = 0, views = 0, ends = 0;
        begin(1 + sh_random_below(&random, 3), sh_random_below(&random, 9));
        for (int i = 0; i < 60; i++) {
            sh_cluster_action action;
            send((sh_cluster_event_kind)sh_random_below(&random, 5), sh_random_below(&random, 5));
            while (sh_cluster_next(&cluster, &action)) {
                starts += action.kind == SH_CLUSTER_START;
                views += action.kind == SH_CLUSTER_VIEW;
                ends += action.kind == SH_CLUSTER_END || action.kind == SH_CLUSTER_LOSE;
            }
        }
        if (starts > 1 || views > 1 || ends > 1 || starts > views)
            fail_msg("seed %u: %u views, %u starts, %u ends", seed, views, starts, ends);
    }
}

static void knows_whom_it_has(void **state)
{
    (void)state;
    begin(2, 8);
    assert_true(sh_cluster_has(&cluster, 0));
    assert_false(sh_cluster_has(&cluster, 1));
    send(SH_CLUSTER_HELLO, 1);
    assert_true(sh_cluster_has(&cluster, 1));
    send(SH_CLUSTER_GONE, 1);
    assert_false(sh_cluster_has(&cluster, 1));
    send(SH_CLUSTER_HELLO, 2);
    for (uint32_t kind = SH_CLUSTER_READY; kind <= SH_CLUSTER_REPORTED; kind++)
        for (uint32_t device = 0; device < 3; device += 2) {
            assert_true(sh_cluster_has(&cluster, 2));
            send((sh_cluster_event_kind)kind, device);
        }
    assert_false(sh_cluster_has(&cluster, 2)); /* it is over */
    assert_false(sh_cluster_has(&cluster, SH_CLUSTER_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_devices_from_hello_to_end),
        cmocka_unit_test(the_coordinator_may_give_up),
        cmocka_unit_test(one_device_needs_nobody),
        cmocka_unit_test(strangers_are_refused_with_a_reason),
        cmocka_unit_test(late_preparers_are_left_out),
        cmocka_unit_test(going_while_gathering_harms_nobody),
        cmocka_unit_test(a_loss_ends_the_job_once),
        cmocka_unit_test(other_arithmetic_is_told),
        cmocka_unit_test(local_devices_come_first),
        cmocka_unit_test(knows_whom_it_has),
        cmocka_unit_test(survives_any_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
