/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/audit.h"

#include <string.h>

#include "base/test.h"

#define GRAINS 24
#define SUSPECT 9

static sh_audit audit;
static uint32_t rounds; /* until the finding */

/* What a device finds out about a grain, with the word of a liar added. */
static sh_sum_check result(const sh_ranges *grains, uint64_t lie)
{
    sh_sum_check check = {0};
    for (uint32_t i = 0; i < sh_ranges_total(grains); i++)
        check.words[0] += UINT64_C(0x9e3779b97f4a7c15) * (sh_ranges_at(grains, i) + 1);
    check.words[3] += lie;
    return check;
}

/* Audits the grains of SUSPECT by `count` auditors, numbered from `first` on; lies[d]: of device d
 * in each answer. `committed`: the lie in what the suspect added. */
static sh_audit_finding run(uint32_t first, uint32_t count, uint64_t committed,
                            const uint64_t lies[SUSPECT + 1])
{
    sh_auditor auditors[SUSPECT];
    const sh_ranges grains = {2, {{3, 20}, {30, 4}}};
    const sh_audit_report report = {.key = 1, .grains = grains, .own = result(&grains, committed)};
    sh_audit_finding found = SH_AUDIT_NEXT;
    for (uint32_t i = 0; i < count; i++)
        auditors[i] = (sh_auditor){first + i, i + 1};
    sh_audit_begin(&audit, 4, SUSPECT, &report, auditors, count);
    for (rounds = 0; found == SH_AUDIT_NEXT; rounds++) {
        found = SH_AUDIT_WAITS;
        for (uint32_t device = 0; device <= SUSPECT && found == SH_AUDIT_WAITS; device++) {
            sh_audit_order order = {0};
            if (!sh_audit_order_of(&order, &audit, device))
                continue;
            assert_int_equal(order.round, 5 + rounds);
            assert_true(order.grains.count > 0);
            const sh_sum_check check = result(&order.grains, lies[device]);
            found = sh_audit_answer(&audit, device, order.round, &check);
        }
        assert_int_not_equal(found, SH_AUDIT_WAITS);
    }
    return found;
}

static void assert_liar(uint32_t device)
{
    assert_int_equal(audit.liar_count, 1);
    assert_int_equal(audit.liars[0], device);
}

static void each_gets_a_piece_by_its_weight(void **state)
{
    (void)state;
    const uint64_t lies[SUSPECT + 1] = {0};
    assert_int_equal(run(1, 3, 0, lies), SH_AUDIT_HONEST);
    assert_int_equal(rounds, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(sh_ranges_total(&audit.grains[i]), GRAINS / 6 * (i + 1));
    for (uint32_t i = 1; i < 3; i++)
        assert_false(sh_ranges_overlap(&audit.grains[i - 1], &audit.grains[i]));
}

static void the_suspect_is_named(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    for (uint32_t count = 1; count <= SH_AUDIT_PIECES; count++) {
        assert_int_equal(run(0, count, 5, lies), SH_AUDIT_LIARS);
        assert_liar(SUSPECT);
        assert_true(audit.agreed >= 2);
    }
    lies[SUSPECT] = 5; /* it stands by its lie */
    for (uint32_t count = 2; count <= SH_AUDIT_PIECES; count++) {
        assert_int_equal(run(0, count, 5, lies), SH_AUDIT_LIARS);
        assert_liar(SUSPECT);
    }
}

static void an_auditor_is_named(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 5; count++)
        for (uint32_t liar = 1; liar <= count; liar++) {
            uint64_t lies[SUSPECT + 1] = {0};
            lies[liar] = 1 + liar;
            assert_int_equal(run(1, count, 0, lies), SH_AUDIT_LIARS);
            assert_liar(liar);
        }
}

static void of_two_the_coordinator_is_believed(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    lies[SUSPECT] = 5;
    assert_int_equal(run(0, 1, 5, lies), SH_AUDIT_LIARS);
    assert_liar(SUSPECT);
    assert_int_equal(audit.agreed, 1);
}

/* One of two auditors confirms the lie of the suspect; the other does not. */
static void an_accomplice_is_named_too(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    lies[2] = lies[SUSPECT] = 5;
    assert_int_equal(run(0, 4, 10, lies), SH_AUDIT_LIARS);
    assert_int_equal(audit.liar_count, 2);
    assert_int_equal(audit.liars[0] + audit.liars[1], 2 + SUSPECT);
}

static void strange_answers_are_ignored(void **state)
{
    (void)state;
    const uint64_t lies[SUSPECT + 1] = {0};
    const sh_sum_check check = {{1}};
    assert_int_equal(run(1, 3, 0, lies), SH_AUDIT_HONEST);
    sh_auditor auditors[] = {{1, 1}, {2, 1}};
    const sh_ranges grains = {1, {{0, 4}}};
    const sh_audit_report report = {.key = 1, .grains = grains, .own = result(&grains, 0)};
    sh_audit_begin(&audit, 0, SUSPECT, &report, auditors, 2);
    assert_int_equal(sh_audit_answer(&audit, 7, 1, &check), SH_AUDIT_WAITS);       /* nobody */
    assert_int_equal(sh_audit_answer(&audit, SUSPECT, 1, &check), SH_AUDIT_WAITS); /* not asked */
    assert_int_equal(sh_audit_answer(&audit, 1, 2, &check), SH_AUDIT_WAITS);       /* later */
    for (uint32_t device = 1; device <= 2; device++) {
        const sh_sum_check right = result(&audit.grains[device - 1], 0);
        const sh_audit_finding found = sh_audit_answer(&audit, device, 1, &right);
        assert_int_equal(found, device == 2 ? SH_AUDIT_HONEST : SH_AUDIT_WAITS);
        if (device == 1)
            assert_int_equal(sh_audit_answer(&audit, 1, 1, &check), SH_AUDIT_WAITS); /* twice */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_a_piece_by_its_weight),
        cmocka_unit_test(the_suspect_is_named),
        cmocka_unit_test(an_auditor_is_named),
        cmocka_unit_test(of_two_the_coordinator_is_believed),
        cmocka_unit_test(an_accomplice_is_named_too),
        cmocka_unit_test(strange_answers_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
