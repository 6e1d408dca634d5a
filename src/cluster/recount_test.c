/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/recount.h"

#include <string.h>

#include "base/test.h"
#include "cluster/audit_fixture.h"

#define FIRST 10 /* the number of the first device */

static sh_recount recount;

/* Deals shares with these numbers of grains, in two ranges each. */
static bool deal(const uint32_t *grains, uint32_t count, uint64_t seed)
{
    uint32_t next = 0;
    sh_ranges shares[SH_DEVICES_MAX] = {0};
    for (uint32_t half = 0; half < 2; half++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t some = half == 0 ? grains[i] / 2 : grains[i] - grains[i] / 2;
            assert_true(sh_ranges_add(&shares[i], (sh_range){next, some}));
            next += some;
        }
    sh_recount_begin(&recount);
    for (uint32_t i = 0; i < count; i++)
        sh_recount_add(&recount, FIRST + i,
                       &(sh_audit_report){.grains = shares[i], .own = result(&shares[i], 0)});
    return sh_recount_deal(&recount, seed);
}

/* The device computes all that it is asked to. Returns how many grains. */
static uint32_t compute(uint32_t device, uint64_t lie)
{
    uint32_t grains = 0, last = 0;
    for (sh_audit_order order; sh_recount_order_of(&order, &recount, device);) {
        assert_true(order.round > last);
        last = order.round;
        const sh_sum_check check = result(&order.grains, lie);
        grains += sh_ranges_total(&order.grains);
        assert_true(sh_recount_answer(&recount, device, order.round, &check));
        assert_false(sh_recount_answer(&recount, device, order.round, &check)); /* twice */
    }
    return grains;
}

/* Whether every grain is in one piece, which another device has. */
static void assert_whole(uint32_t devices, uint32_t total)
{
    sh_ranges all = {0};
    uint32_t grains = 0;
    for (uint32_t i = 0; i < recount.piece_count; i++) {
        const sh_recount_piece *piece = &recount.pieces[i];
        const sh_ranges one = sh_recount_grains(&recount, piece);
        assert_int_not_equal(piece->auditor, recount.shares[piece->share].device);
        assert_true(piece->auditor >= FIRST && piece->auditor < FIRST + devices);
        assert_false(sh_ranges_overlap(&all, &one));
        assert_true(sh_ranges_add_all(&all, &one));
        grains += sh_ranges_total(&one);
    }
    assert_int_equal(grains, total);
    for (uint32_t i = 0; i < recount.share_count; i++)
        assert_true(recount.shares[i].piece_count <= SH_RECOUNT_PIECES);
}

static void equal_devices_get_one_share_each(void **state)
{
    (void)state;
    const uint32_t grains[] = {3, 3, 3, 3, 3};
    uint32_t seen[5][5] = {{0}};
    for (uint32_t count = 2; count <= 5; count++)
        for (uint64_t seed = 0; seed < 200; seed++) {
            assert_true(deal(grains, count, seed));
            assert_int_equal(recount.piece_count, count);
            assert_whole(count, 3 * count);
            for (uint32_t i = 0; i < count && count == 5; i++) {
                const uint32_t suspect = recount.shares[recount.pieces[i].share].device;
                seen[suspect - FIRST][recount.pieces[i].auditor - FIRST]++;
            }
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(compute(FIRST + i, 0), 3);
            assert_true(sh_recount_is_complete(&recount));
            assert_null(sh_recount_find_wrong(&recount));
        }
    /* Each of the others is as likely: 50 of 200, with a deviation of 6. */
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t k = 0; k < 5; k++)
            assert_true(i == k ? seen[i][k] == 0 : seen[i][k] > 25 && seen[i][k] < 75);
}

static void other_devices_get_what_they_added(void **state)
{
    (void)state;
    static const struct {
        uint32_t count, grains[12], total, most; /* of what a device computes beyond its share */
    } cases[] = {
        {4, {8, 4, 2, 1}, 15, 8}, {3, {4, 2, 2}, 8, 4},
        {2, {6, 2}, 8, 4},        {5, {5, 4, 4, 3, 4}, 20, 4},
        {4, {0, 3, 0, 3}, 6, 0},  {12, {30, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 52, 30},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (uint64_t seed = 0; seed < 100; seed++) {
            assert_true(deal(cases[c].grains, cases[c].count, seed));
            assert_whole(cases[c].count, cases[c].total);
            for (uint32_t i = 0; i < cases[c].count; i++)
                assert_true(compute(FIRST + i, 0) <= cases[c].grains[i] + cases[c].most);
            assert_true(sh_recount_is_complete(&recount));
            assert_null(sh_recount_find_wrong(&recount));
        }
}

static void one_share_goes_to_another_device(void **state)
{
    (void)state;
    const uint32_t grains[] = {0, 7, 0}, none[] = {0, 0};
    uint32_t by[3] = {0};
    for (uint64_t seed = 0; seed < 50; seed++) {
        assert_true(deal(grains, 3, seed));
        assert_int_equal(recount.piece_count, 1);
        by[recount.pieces[0].auditor - FIRST]++;
        assert_int_equal(sh_recount_shares(&recount), 1);
    }
    assert_true(by[0] > 0 && by[1] == 0 && by[2] > 0);
    assert_false(deal(none, 2, 1));
}

static void as_many_devices_as_there_can_be(void **state)
{
    (void)state;
    uint32_t grains[SH_DEVICES_MAX];
    for (uint32_t i = 0; i < SH_DEVICES_MAX; i++)
        grains[i] = 1 + i % 3;
    for (uint64_t seed = 0; seed < 20; seed++) {
        assert_true(deal(grains, SH_DEVICES_MAX, seed));
        assert_true(recount.piece_count <= sizeof recount.pieces / sizeof *recount.pieces);
        for (uint32_t i = 0; i < SH_DEVICES_MAX; i++)
            compute(FIRST + i, 0);
        assert_true(sh_recount_is_complete(&recount));
        assert_null(sh_recount_find_wrong(&recount));
    }
}

static void a_wrong_share_is_found(void **state)
{
    (void)state;
    const uint32_t grains[] = {4, 4, 4};
    assert_true(deal(grains, 3, 5));
    recount.shares[1].own.words[7]++; /* it committed to something else */
    for (uint32_t i = 0; i < 3; i++)
        compute(FIRST + i, 0);
    assert_ptr_equal(sh_recount_find_wrong(&recount), &recount.shares[1]);
    assert_true(deal(grains, 3, 5));
    for (uint32_t i = 0; i < 3; i++) /* an auditor lies */
        compute(FIRST + i, recount.pieces[2].auditor == FIRST + i);
    assert_ptr_equal(sh_recount_find_wrong(&recount), &recount.shares[2]);
}

static void strange_answers_are_ignored(void **state)
{
    (void)state;
    const uint32_t grains[] = {4, 4, 4};
    const sh_sum_check check = {{1}};
    assert_true(deal(grains, 3, 5));
    const uint32_t auditor = recount.pieces[0].auditor;
    assert_false(sh_recount_answer(&recount, auditor, 0, &check));
    assert_false(sh_recount_answer(&recount, auditor, 2, &check)); /* another one's */
    assert_false(sh_recount_answer(&recount, auditor, 4, &check));
    assert_false(sh_recount_answer(&recount, 99, 1, &check));
    assert_int_equal(recount.open, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_devices_get_one_share_each),
        cmocka_unit_test(other_devices_get_what_they_added),
        cmocka_unit_test(one_share_goes_to_another_device),
        cmocka_unit_test(as_many_devices_as_there_can_be),
        cmocka_unit_test(a_wrong_share_is_found),
        cmocka_unit_test(strange_answers_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
