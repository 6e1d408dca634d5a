/* SPDX-License-Identifier: Apache-2.0 */
#include "train/gpu_share.h"

#include "base/test.h"

static void shares_follow_speeds(void **state)
{
    (void)state;
    static const struct {
        double gpu_ns, lane_ns;
        uint32_t left, lanes, taken;
    } cases[] = {
        {0, 0, 8, 0, 8},          /* no lane: all grains */
        {0, 0, 9, 2, 3},          /* unknown speeds: as many as a lane */
        {100, 0, 9, 2, 3},        /* the same with one unknown speed */
        {0, 0, 1, 4, 1},          /* at least one, to measure */
        {0, 0, 0, 4, 0},          /* no grains left */
        {100, 100, 12, 2, 4},     /* as fast as a lane */
        {100, 1200, 14, 2, 12},   /* 6 times as fast as both lanes */
        {100, 1500, 14, 2, 14},   /* computes all before a lane finishes one */
        {100, 1500, 16, 2, 14},   /* not with two more grains */
        {9000, 100, 8, 4, 0},     /* slower with one than the lanes with all */
        {9000, 100, 401, 4, 1},   /* not with very many grains */
        {100, 100, 4000, 3, 1000} /* equal speeds with many grains */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const sh_gpu_share share = {.gpu_ns = cases[i].gpu_ns, .lane_ns = cases[i].lane_ns};
        assert_int_equal(sh_gpu_share_take(&share, cases[i].left, cases[i].lanes), cases[i].taken);
    }
}

static void speeds_follow_steps(void **state)
{
    (void)state;
    sh_gpu_share share = {0};
    sh_gpu_share_note(&share, 4, 400, 2, 2000);
    assert_true(share.gpu_ns == 100 && share.lane_ns == 1000);
    sh_gpu_share_note(&share, 4, 800, 2, 2000);
    assert_true(share.gpu_ns == 125 && share.lane_ns == 1000);
    sh_gpu_share_note(&share, 0, 0, 1, 2000);
    assert_true(share.gpu_ns < 125 && share.gpu_ns > 124 && share.lane_ns == 1250);
    sh_gpu_share_note(&share, 1, 400, 0, 0);
    assert_true(share.gpu_ns == 400 && share.lane_ns < 1250);
}

/* Steps until an idle side gets a grain again. */
static uint32_t steps_of_rest(double gpu_ns, double lane_ns, bool gpu)
{
    sh_gpu_share share = {.gpu_ns = gpu_ns, .lane_ns = lane_ns};
    for (uint32_t steps = 0; steps < 10000; steps++) {
        const uint32_t taken = sh_gpu_share_take(&share, 8, 2);
        if (gpu ? taken > 0 : taken < 8)
            return steps;
        sh_gpu_share_note(&share, taken, taken * 100, 8 - taken, (8 - taken) * 100);
    }
    return UINT32_MAX;
}

static void who_rested_gets_another_chance(void **state)
{
    (void)state;
    assert_in_range(steps_of_rest(900, 100, true), 50, 1000);
    assert_in_range(steps_of_rest(100, 2000, false), 50, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_speeds),
        cmocka_unit_test(speeds_follow_steps),
        cmocka_unit_test(who_rested_gets_another_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
