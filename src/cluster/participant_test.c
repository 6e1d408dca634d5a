/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/participant.h"

#include "base/test.h"

static sh_participant part;

/* Devices 1 and 2 have the seats. */
static void order(sh_directive directive)
{
    if (directive.phase >= SH_DIRECTIVE_LINK) {
        directive.seat_count = 2;
        directive.seats[0] = (sh_seat){.device = 1, .share = {0, 6}};
        directive.seats[1] = (sh_seat){.device = 2, .share = {6, 6}};
        directive.ring = directive.ring != 0 ? directive.ring : directive.view;
    }
    sh_participant_handle(
        &part, &(sh_participant_event){.kind = SH_PARTICIPANT_DIRECTIVE, .directive = &directive});
}

static void hear(sh_participant_event event)
{
    sh_participant_handle(&part, &event);
}

static void begin(void)
{
    sh_participant_init(&part, 2);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_PREPARED,
                                .whole = true,
                                .position = {0, SH_PHASE_FIRST},
                                .grains = 12});
}

static void work(void)
{
    begin();
    order((sh_directive){.serial = 1, .phase = SH_DIRECTIVE_HALT, .view = 1});
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_CHECK);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_CHECKED, .check = 5});
    assert_int_equal(part.notice.halted, 1);
    order((sh_directive){.serial = 2, .phase = SH_DIRECTIVE_LINK, .view = 1});
    assert_int_equal(sh_participant_link(&part), 1);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_LINKED, .view = 1});
    assert_int_equal(sh_participant_link(&part), 0);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
    order((sh_directive){
        .serial = 3, .phase = SH_DIRECTIVE_GO, .view = 1, .start = {0, SH_PHASE_FIRST}});
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_RUN);
}

static void older_directives_are_ignored(void **state)
{
    (void)state;
    work();
    const uint64_t serial = part.notice.serial;
    order((sh_directive){.serial = 3, .phase = SH_DIRECTIVE_HALT, .view = 9});
    order((sh_directive){.serial = 2, .phase = SH_DIRECTIVE_HALT, .view = 9});
    assert_int_equal(part.directive.phase, SH_DIRECTIVE_GO);
    assert_int_equal(part.notice.serial, serial);
}

static void halts_only_when_the_stage_has_ended(void **state)
{
    (void)state;
    work();
    order((sh_directive){.serial = 4, .phase = SH_DIRECTIVE_HALT, .view = 2});
    assert_false(sh_participant_needs_ring(&part, 1));
    assert_int_equal(part.notice.halted, 1);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_STOPPED, .held = &(sh_ranges){1, {{6, 2}}}});
    assert_int_equal(part.notice.halted, 1);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_CHECK);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_CHECKED, .check = 5});
    assert_int_equal(part.notice.halted, 2);
    assert_int_equal(sh_ranges_total(&part.notice.held), 2);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
}

static void the_trailer_moves_it_on(void **state)
{
    (void)state;
    work();
    order((sh_directive){.serial = 4, .phase = SH_DIRECTIVE_LINK, .view = 2, .planned = true});
    assert_true(sh_participant_needs_ring(&part, 1));
    hear((sh_participant_event){.kind = SH_PARTICIPANT_LINKED, .view = 2});
    hear((sh_participant_event){
        .kind = SH_PARTICIPANT_PASSED, .position = {1, SH_PHASE_FIRST}, .next_view = 2});
    assert_int_equal(part.notice.view, 2);
    assert_true(sh_participant_needs_ring(&part, 1));
    const sh_task task = sh_participant_take(&part);
    assert_int_equal(task.view, 2);
    assert_false(task.dealt);
    assert_int_equal(task.share.count, 6);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_PASSED, .position = {2, SH_PHASE_FIRST}});
    sh_directive go = {.serial = 5, .phase = SH_DIRECTIVE_GO, .view = 2, .planned = true};
    go.left = 1;
    order(go);
    assert_true(sh_participant_needs_ring(&part, 1));
    go.serial = 6;
    go.left = 0;
    order(go);
    assert_false(sh_participant_needs_ring(&part, 1));
}

static void without_a_seat_it_waits_to_be_dismissed(void **state)
{
    (void)state;
    work();
    hear((sh_participant_event){
        .kind = SH_PARTICIPANT_PASSED, .position = {1, SH_PHASE_FIRST}, .next_view = 2});
    assert_int_equal(part.notice.view, 0);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
    assert_true(sh_participant_needs_ring(&part, 1));
    order((sh_directive){.serial = 5, .dismissed = true});
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_END);
    assert_false(sh_participant_needs_ring(&part, 1));
}

/* A validation does not change the weights, so the current GO matches again. */
static void who_is_out_does_not_enter_again(void **state)
{
    (void)state;
    work();
    hear((sh_participant_event){.kind = SH_PARTICIPANT_STOPPED});
    order((sh_directive){
        .serial = 4, .phase = SH_DIRECTIVE_GO, .view = 2, .start = {0, SH_PHASE_VALIDATION}});
    hear((sh_participant_event){.kind = SH_PARTICIPANT_LINKED, .view = 2});
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_CHECK);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_CHECKED});
    assert_int_equal(part.notice.view, 2);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_RUN);
    hear((sh_participant_event){
        .kind = SH_PARTICIPANT_PASSED, .position = {0, SH_PHASE_FIRST}, .next_view = 3});
    assert_int_equal(part.notice.view, 0);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
}

static void new_shares_need_no_new_links(void **state)
{
    (void)state;
    work();
    order((sh_directive){
        .serial = 4, .phase = SH_DIRECTIVE_LINK, .view = 2, .ring = 1, .planned = true});
    assert_int_equal(sh_participant_link(&part), 0);
    assert_int_equal(part.notice.linked, 2);
    hear((sh_participant_event){
        .kind = SH_PARTICIPANT_PASSED, .position = {1, SH_PHASE_FIRST}, .next_view = 2});
    assert_int_equal(sh_participant_take(&part).ring, 1);
}

static void a_transfer_voids_the_replica(void **state)
{
    (void)state;
    begin();
    sh_directive directive = {.serial = 1, .transfer_count = 1};
    directive.transfers[0] = (sh_transfer){.number = 4, .receiver = 2, .live = true};
    order(directive);
    const sh_task task = sh_participant_take(&part);
    assert_int_equal(task.kind, SH_TASK_FETCH);
    assert_false(part.notice.whole);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_FETCHED, .transfer = 3});
    assert_false(part.notice.whole);
    hear((sh_participant_event){
        .kind = SH_PARTICIPANT_FETCHED, .transfer = 4, .position = {7, SH_PHASE_FIRST}});
    assert_true(part.notice.whole);
    assert_int_equal(part.notice.fetched, 4);
    assert_int_equal(part.notice.position.steps, 7);
    order((sh_directive){.serial = 2}); /* cancelled: later results are ignored */
    hear((sh_participant_event){
        .kind = SH_PARTICIPANT_FETCHED, .transfer = 4, .position = {8, SH_PHASE_FIRST}});
    assert_int_equal(part.notice.position.steps, 7);
}

/* A transfer from halted donors is complete once received; a live one may still fail. */
static void a_complete_transfer_cannot_fail(void **state)
{
    (void)state;
    for (int live = 0; live < 2; live++) {
        begin();
        sh_directive directive = {.serial = 1, .transfer_count = 1};
        directive.transfers[0] = (sh_transfer){.number = 4, .receiver = 2, .live = live};
        order(directive);
        assert_int_equal(sh_participant_take(&part).kind, SH_TASK_FETCH);
        hear((sh_participant_event){
            .kind = SH_PARTICIPANT_FETCHED, .transfer = 4, .position = {7, SH_PHASE_FIRST}});
        hear((sh_participant_event){.kind = SH_PARTICIPANT_FETCH_FAILED, .transfer = 4});
        assert_int_equal(part.notice.whole, !live);
        assert_int_equal(part.notice.failed, live ? 4 : 0);
    }
}

static void the_job_may_end_with_a_transfer(void **state)
{
    (void)state;
    work();
    order((sh_directive){.serial = 4, .phase = SH_DIRECTIVE_HALT, .view = 2});
    hear((sh_participant_event){.kind = SH_PARTICIPANT_STOPPED});
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_CHECK);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_CHECKED});
    order((sh_directive){.serial = 5, .phase = SH_DIRECTIVE_LINK, .view = 2});
    order((sh_directive){.serial = 6,
                         .phase = SH_DIRECTIVE_GO,
                         .view = 2,
                         .start = {0, SH_PHASE_FIRST},
                         .ends = true});
    assert_int_equal(part.notice.life, SH_LIFE_FINISHED);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
}

static void an_audit_ends_without_an_answer_if_the_coordinator_is_lost(void **state)
{
    (void)state;
    const sh_audit_report report = {.key = 5};
    work();
    hear((sh_participant_event){.kind = SH_PARTICIPANT_AWAITS, .audit = &report});
    order((sh_directive){.serial = 4, .view = 1, .audit = {.key = 5, .round = 1}});
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_AUDIT);
    hear((sh_participant_event){.kind = SH_PARTICIPANT_ABANDONED});
    hear((sh_participant_event){.kind = SH_PARTICIPANT_STOPPED});
    assert_int_equal(part.under_way, SH_TASK_WAIT);
    assert_int_equal(part.notice.audit.key, 0);
    assert_int_equal(sh_participant_take(&part).kind, SH_TASK_WAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_directives_are_ignored),
        cmocka_unit_test(halts_only_when_the_stage_has_ended),
        cmocka_unit_test(the_trailer_moves_it_on),
        cmocka_unit_test(without_a_seat_it_waits_to_be_dismissed),
        cmocka_unit_test(who_is_out_does_not_enter_again),
        cmocka_unit_test(new_shares_need_no_new_links),
        cmocka_unit_test(a_transfer_voids_the_replica),
        cmocka_unit_test(a_complete_transfer_cannot_fail),
        cmocka_unit_test(the_job_may_end_with_a_transfer),
        cmocka_unit_test(an_audit_ends_without_an_answer_if_the_coordinator_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
