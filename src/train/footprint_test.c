/* SPDX-License-Identifier: Apache-2.0 */
#include "train/footprint.h"

#include "base/test.h"

#define MIB ((uint64_t)1 << 20)

static const sh_footprint some = {.base = 20 * MIB,
                                  .weights = 8 * MIB,
                                  .optimizer = 16 * MIB,
                                  .sum = 8 * MIB,
                                  .prepared = 3 * MIB,
                                  .lane = 5 * MIB + MIB / 2,
                                  .lanes = 2,
                                  .lanes_asked = 2};

static void the_total_counts_every_lane(void **state)
{
    (void)state;
    assert_int_equal(sh_footprint_total(&some), 66 * MIB);
    sh_footprint more = some;
    more.thread = MIB;
    assert_int_equal(sh_footprint_total(&more), 68 * MIB);
    assert_int_equal(sh_footprint_program(&more), 22 * MIB);
    assert_int_equal(sh_footprint_total(&(sh_footprint){0}), 0);
}

static void what_was_chosen_is_a_line(void **state)
{
    (void)state;
    static const struct {
        uint32_t lanes, asked, segments;
        bool on_demand;
        const char *text;
    } cases[] = {
        {2, 2, 0, false, "memory: 2 lanes: 66.0 of 96.5 MiB"},
        {1, 1, 1, false, "memory: 1 lane: 60.5 of 96.5 MiB"},
        {1, 2, 9, false,
         "memory: 1 of 2 lanes, activations computed again in 9 segments: 60.5 of 96.5 MiB"},
        {2, 3, 2, true,
         "memory: 2 of 3 lanes, activations computed again in 2 segments, weights prepared by each "
         "grain: 66.0 of 96.5 MiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[SH_FOOTPRINT_TEXT];
        sh_footprint footprint = some;
        footprint.lanes = cases[i].lanes;
        footprint.lanes_asked = cases[i].asked;
        footprint.segments = cases[i].segments;
        footprint.on_demand = cases[i].on_demand;
        sh_footprint_print(text, &footprint, 96 * MIB + MIB / 2);
        assert_string_equal(text, cases[i].text);
    }
}

static void refusals_have_all_numbers_and_a_remedy(void **state)
{
    (void)state;
#define NUMBERS                                                                                    \
    "--memory 24.0 MiB: this job needs at least 66.0 MiB here: program and data 20.0, weights "    \
    "8.0, optimizer's state 16.0, sum of gradients 8.0, prepared weights 3.0, one lane with "      \
    "grain "
    sh_footprint least = some;
    least.lane *= 2;
    least.lanes = 1;
    assert_fails(sh_footprint_refuse(&least, 24 * MIB, 16, 4, 23 * MIB), SH_LIMIT,
                 NUMBERS "16 11.0; --grain 4 would need only 23.0 MiB, but it makes another job");
    assert_fails(sh_footprint_refuse(&least, 24 * MIB, 16, 0, 0), SH_LIMIT,
                 NUMBERS "16 11.0; no smaller --grain would fit either");
    assert_fails(sh_footprint_refuse(&least, 24 * MIB, 1, 0, 0), SH_LIMIT,
                 NUMBERS "1 11.0; use a smaller model");
}

static void a_start_may_need_more_than_the_steps(void **state)
{
    sh_footprint footprint = some;
    const uint64_t before = sh_footprint_total(&some), lane = some.lane + some.own;
    (void)state;
    footprint.lanes = 3;
    footprint.start = 2 * lane;
    assert_int_equal(sh_footprint_total(&footprint),
                     before + (3 - some.lanes) * (lane + some.thread));
    footprint.start += 5 * MIB;
    assert_int_equal(sh_footprint_total(&footprint),
                     before + (3 - some.lanes) * (lane + some.thread) + 5 * MIB);
    assert_fails(sh_footprint_refuse(&footprint, 24 * MIB, 1, 0, 0), SH_LIMIT,
                 ", copied weights at the start 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_total_counts_every_lane),
        cmocka_unit_test(what_was_chosen_is_a_line),
        cmocka_unit_test(refusals_have_all_numbers_and_a_remedy),
        cmocka_unit_test(a_start_may_need_more_than_the_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
