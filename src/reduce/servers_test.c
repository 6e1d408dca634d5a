/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/engine_fixture.h"

static void sums_are_exact_for_every_choice_of_servers(void **state)
{
    (void)state;
    for (uint32_t devices = 2; devices <= 3; devices++)
        for (uint32_t mask = 1; mask < 1u << devices; mask++) {
            world w = world_of(devices, mask);
            check_all_sizes(&w);
        }
}

static void sums_are_exact_for_more_devices(void **state)
{
    (void)state;
    static const uint32_t masks[][2] = {{4, 0x0f}, {4, 0x06}, {5, 0x1f}, {5, 0x01}, {5, 0x12}};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        world w = world_of(masks[i][0], masks[i][1]);
        check_all_sizes(&w);
    }
}

static double bytes_sent(uint32_t mask, uint32_t rank_index)
{
    world w = world_of(4, mask);
    w.spans = 1;
    w.lengths[0] = 400000;
    w.rounds = 1;
    w.deserter = UINT32_MAX;
    run_world(&w);
    assert_int_equal(w.ranks[rank_index].status, SH_OK);
    const sh_channel_stats stats = bytes_of(&w.ranks[rank_index]);
    end_world(&w);
    return (double)stats.sent_bytes;
}

static void bytes_on_the_wire_are_as_few_as_can_be(void **state)
{
    (void)state;
    const double span = 400000 * 4 + 400003 * 8;
    static const struct {
        uint32_t mask, rank;
        double spans;
    } cases[] = {{0xf, 1, 1.5}, {0x1, 1, 1}, {0x1, 0, 3}, {0x3, 0, 2}, {0x3, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double sent = bytes_sent(cases[i].mask, cases[i].rank);
        assert_true(sent > cases[i].spans * span);
        assert_true(sent < 1.01 * cases[i].spans * span + 6144);
    }
}

static void a_late_device_keeps_nobody_for_ever(void **state)
{
    (void)state;
    static const uint32_t cases[][2] = {{2, 3}, {3, 7}, {3, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t late = 1; late <= cases[i][0]; late++) {
            world w = world_of(cases[i][0], cases[i][1]);
            w.late = late;
            check_all_sizes(&w);
        }
}

static void a_lost_device_ends_the_round_and_spoils_nothing(void **state)
{
    (void)state;
    static const uint32_t cases[][3] = {{2, 3, 1}, {3, 7, 1}, {3, 2, 1}, {4, 9, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w = world_of(cases[i][0], cases[i][1]);
        const uint32_t deserter = cases[i][2];
        w.spans = 1;
        w.lengths[0] = 50001;
        w.rounds = 2;
        w.deserter = deserter;
        run_world(&w);
        for (uint32_t r = 0; r < w.devices; r++) {
            check_own(&w.ranks[r], w.ranks[r].round);
            assert_int_equal(w.ranks[r].status, r == deserter ? SH_OK : SH_PEER_LOST);
        }
        end_world(&w);
    }
}

static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    world w = world_of(2, 3);
    w.spans = 1;
    w.lengths[0] = 10;
    check_abort(&w);
}

static void links_are_those_with_servers(void **state)
{
    (void)state;
    static const bool serves[4] = {false, true, false, true};
    static const char expected[4][4] = {"0101", "0011", "0001", "0000"};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            assert_int_equal(sh_engine_servers.links(serves, 4, i, j), expected[i][j] - '0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_for_every_choice_of_servers),
        cmocka_unit_test(sums_are_exact_for_more_devices),
        cmocka_unit_test(bytes_on_the_wire_are_as_few_as_can_be),
        cmocka_unit_test(a_late_device_keeps_nobody_for_ever),
        cmocka_unit_test(a_lost_device_ends_the_round_and_spoils_nothing),
        cmocka_unit_test(an_abort_ends_the_wait),
        cmocka_unit_test(links_are_those_with_servers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
