/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/blame.h"

#include "base/test.h"

#define CHECK UINT64_C(0xfedcba9876543210)
#define WORDS 4

/* The sum of three right checks and a wrong one. */
#define TOTAL (4 * CHECK + 5)
#define DIFFERED                                                                                   \
    {                                                                                              \
        .there = true, .differed = true, .own_check = CHECK, .total = TOTAL                        \
    }
#define STOPPED                                                                                    \
    {                                                                                              \
        .there = true, .own_check = CHECK                                                          \
    }
#define PASSED                                                                                     \
    {                                                                                              \
        .passed = true                                                                             \
    }

static const struct {
    const char *what;
    sh_blame_report reports[WORDS];
    uint32_t odd; /* bit mask */
} cases[] = {
    {"its own trailer says another check",
     {DIFFERED,
      DIFFERED,
      {.there = true, .differed = true, .own_check = CHECK + 5, .total = TOTAL},
      STOPPED},
     1 << 2},
    {"it was stopped before it read the total, and says so too",
     {DIFFERED, DIFFERED, STOPPED, {.there = true, .own_check = CHECK + 5}},
     1 << 3},
    {"its trailer was not made yet", {DIFFERED, DIFFERED, DIFFERED, {.there = true}}, 0},
    {"the total that it complains of shows no difference",
     {STOPPED,
      {.there = true, .differed = true, .own_check = CHECK, .total = 4 * CHECK},
      STOPPED,
      STOPPED},
     1 << 1},
    {"all others passed", {PASSED, PASSED, DIFFERED, PASSED}, 1 << 2},
    {"it passed alone", {DIFFERED, PASSED, DIFFERED, STOPPED}, 1 << 1},
    {"as many passed as did not", {PASSED, DIFFERED, PASSED, DIFFERED}, 0},
    {"it read another total than all others",
     {DIFFERED,
      DIFFERED,
      {.there = true, .differed = true, .own_check = CHECK, .total = 9},
      STOPPED},
     1 << 2},
    {"two totals, one each",
     {DIFFERED,
      {.there = true, .differed = true, .own_check = CHECK, .total = 9},
      STOPPED,
      STOPPED},
     0},
    {"all say the right and read the same", {DIFFERED, DIFFERED, DIFFERED, DIFFERED}, 0},
    {"a word of another stage is none",
     {DIFFERED, DIFFERED, DIFFERED, {.own_check = CHECK + 1, .total = 4 * CHECK}},
     0},
};

static void who_is_wrong_follows_from_what_all_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool odd[WORDS];
        uint32_t mask = 0;
        const uint32_t found = sh_blame_find(odd, cases[i].reports, WORDS, CHECK, WORDS);
        for (uint32_t k = 0; k < WORDS; k++)
            mask |= (uint32_t)odd[k] << k;
        if (mask != cases[i].odd || found != (uint32_t)__builtin_popcount(mask))
            fail_msg("%s: %x", cases[i].what, mask);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_wrong_follows_from_what_all_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
