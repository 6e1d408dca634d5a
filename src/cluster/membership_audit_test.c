/* SPDX-License-Identifier: Apache-2.0 */
/* Audits of steps, with devices that lie in what they add, commit to, or answer. */
#include "cluster/membership_fixture.h"

#include "cluster/audit_fixture.h"
#include "cluster/membership_audit.h"

/* Lies of a device. */
static uint64_t adds[DEVICES], commits[DEVICES], answers[DEVICES];
static uint32_t idle = DEVICES;  /* this device has no grains */
static uint32_t skips = DEVICES; /* this one leaves out its last grain */
static bool late[DEVICES];       /* sums are still on their way to these devices */
static uint32_t seed;            /* who computes what again */
static uint32_t audited;         /* grains that all devices computed again */

static void work(uint32_t count, double part)
{
    work_with(count);
    membership->audit.part = part;
    memset(adds, 0, sizeof adds);
    memset(commits, 0, sizeof commits);
    memset(answers, 0, sizeof answers);
    memset(late, 0, sizeof late);
    audited = 0;
}

static bool takes_part(uint32_t device)
{
    return present[device] && parts[device].notice.view == membership->now.number;
}

/* Sums a step; all commit to what they added. Returns the key of its audit, or 0. */
static uint32_t sum_up(void)
{
    sh_audit_report reports[DEVICES] = {0};
    sh_sum_check total = {0};
    const uint32_t random[4] = {0, 2, 0, seed++};
    const uint32_t key = sh_membership_draw_audit(membership, membership->now.number,
                                                  parts[0].notice.position, random);
    if (key == 0)
        return 0;
    for (uint32_t i = 0; i < DEVICES; i++) {
        if (!takes_part(i))
            continue;
        const sh_task task = take_run(i, membership->now.number);
        reports[i] = (sh_audit_report){.key = key, .grains = {task.share.count > 0, {task.share}}};
        if (task.dealt) {
            reports[i].grains = task.keep ? parts[i].notice.held : (sh_ranges){0};
            assert_true(sh_ranges_add_all(&reports[i].grains, &task.work));
        }
        if (i == skips)
            reports[i].grains.items[0].count--;
        if (i == idle)
            reports[i].grains.count = 0;
        reports[i].own = result(&reports[i].grains, adds[i] + commits[i]);
        const sh_sum_check own = result(&reports[i].grains, adds[i]);
        sh_sum_check_merge(&total, &own);
    }
    for (uint32_t i = 0; i < DEVICES; i++)
        if (reports[i].key != 0 && !late[i]) {
            reports[i].total = total;
            inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_AWAITS,
                                             .held = &reports[i].grains,
                                             .audit = &reports[i]});
        }
    settle();
    return key;
}

/* Answers until all wait or apply the step. Returns how many devices apply it. */
static uint32_t answer(void)
{
    uint32_t applied = 0;
    for (bool busy = true; busy; settle()) {
        busy = false;
        for (uint32_t i = 0; i < DEVICES; i++) {
            if (!takes_part(i) || parts[i].notice.audit.key == 0)
                continue;
            const sh_task task = sh_participant_take(&parts[i]);
            if (task.kind == SH_TASK_AUDIT) {
                const sh_sum_check check = result(&task.work, answers[i]);
                audited += sh_ranges_total(&task.work);
                inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_AUDITED, .answer = &check});
                busy = true;
            } else if (task.kind == SH_TASK_RUN) {
                assert_true(task.resume);
                pass(i, (sh_position){parts[i].notice.position.steps + 1, SH_PHASE_FIRST}, 0);
                applied++;
            }
        }
    }
    return applied;
}

static void an_honest_step_is_applied(void **state)
{
    (void)state;
    work(3, 0.5);
    for (uint64_t i = 0; i < 6; i++) {
        audited = 0;
        assert_int_not_equal(sum_up(), 0);
        assert_int_equal(answer(), 3);
        assert_int_equal(audited, GRAINS); /* each grain once */
        assert_int_equal(parts[0].notice.position.steps, i + 1);
    }
    assert_int_equal(membership->audit.shares, 18);
    assert_int_equal(membership->audit.steps, 6);
    assert_int_equal(ended, 0);
    assert_null(strstr(notes, "evicted"));
}

static void as_many_are_drawn_as_wanted(void **state)
{
    (void)state;
    uint32_t drawn = 0;
    work(3, 0.02);
    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t random[4] = {i * 4294968, 1, 0};
        drawn += sh_membership_draw_audit(membership, membership->now.number,
                                          parts[0].notice.position, random) != 0;
        membership->audit.stage = SH_AUDITING_NOTHING;
    }
    assert_int_equal(drawn, 20);
    work(3, 0);
    assert_int_equal(sum_up(), 0);
    work(3, 1);
    const uint32_t random[4] = {UINT32_MAX, 1, 0};
    assert_int_not_equal(sh_membership_draw_audit(membership, membership->now.number,
                                                  parts[0].notice.position, random),
                         0);
}

/* What a device says about its share after it committed to it does not count. */
static void nobody_commits_twice(void **state)
{
    (void)state;
    work(3, 0.5);
    adds[1] = 5;
    assert_int_not_equal(sum_up(), 0);
    sh_notice notice = parts[1].notice;
    notice.serial++;
    notice.audit.own = result(&notice.audit.grains, 0);
    coordinate(
        &(sh_membership_event){.kind = SH_MEMBERSHIP_NOTICE, .device = 1, .notice = &notice});
    assert_int_equal(answer(), 0);
    assert_false(present[1]);
}

static void one_that_adds_something_else_is_evicted(void **state)
{
    (void)state;
    work(3, 0.5);
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 3);
    adds[1] = 5;
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 0);
    assert_false(present[1]);
    assert_false(again);
    assert_string_equal(refusal, "it computes wrongly or lies: in the audit of step 2 2 devices "
                                 "agree on other results");
    /* The step is made again, and audited. */
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 2);
    assert_int_equal(parts[0].notice.position.steps, 2);
    assert_int_equal(ended, 0);
    come(1);
    settle();
    assert_false(present[1]); /* it is not taken again */
}

static void one_that_hides_it_is_evicted(void **state)
{
    (void)state;
    work(3, 0.5);
    adds[2] = 5;
    commits[2] = (uint64_t)-5;
    assert_int_not_equal(sum_up(), 0); /* the sum gives it away, whoever is audited */
    assert_int_equal(answer(), 0);
    assert_int_equal(ended, 0);
    assert_true(present[0] && present[1] && present[2]); /* all shares are right: repeated */
    for (uint32_t i = 0; i < 4 && present[2]; i++) {
        assert_int_not_equal(sum_up(), 0);
        assert_int_equal(answer(), 0);
    }
    assert_false(present[2]);
    assert_non_null(strstr(refusal, "an audit shows that a sum is not what the devices added"));
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 2);
    assert_non_null(strstr(notes, "without device d2 the checks in the sums agree"));
}

/* A device that has nothing to compute adds something. */
static void an_idle_liar_is_evicted(void **state)
{
    (void)state;
    work(3, 0.5);
    adds[1] = 7;
    idle = 1;
    assert_int_not_equal(sum_up(), 0);
    idle = DEVICES;
    assert_false(present[1]);
    assert_non_null(strstr(refusal, "it added to the sum of step 1, but computed no grain of it"));
}

/* The last device leaves out its last grain and commits to the others. */
static void a_grain_that_is_left_out_is_noticed(void **state)
{
    (void)state;
    work(3, 0.5);
    skips = 2;
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 0);
    assert_int_equal(parts[0].notice.position.steps, 0);
    skips = DEVICES;
    assert_int_equal(ended, 0);
}

static void a_false_auditor_is_evicted(void **state)
{
    (void)state;
    work(4, 0.5);
    answers[3] = 9;
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 0);
    assert_true(present[1]);
    assert_false(present[3]);
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 3);
}

/* A conspires with B, which commits to the difference. */
static void an_accomplice_does_not_help(void **state)
{
    (void)state;
    work(4, 0.5);
    adds[1] = 5;
    commits[1] = (uint64_t)-5;
    commits[2] = 5;
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 0);
    assert_false(present[2]);
    assert_int_equal(ended, 0);
}

static void a_lying_coordinator_ends_the_job(void **state)
{
    (void)state;
    work(3, 0.5);
    adds[0] = 5;
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 0);
    assert_int_equal(ended, 2);
    assert_non_null(strstr(ending, "this device computes wrongly: in the audit of step 1"));
}

static void an_interrupted_audit_is_made_again(void **state)
{
    (void)state;
    work(3, 1e-9);
    membership->audit.due = true;
    assert_int_not_equal(sum_up(), 0);
    go(2);
    settle();
    assert_int_equal(parts[0].notice.audit.key, 0);
    assert_true(parts[0].keep); /* nothing was computed again yet */
    assert_int_not_equal(sum_up(), 0);
    assert_int_equal(answer(), 2);
    const uint32_t random[4] = {UINT32_MAX, 1, 0};
    assert_int_equal(sh_membership_draw_audit(membership, membership->now.number,
                                              parts[0].notice.position, random),
                     0);
}

static void one_that_does_not_answer_is_lost(void **state)
{
    (void)state;
    work(3, 0.5);
    assert_int_not_equal(sum_up(), 0);
    for (uint64_t now = 0; now < 20000 && present[2]; now += 100) {
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now});
        for (uint32_t i = 0; i < 3; i++)
            coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_HEARD, .device = i});
        for (uint32_t i = 0; i < 2 && now == 0; i++) { /* all but device 2 */
            const sh_task task = sh_participant_take(&parts[i]);
            assert_int_equal(task.kind, SH_TASK_AUDIT);
            const sh_sum_check check = result(&task.work, 0);
            inform(i, (sh_participant_event){.kind = SH_PARTICIPANT_AUDITED, .answer = &check});
            settle();
        }
    }
    assert_false(present[2]);
    assert_non_null(strstr(refusal, "it did not follow the coordinator for "));
}

static void one_that_waits_for_a_lost_device_is_kept(void **state)
{
    (void)state;
    work(3, 0.5);
    parts[0].notice.speed.step_s = 1; /* others may wait longer for their sums */
    late[1] = late[2] = true;
    assert_int_not_equal(sum_up(), 0);
    for (uint64_t now = 0; now < 20000 && present[1]; now += 100) {
        coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_TICK, .now_ms = now});
        for (uint32_t i = 0; i < 3; i++)
            if (i != 1 || now < 500)
                coordinate(&(sh_membership_event){.kind = SH_MEMBERSHIP_HEARD, .device = i});
    }
    assert_false(present[1]);
    assert_non_null(strstr(refusal, "nothing was heard from it"));
    assert_true(present[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_step_is_applied),
        cmocka_unit_test(as_many_are_drawn_as_wanted),
        cmocka_unit_test(nobody_commits_twice),
        cmocka_unit_test(one_that_adds_something_else_is_evicted),
        cmocka_unit_test(one_that_hides_it_is_evicted),
        cmocka_unit_test(an_idle_liar_is_evicted),
        cmocka_unit_test(a_grain_that_is_left_out_is_noticed),
        cmocka_unit_test(a_false_auditor_is_evicted),
        cmocka_unit_test(an_accomplice_does_not_help),
        cmocka_unit_test(a_lying_coordinator_ends_the_job),
        cmocka_unit_test(an_interrupted_audit_is_made_again),
        cmocka_unit_test(one_that_does_not_answer_is_lost),
        cmocka_unit_test(one_that_waits_for_a_lost_device_is_kept),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sh_membership_free(membership);
    return failed;
}
