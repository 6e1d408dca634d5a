/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/recovery.h"

#include "base/test.h"

#define MOST 5

typedef struct case_survivor {
    bool whole;
    sh_position position;
    uint64_t check;
    bool unproven;
} case_survivor;

/* 'a' at the target, 'w' away, 'o' odd, '!' at the end: torn. Survivor i is device `first` + i. */
static const struct {
    const char *name, *agreement;
    uint32_t first, count;
    case_survivor survivors[MOST];
    sh_position target;
} cases[] = {
    {"all equal", "aa", 0, 2, {{true, {4, 1}, 7, 0}, {true, {4, 1}, 7, 0}}, {4, 1}},
    {"device 0 is ahead", "aw", 0, 2, {{true, {5, 1}, 8, 0}, {true, {4, 1}, 7, 0}}, {5, 1}},
    {"one alone is ahead", "aw", 0, 2, {{true, {4, 1}, 7, 0}, {true, {5, 1}, 8, 0}}, {4, 1}},
    {"two are ahead",
     "waa",
     0,
     3,
     {{true, {4, 1}, 7, 0}, {true, {5, 1}, 8, 0}, {true, {5, 1}, 8, 0}},
     {5, 1}},
    {"one alone is ahead of several",
     "waaw",
     0,
     4,
     {{true, {4, 1}, 7, 0}, {true, {5, 1}, 8, 0}, {true, {5, 1}, 8, 0}, {true, {900, 1}, 9, 0}},
     {5, 1}},
    {"one alone says so, and device 0 has no replica",
     "waaw",
     0,
     4,
     {{false, {4, 1}, 0, 0}, {true, {5, 1}, 8, 0}, {true, {5, 1}, 8, 0}, {true, {900, 1}, 9, 0}},
     {5, 1}},
    {"one alone is whole", "wa", 0, 2, {{false, {9, 1}, 0, 0}, {true, {5, 1}, 8, 0}}, {5, 1}},
    {"a validation again", "aa", 0, 2, {{true, {4, 1}, 7, 0}, {true, {4, 0}, 7, 0}}, {4, 0}},
    {"no way back from a redo",
     "aaw",
     0,
     3,
     {{true, {4, 2}, 7, 0}, {true, {4, 2}, 7, 0}, {true, {4, 0}, 7, 0}},
     {4, 2}},
    {"a majority",
     "oaa",
     0,
     3,
     {{true, {4, 1}, 6, 0}, {true, {4, 1}, 7, 0}, {true, {4, 1}, 7, 0}},
     {4, 1}},
    {"a tie", "aa!", 0, 2, {{true, {4, 1}, 6, 0}, {true, {4, 1}, 7, 0}}, {4, 1}},
    {"each another",
     "aaa!",
     0,
     3,
     {{true, {4, 1}, 6, 0}, {true, {4, 1}, 7, 0}, {true, {4, 1}, 8, 0}},
     {4, 1}},
    {"a tie and one more",
     "aaaaa!",
     0,
     5,
     {{true, {4, 1}, 6, 0},
      {true, {4, 1}, 7, 0},
      {true, {4, 1}, 7, 0},
      {true, {4, 1}, 8, 0},
      {true, {4, 1}, 6, 0}},
     {4, 1}},
    {"the most are fewer than half",
     "oaao",
     0,
     4,
     {{true, {4, 1}, 6, 0}, {true, {4, 1}, 7, 0}, {true, {4, 1}, 7, 0}, {true, {4, 1}, 8, 0}},
     {4, 1}},
    {"one's word against others'",
     "aaa!",
     0,
     3,
     {{true, {4, 1}, 6, 0}, {true, {4, 1}, 7, 1}, {true, {4, 1}, 7, 1}},
     {4, 1}},
    {"who is behind has no vote",
     "aaw!",
     0,
     3,
     {{true, {4, 1}, 7, 0}, {true, {4, 1}, 6, 0}, {true, {3, 1}, 6, 0}},
     {4, 1}},
    {"the new have no vote",
     "aaooo",
     0,
     5,
     {{true, {4, 1}, 6, 0},
      {true, {4, 1}, 6, 0},
      {true, {4, 1}, 7, 1},
      {true, {4, 1}, 7, 1},
      {true, {4, 1}, 7, 1}},
     {4, 1}},
};

static void judges_by_position_and_check(void **state)
{
    (void)state;
    static sh_recovery recovery;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_notice notices[MOST] = {0};
        sh_survivor survivors[MOST];
        for (uint32_t j = 0; j < cases[i].count; j++) {
            const case_survivor *one = &cases[i].survivors[j];
            notices[j] = (sh_notice){.whole = one->whole,
                                     .position = one->position,
                                     .check = one->check,
                                     .life = SH_LIFE_READY};
            survivors[j] = (sh_survivor){cases[i].first + j, &notices[j], !one->unproven};
        }
        assert_true(sh_recovery_judge(&recovery, survivors, cases[i].count));
        if (!sh_position_same(recovery.target, cases[i].target))
            fail_msg("%s: target %llu.%u", cases[i].name, (unsigned long long)recovery.target.steps,
                     recovery.target.phase);
        for (uint32_t j = 0; j < cases[i].count; j++)
            if ("awo"[recovery.agreement[j]] != cases[i].agreement[j])
                fail_msg("%s: device %u", cases[i].name, j);
        assert_int_equal(recovery.no_majority, cases[i].agreement[cases[i].count] == '!');
    }
    const sh_notice none = {0};
    assert_false(sh_recovery_judge(&recovery, &(sh_survivor){0, &none, true}, 1));
}

static void nobody_alone_says_how_the_job_goes_on(void **state)
{
    (void)state;
    static sh_recovery recovery;
    static const struct {
        const char *ends;     /* by device: 'e' at the job's end; '-' elsewhere */
        const char *unproven; /* by device: 'u' */
        uint32_t grains[4];
        bool result;
        uint32_t of;
    } told[] = {
        {"...e", "    ", {12, 12, 12, 12}, false, 12}, /* a liar */
        {"eeee", "    ", {12, 12, 12, 12}, true, 12},
        {"eee.", "    ", {12, 12, 12, 12}, true, 12}, /* it just received its replica */
        {"e...", " uuu", {12, 12, 12, 12}, true, 12},
        {".eee", "u   ", {12, 12, 12, 12}, true, 12}, /* device 0 is new and cannot know */
        {"-.ee", "    ", {12, 12, 12, 12}, true, 12},
        {"-..e", "    ", {12, 12, 12, 12}, false, 12},
        {"-..e", " uu ", {12, 12, 12, 12}, true, 12},
        {"-..e", " uuu", {12, 12, 12, 12}, true, 12},
        {"....", "    ", {12, 12, 12, 3}, false, 12},
        {"....", "    ", {12, 3, 3, 3}, false, 12},
        {"-...", "    ", {0, 12, 3, 12}, false, 12},
    };
    for (size_t k = 0; k < sizeof told / sizeof *told; k++) {
        sh_notice notices[4];
        sh_survivor survivors[4];
        for (uint32_t i = 0; i < 4; i++) {
            notices[i] =
                (sh_notice){.whole = told[k].ends[i] != '-',
                            .position = {4, 1},
                            .life = told[k].ends[i] == 'e' ? SH_LIFE_FINISHED : SH_LIFE_READY,
                            .grains = told[k].grains[i]};
            survivors[i] = (sh_survivor){i, &notices[i], told[k].unproven[i] != 'u'};
        }
        assert_true(sh_recovery_judge(&recovery, survivors, 4));
        if (recovery.ends != told[k].result || recovery.grains != told[k].of)
            fail_msg("case %zu: ends %d, %u grains", k, recovery.ends, recovery.grains);
    }
}

static void nobody_is_dealt_what_its_account_has_no_room_for(void **state)
{
    (void)state;
    enum { HOLDERS = 3, PIECES = 31 };
    static const uint32_t first[HOLDERS] = {0, 1, 3}; /* of 4: number 2 is missing */
    static const sh_range shares[HOLDERS] = {{0, 4 * PIECES}, {4 * PIECES, 0}, {4 * PIECES, 0}};
    static sh_recovery recovery;
    static sh_notice notices[HOLDERS];
    sh_survivor survivors[HOLDERS];
    for (uint32_t i = 0; i < HOLDERS; i++) {
        notices[i] = (sh_notice){.whole = true, .position = {4, 1}, .grains = 4 * PIECES};
        for (uint32_t j = 0; j < PIECES; j++)
            assert_true(sh_ranges_add(&notices[i].held, (sh_range){4 * j + first[i], 1}));
        survivors[i] = (sh_survivor){i, &notices[i], true};
    }
    assert_true(sh_recovery_judge(&recovery, survivors, HOLDERS));
    sh_recovery_deal(&recovery, survivors, HOLDERS, shares, 4 * PIECES, false);
    for (uint32_t i = 0; i < HOLDERS; i++)
        assert_false(recovery.keep[i]);
    assert_int_equal(sh_ranges_total(&recovery.work[0]), 4 * PIECES);
}

static void deals_every_grain_once(void **state)
{
    (void)state;
    static sh_recovery recovery;
    sh_notice notices[3];
    sh_survivor survivors[3];
    const sh_range shares[] = {{0, 4}, {4, 8}, {12, 0}};
    for (uint32_t i = 0; i < 3; i++) {
        notices[i] =
            (sh_notice){.whole = true, .position = {4, 1}, .grains = 12, .held = {1, {{4 * i, 3}}}};
        survivors[i] = (sh_survivor){i, &notices[i], true};
    }
    notices[2].held.items[0].first = 2; /* overlaps device 0's grains, so they do not count */
    for (int restart = 0; restart < 2; restart++) {
        assert_true(sh_recovery_judge(&recovery, survivors, 3));
        sh_recovery_deal(&recovery, survivors, 3, shares, 12, restart);
        sh_ranges all = {0};
        uint32_t grains = 0;
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(recovery.keep[i], !restart && i < 2);
            if (recovery.keep[i])
                assert_true(sh_ranges_add_all(&all, &notices[i].held));
            grains += recovery.keep[i] ? sh_ranges_total(&notices[i].held) : 0;
            assert_true(sh_ranges_add_all(&all, &recovery.work[i]));
            grains += sh_ranges_total(&recovery.work[i]);
        }
        assert_int_equal(grains, 12);
        assert_int_equal(sh_ranges_total(&all), 12);
        assert_int_equal(sh_ranges_total(&recovery.work[2]), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_by_position_and_check),
        cmocka_unit_test(nobody_alone_says_how_the_job_goes_on),
        cmocka_unit_test(deals_every_grain_once),
        cmocka_unit_test(nobody_is_dealt_what_its_account_has_no_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
