/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"
#include "base/test.h"

/* Known answers published with Random123 (kat_vectors, philox4x32-10). */
static const struct {
    uint32_t counter[4], key[2], expected[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void philox_gives_the_published_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t out[4];
        sh_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].expected, sizeof out);
    }
}

static void sequences_are_repeatable_and_apart(void **state)
{
    (void)state;
    sh_random a = sh_random_for(1, SH_RANDOM_TEST, 2, 3);
    sh_random b = sh_random_for(1, SH_RANDOM_TEST, 2, 3);
    sh_random c = sh_random_for(2, SH_RANDOM_TEST, 2, 3);
    int same = 0;
    for (int i = 0; i < 64; i++) {
        const uint32_t x = sh_random_next(&a);
        assert_int_equal(x, sh_random_next(&b));
        same += x == sh_random_next(&c);
    }
    assert_int_equal(same, 0);
}

static void below_is_uniform_and_unit_is_bounded(void **state)
{
    (void)state;
    sh_random random = sh_random_for(7, SH_RANDOM_TEST, 0, 0);
    int counts[5] = {0};
    for (int i = 0; i < 50000; i++)
        counts[sh_random_below(&random, 5)]++;
    for (int i = 0; i < 5; i++)
        assert_in_range(counts[i], 9600, 10400); /* 4.5 sigma */
    for (int i = 0; i < 10000; i++) {
        const float unit = sh_random_unit(&random);
        assert_true(unit >= 0.0f && unit < 1.0f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers),
        cmocka_unit_test(sequences_are_repeatable_and_apart),
        cmocka_unit_test(below_is_uniform_and_unit_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
