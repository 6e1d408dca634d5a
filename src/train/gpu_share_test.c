/* SPDX-License-Identifier: Apache-2.0 */
#include "train/gpu_share.h"

#include "base/test.h"

static void shares_follow_speeds(void **state)
{
    (void)state;
    static const struct {
        double gpu_ns, lane_ns;
        uint32_t left, most, lanes, taken;
    } cases[] = {
        {0, 0, 8, 64, 0, 8},        /* no other lane: all */
        {0, 0, 80, 64, 0, 64},      /* but for what it holds */
        {0, 0, 9, 64, 2, 3},        /* nothing known: what a lane would take */
        {100, 0, 9, 64, 2, 3},      /* */
        {0, 0, 1, 64, 4, 1},        /* at least one, to learn */
        {0, 0, 0, 64, 4, 0},        /* */
        {100, 100, 12, 64, 2, 4},   /* as fast as a lane */
        {100, 1200, 14, 64, 2, 12}, /* 6 times as fast as both */
        {100, 1200, 14, 10, 2, 10}, /* */
        {9000, 100, 8, 64, 4, 0},   /* slower with one than they with all */
        {9000, 100, 400, 64, 4, 1}, /* but not than with very many */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_gpu_share share = {cases[i].gpu_ns, cases[i].lane_ns};
        assert_int_equal(sh_gpu_share_take(&share, cases[i].left, cases[i].most, cases[i].lanes),
                         cases[i].taken);
    }
}

static void speeds_follow_steps(void **state)
{
    (void)state;
    sh_gpu_share share = {0};
    sh_gpu_share_note(&share, 4, 400, 2, 2000);
    assert_true(share.gpu_ns == 100 && share.lane_ns == 1000);
    sh_gpu_share_note(&share, 4, 800, 0, 0);
    assert_true(share.gpu_ns == 125 && share.lane_ns == 1000);
    sh_gpu_share_note(&share, 0, 0, 1, 2000);
    assert_true(share.gpu_ns < 125 && share.gpu_ns > 123 && share.lane_ns == 1250);
}

/* One that is too slow for a grain is tried again after some steps. */
static void a_gpu_gets_another_chance(void **state)
{
    (void)state;
    sh_gpu_share share = {900, 100};
    uint32_t steps = 0;
    while (sh_gpu_share_take(&share, 8, 64, 2) == 0 && steps < 1000) {
        sh_gpu_share_note(&share, 0, 0, 8, 800);
        steps++;
    }
    assert_in_range(steps, 10, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_speeds),
        cmocka_unit_test(speeds_follow_steps),
        cmocka_unit_test(a_gpu_gets_another_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
