/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/succession.h"

#include "base/test.h"

#define SUCCESSORS 3
#define TERM 4

static const sh_successor_answer silent = {.word = SH_SUCCESSOR_SILENT};
static const sh_successor_answer lost = {.word = SH_SUCCESSOR_LOST, .term = TERM, .able = true};
static const sh_successor_answer unable = {.word = SH_SUCCESSOR_LOST, .term = TERM};
static const sh_successor_answer follows = {
    .word = SH_SUCCESSOR_FOLLOWS, .term = TERM, .heard_ms = 100};
static const sh_successor_answer doubts = {
    .word = SH_SUCCESSOR_FOLLOWS, .term = TERM, .heard_ms = 1000};
static const sh_successor_answer follows_next = {.word = SH_SUCCESSOR_FOLLOWS, .term = TERM + 1};
static const sh_successor_answer leads = {.word = SH_SUCCESSOR_LEADS, .term = TERM + 1, .steps = 7};
static const sh_successor_answer leads_later = {
    .word = SH_SUCCESSOR_LEADS, .term = TERM + 2, .steps = 3};
static const sh_successor_answer leads_ahead = {
    .word = SH_SUCCESSOR_LEADS, .term = TERM + 1, .steps = 8};
static const sh_successor_answer lived_on = {.word = SH_SUCCESSOR_LEADS, .term = TERM, .steps = 9};
static const sh_successor_answer from_before = {
    .word = SH_SUCCESSOR_LEADS, .term = TERM - 1, .steps = 99};

#define ASK SH_SUCCESSION_ASK
#define FOLLOW SH_SUCCESSION_FOLLOW
#define LEAD SH_SUCCESSION_LEAD
#define NONE SUCCESSORS
#define COORDINATOR SUCCESSORS

/* This device's place, the answers of the successors and of the coordinator's address, and the time
 * since the loss. */
static const struct {
    const char *what;
    uint32_t own;
    const sh_successor_answer *answers[SUCCESSORS + 1];
    uint64_t passed_ms;
    sh_succession_choice choice;
    uint32_t whom;
} cases[] = {
    {"the first successor leads at once", 0, {&lost, &lost, &lost, &silent}, 0, LEAD, 0},
    {"also where all others are gone", 0, {&lost, &silent, &silent, &silent}, 0, LEAD, 0},
    {"the second waits for the first", 1, {&lost, &lost, &lost, &silent}, 0, ASK, 0},
    {"and follows it", 1, {&leads, &lost, &lost, &silent}, 0, FOLLOW, 0},
    {"but does not wait for ever", 1, {&lost, &lost, &lost, &silent}, 4000, LEAD, 0},
    {"a silent first successor may be slow", 1, {&silent, &lost, &lost, &silent}, 999, ASK, 0},
    {"or is gone", 1, {&silent, &lost, &lost, &silent}, 1000, LEAD, 0},
    {"one that cannot lead is passed over", 1, {&unable, &lost, &lost, &silent}, 0, LEAD, 0},
    {"the third waits for both", 2, {&silent, &lost, &lost, &silent}, 1000, ASK, 0},
    {"and for the first longer than the second", 2, {&lost, &unable, &lost, &silent}, 4999, ASK, 0},
    {"but not for ever either", 2, {&lost, &lost, &lost, &silent}, 5000, LEAD, 0},
    {"no successor never leads", NONE, {&silent, &silent, &silent, &silent}, 99999, ASK, 0},
    {"no successor follows", NONE, {&silent, &leads, &lost, &silent}, 0, FOLLOW, 1},
    {"another one has the coordinator", 0, {&lost, &follows, &lost, &silent}, 9999, ASK, 0},
    {"another one has not heard of it either", 0, {&lost, &doubts, &lost, &silent}, 0, LEAD, 0},
    {"who waits for nobody yet", 1, {&doubts, &lost, &lost, &silent}, 0, ASK, 0},
    {"only the link was lost", 0, {&lost, &silent, &silent, &lived_on}, 0, FOLLOW, COORDINATOR},
    {"the coordinator has come back as a device",
     1,
     {&leads, &lost, &lost, &follows_next},
     0,
     FOLLOW,
     0},
    {"a later successor leads already", 0, {&lost, &lost, &leads, &silent}, 0, FOLLOW, 2},
    {"the former coordinator follows one",
     0,
     {&lost, &lost, &lost, &follows_next},
     0,
     FOLLOW,
     COORDINATOR},
    {"a later successor follows a new one",
     0,
     {&lost, &lost, &follows_next, &silent},
     0,
     FOLLOW,
     2},
    {"of two that lead the later term counts",
     0,
     {&lost, &leads_ahead, &leads_later, &silent},
     0,
     FOLLOW,
     2},
    {"of one term who is ahead", 0, {&lost, &leads, &leads_ahead, &silent}, 0, FOLLOW, 2},
    {"of one term who is ahead, the other way round",
     0,
     {&lost, &leads_ahead, &leads, &silent},
     0,
     FOLLOW,
     1},
    {"nobody follows an earlier term", 0, {&lost, &from_before, &silent, &silent}, 0, LEAD, 0},
    {"not the former coordinator's either", 0, {&lost, &silent, &silent, &from_before}, 0, LEAD, 0},
    {"an old answer in its own place is none", 0, {&leads, &silent, &silent, &silent}, 0, LEAD, 0},
};

static sh_succession_choice choose(uint32_t *whom, size_t i, bool majority, uint32_t devices)
{
    sh_successor_answer answers[SUCCESSORS + 1];
    const sh_succession succession = {.term = TERM,
                                      .successors = SUCCESSORS,
                                      .own = cases[i].own,
                                      .devices = devices,
                                      .majority = majority,
                                      .lost_ms = 1000};
    for (uint32_t k = 0; k <= SUCCESSORS; k++)
        answers[k] = *cases[i].answers[k];
    return sh_succession_choose(whom, &succession, answers, 1000 + cases[i].passed_ms);
}

static void each_case_is_decided(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t whom = 0;
        const sh_succession_choice choice = choose(&whom, i, false, SUCCESSORS + 1);
        if (choice != cases[i].choice || whom != cases[i].whom)
            fail_msg("%s: %d, %u", cases[i].what, (int)choice, whom);
    }
}

static void other_addresses_count(void **state)
{
    (void)state;
    static const struct {
        const sh_successor_answer *answers[2];
        sh_succession_choice choice;
        uint32_t whom;
    } others[] = {
        {{&silent, &silent}, LEAD, 0},
        {{&silent, &lived_on}, FOLLOW, SUCCESSORS + 2},
        {{&from_before, &leads}, FOLLOW, SUCCESSORS + 2},
        {{&follows_next, &silent}, FOLLOW, SUCCESSORS + 1},
        {{&follows, &lost}, LEAD, 0},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const sh_successor_answer answers[SUCCESSORS + 3] = {
            lost, lost, silent, silent, *others[i].answers[0], *others[i].answers[1]};
        const sh_succession succession = {
            .term = TERM, .successors = SUCCESSORS, .others = 2, .devices = SUCCESSORS + 1};
        uint32_t whom = 0;
        assert_int_equal(sh_succession_choose(&whom, &succession, answers, 0), others[i].choice);
        assert_int_equal(whom, others[i].whom);
    }
}

static void some_strategies_want_a_majority(void **state)
{
    (void)state;
    uint32_t whom = 0;
    assert_int_equal(choose(&whom, 0, true, 4), LEAD);
    assert_int_equal(choose(&whom, 0, true, 5), LEAD);
    assert_int_equal(choose(&whom, 0, true, 6), ASK);
    assert_int_equal(choose(&whom, 1, true, 2), ASK);
    assert_int_equal(choose(&whom, 1, true, 1), LEAD);
}

static void of_two_coordinators_one_follows(void **state)
{
    (void)state;
    for (int lower = 0; lower < 2; lower++) {
        assert_true(sh_succession_is_behind(TERM, 100, lower, &leads));
        assert_false(sh_succession_is_behind(TERM + 2, 0, lower, &leads));
        assert_true(sh_succession_is_behind(TERM + 1, 6, lower, &leads));
        assert_false(sh_succession_is_behind(TERM + 1, 8, lower, &leads));
        assert_int_equal(sh_succession_is_behind(TERM + 1, 7, lower, &leads), !lower);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_decided),
        cmocka_unit_test(other_addresses_count),
        cmocka_unit_test(some_strategies_want_a_majority),
        cmocka_unit_test(of_two_coordinators_one_follows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
