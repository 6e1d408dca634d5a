/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ranges.h"

#include "base/random.h"
#include "base/test.h"

#define NUMBERS 200

static sh_ranges from_bits(const bool *bits)
{
    sh_ranges ranges = {0};
    for (uint32_t i = 0; i < NUMBERS; i++)
        if (bits[i])
            assert_true(sh_ranges_add(&ranges, (sh_range){i, 1}));
    return ranges;
}

static void assert_bits(const sh_ranges *ranges, const bool *bits)
{
    bool found[NUMBERS] = {false};
    for (uint32_t i = 0; i < ranges->count; i++)
        for (uint32_t j = 0; j < ranges->items[i].count; j++)
            found[ranges->items[i].first + j] = true;
    assert_memory_equal(found, bits, sizeof found);
    assert_true(sh_ranges_valid(ranges, NUMBERS));
}

/* Draws at most 12 pieces, so that the union of two sets has room. */
static void draw_bits(sh_random *random, bool *bits)
{
    memset(bits, 0, NUMBERS);
    for (uint32_t piece = sh_random_below(random, 13); piece > 0; piece--) {
        const uint32_t first = sh_random_below(random, NUMBERS);
        for (uint32_t i = first; i < NUMBERS && i < first + sh_random_below(random, 30); i++)
            bits[i] = true;
    }
}

static void sets_are_as_bits_would_have_them(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 500; seed++) {
        sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0);
        bool a[NUMBERS], b[NUMBERS], both[NUMBERS], missing[NUMBERS], overlap = false;
        uint32_t total = 0;
        draw_bits(&random, a);
        draw_bits(&random, b);
        for (uint32_t i = 0; i < NUMBERS; i++) {
            both[i] = a[i] || b[i];
            missing[i] = !a[i];
            overlap = overlap || (a[i] && b[i]);
            total += a[i];
        }
        sh_ranges one = from_bits(a), other = from_bits(b), gaps;
        assert_int_equal(sh_ranges_total(&one), total);
        assert_int_equal(sh_ranges_overlap(&one, &other), overlap);
        assert_true(sh_ranges_complement(&gaps, &one, NUMBERS));
        assert_bits(&gaps, missing);
        for (uint32_t i = 0, index = 0; i < NUMBERS; i++) {
            assert_int_equal(sh_ranges_intersect(&one, (sh_range){i, 1}), a[i]);
            if (a[i])
                assert_int_equal(sh_ranges_at(&one, index++), i);
        }
        sh_ranges united = one;
        assert_true(sh_ranges_add_all(&united, &other));
        assert_bits(&united, both);

        sh_ranges taken;
        const uint32_t some = sh_random_below(&random, total + 2);
        sh_ranges_take(&taken, &one, some);
        assert_int_equal(sh_ranges_total(&taken), some < total ? some : total);
        assert_false(sh_ranges_overlap(&taken, &one));
        assert_true(sh_ranges_add_all(&taken, &one));
        assert_bits(&taken, a);
    }
}

static void neighbours_become_one_range(void **state)
{
    (void)state;
    sh_ranges ranges = {0};
    assert_true(sh_ranges_add(&ranges, (sh_range){5, 2}));
    assert_true(sh_ranges_add(&ranges, (sh_range){0, 2}));
    assert_true(sh_ranges_add(&ranges, (sh_range){9, 1}));
    assert_true(sh_ranges_add(&ranges, (sh_range){3, 0}));
    assert_int_equal(ranges.count, 3);
    assert_true(sh_ranges_add(&ranges, (sh_range){2, 3}));
    assert_int_equal(ranges.count, 2);
    assert_int_equal(ranges.items[0].count, 7);
    assert_int_equal(sh_ranges_total(&ranges), 8);
    assert_int_equal(sh_ranges_at(&ranges, 6), 6);
    assert_int_equal(sh_ranges_at(&ranges, 7), 9);
}

static void a_range_meets_a_set_that_has_some_of_it(void **state)
{
    (void)state;
    static const sh_range meeting[] = {{0, 5}, {4, 1}, {4, 9}, {7, 2}, {5, 1}, {20, 1}, {0, 30}},
                          apart[] = {{0, 4}, {8, 12}, {21, 9}, {5, 0}, {30, 1}};
    const sh_ranges ranges = {2, {{4, 4}, {20, 1}}};
    for (size_t i = 0; i < sizeof meeting / sizeof *meeting; i++)
        assert_true(sh_ranges_intersect(&ranges, meeting[i]));
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        assert_false(sh_ranges_intersect(&ranges, apart[i]));
    assert_false(sh_ranges_intersect(&(sh_ranges){0}, (sh_range){0, NUMBERS}));
}

static void what_has_no_room_leaves_the_set_alone(void **state)
{
    (void)state;
    sh_ranges ranges = {0};
    for (uint32_t i = 0; i < SH_RANGES_MAX; i++)
        assert_true(sh_ranges_add(&ranges, (sh_range){2 * i + 1, 1}));
    const sh_ranges before = ranges;
    assert_false(sh_ranges_add(&ranges, (sh_range){1000, 1}));
    assert_memory_equal(&ranges, &before, sizeof ranges);
    sh_ranges missing = {1, {{7, 7}}};
    assert_false(sh_ranges_complement(&missing, &ranges, 1000));
    assert_int_equal(missing.items[0].first, 7);
    assert_true(sh_ranges_add(&ranges, (sh_range){2, 1}));
    assert_int_equal(ranges.count, SH_RANGES_MAX - 1);
}

static void what_others_send_is_looked_at(void **state)
{
    (void)state;
    static const struct {
        sh_ranges ranges;
        bool valid;
    } cases[] = {
        {{0}, true},
        {{2, {{0, 3}, {4, 6}}}, true},
        {{2, {{0, 3}, {3, 1}}}, false},  /* touching */
        {{2, {{4, 3}, {0, 1}}}, false},  /* descending */
        {{1, {{4, 0}}}, false},          /* empty */
        {{1, {{4, 7}}}, false},          /* beyond the total */
        {{1, {{4, UINT32_MAX}}}, false}, /* wraps around */
        {{.count = SH_RANGES_MAX + 1}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sh_ranges_valid(&cases[i].ranges, 10), cases[i].valid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_as_bits_would_have_them),
        cmocka_unit_test(neighbours_become_one_range),
        cmocka_unit_test(a_range_meets_a_set_that_has_some_of_it),
        cmocka_unit_test(what_has_no_room_leaves_the_set_alone),
        cmocka_unit_test(what_others_send_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
