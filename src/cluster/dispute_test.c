/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/dispute.h"

#include <string.h>

#include "base/test.h"
#include "cluster/audit_fixture.h"

#define GRAINS 24
#define SUSPECT 9

static sh_recount recount;
static sh_dispute dispute;

/* Deals the share of SUSPECT in `pieces` pieces to as many of `count` devices, numbered from
 * `first` on; lies[d]: of device d in each answer. `committed`: the lie in what SUSPECT added. */
static void recount_it(uint32_t first, uint32_t count, uint32_t pieces, uint64_t committed,
                       const uint64_t lies[SUSPECT + 1])
{
    const sh_ranges grains = {2, {{3, 20}, {30, 4}}};
    sh_recount_begin(&recount);
    sh_recount_add(&recount, SUSPECT,
                   &(sh_audit_report){.grains = grains, .own = result(&grains, committed)});
    for (uint32_t i = 0; i < count; i++)
        sh_recount_add(&recount, first + i, &(sh_audit_report){0});
    recount.shares[0].piece_count = recount.piece_count = pieces;
    for (uint32_t i = 0; i < pieces; i++) {
        sh_recount_piece *piece = &recount.pieces[i];
        *piece =
            (sh_recount_piece){.auditor = first + i,
                               .first = i * (GRAINS / pieces),
                               .count = GRAINS / pieces + (i == pieces - 1) * (GRAINS % pieces),
                               .answered = true};
        const sh_ranges some = sh_recount_grains(&recount, piece);
        piece->check = result(&some, lies[piece->auditor]);
    }
}

/* Argues about the share until it is settled. */
static void argue(const uint64_t lies[SUSPECT + 1])
{
    sh_dispute_finding found = SH_DISPUTE_NEXT;
    assert_ptr_equal(sh_recount_find_wrong(&recount), &recount.shares[0]);
    sh_dispute_begin(&dispute, &recount, &recount.shares[0]);
    for (uint32_t round = recount.piece_count + 1; found == SH_DISPUTE_NEXT; round++) {
        found = SH_DISPUTE_WAITS;
        for (uint32_t device = 0; device <= SUSPECT && found == SH_DISPUTE_WAITS; device++) {
            sh_audit_order order = {0};
            if (!sh_dispute_order_of(&order, &dispute, device))
                continue;
            assert_int_equal(order.round, round);
            assert_true(order.grains.count > 0);
            const sh_sum_check check = result(&order.grains, lies[device]);
            found = sh_dispute_answer(&dispute, device, order.round, &check);
        }
        assert_int_not_equal(found, SH_DISPUTE_WAITS);
    }
}

static void run(uint32_t first, uint32_t count, uint32_t pieces, uint64_t committed,
                const uint64_t lies[SUSPECT + 1])
{
    recount_it(first, count, pieces, committed, lies);
    argue(lies);
}

static void assert_liar(uint32_t device)
{
    assert_int_equal(dispute.liar_count, 1);
    assert_int_equal(dispute.liars[0], device);
}

static void the_suspect_is_named(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    for (uint32_t count = 1; count <= SH_DISPUTE_AUDITORS; count++)
        for (uint32_t pieces = 1; pieces <= count; pieces++) {
            lies[SUSPECT] = 0;
            run(0, count, pieces, 5, lies);
            assert_liar(SUSPECT);
            assert_true(dispute.agreed >= 2);
            lies[SUSPECT] = 5; /* it stands by its lie */
            if (count == 1)
                continue;
            run(0, count, pieces, 5, lies);
            assert_liar(SUSPECT);
        }
}

static void an_auditor_is_named(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 5; count++)
        for (uint32_t pieces = 1; pieces <= count; pieces++)
            for (uint32_t liar = 1; liar <= pieces; liar++) {
                uint64_t lies[SUSPECT + 1] = {0};
                lies[liar] = 1 + liar;
                run(1, count, pieces, 0, lies);
                assert_liar(liar);
            }
}

/* An auditor lies in the recount, but not when others look. */
static void one_lie_is_enough(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    lies[2] = 7;
    recount_it(1, 3, 2, 0, lies);
    lies[2] = 0;
    argue(lies);
    assert_liar(2);
}

static void of_two_the_coordinator_is_believed(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    lies[SUSPECT] = 5;
    run(0, 1, 1, 5, lies);
    assert_liar(SUSPECT);
    assert_int_equal(dispute.agreed, 1);
}

/* One of the auditors confirms the lie of the suspect; the others do not. */
static void an_accomplice_is_named_too(void **state)
{
    (void)state;
    uint64_t lies[SUSPECT + 1] = {0};
    lies[2] = lies[SUSPECT] = 5;
    run(0, 4, 4, 10, lies);
    assert_int_equal(dispute.liar_count, 2);
    assert_int_equal(dispute.liars[0] + dispute.liars[1], 2 + SUSPECT);
}

static void strange_answers_are_ignored(void **state)
{
    (void)state;
    const uint64_t lies[SUSPECT + 1] = {0};
    const sh_sum_check check = {{1}};
    recount_it(1, 3, 2, 5, lies);
    sh_dispute_begin(&dispute, &recount, &recount.shares[0]);
    assert_int_equal(sh_dispute_answer(&dispute, 7, 3, &check), SH_DISPUTE_WAITS); /* nobody */
    assert_int_equal(sh_dispute_answer(&dispute, SUSPECT, 3, &check),
                     SH_DISPUTE_WAITS);                                            /* not asked */
    assert_int_equal(sh_dispute_answer(&dispute, 1, 2, &check), SH_DISPUTE_WAITS); /* earlier */
    assert_int_equal(sh_dispute_answer(&dispute, 1, 4, &check), SH_DISPUTE_WAITS); /* later */
    assert_int_equal(sh_dispute_answer(&dispute, 1, 3, &check), SH_DISPUTE_WAITS);
    assert_int_equal(sh_dispute_answer(&dispute, 1, 3, &check), SH_DISPUTE_WAITS); /* twice */
    assert_int_equal(sh_dispute_answer(&dispute, 3, 3, &check), SH_DISPUTE_NEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_suspect_is_named),
        cmocka_unit_test(an_auditor_is_named),
        cmocka_unit_test(one_lie_is_enough),
        cmocka_unit_test(of_two_the_coordinator_is_believed),
        cmocka_unit_test(an_accomplice_is_named_too),
        cmocka_unit_test(strange_answers_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
