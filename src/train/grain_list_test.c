/* SPDX-License-Identifier: Apache-2.0 */
#include "train/grain_list.h"

#include "base/random.h"
#include "base/test.h"

#define GRAINS 64

static void assert_list(const sh_grain_list *list, const sh_range *ranges, uint32_t count)
{
    assert_int_equal(list->count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(list->ranges[i].first, ranges[i].first);
        assert_int_equal(list->ranges[i].count, ranges[i].count);
    }
}

static void neighbours_become_one_range(void **state)
{
    (void)state;
    sh_grain_list list = {0};
    assert_ok(sh_grain_list_add(&list, (sh_range){5, 2}));
    assert_ok(sh_grain_list_add(&list, (sh_range){0, 2}));
    assert_ok(sh_grain_list_add(&list, (sh_range){9, 1}));
    assert_ok(sh_grain_list_add(&list, (sh_range){3, 0}));
    assert_list(&list, (sh_range[]){{0, 2}, {5, 2}, {9, 1}}, 3);
    assert_ok(sh_grain_list_add(&list, (sh_range){2, 3}));
    assert_list(&list, (sh_range[]){{0, 7}, {9, 1}}, 2);
    assert_int_equal(list.total, 8);
    assert_int_equal(sh_grain_list_at(&list, 6), 6);
    assert_int_equal(sh_grain_list_at(&list, 7), 9);
    sh_grain_list_clear(&list);
    assert_int_equal(list.total, 0);
    assert_false(sh_grain_list_meets(&list, (sh_range){0, GRAINS}));
    sh_grain_list_release(&list);
}

static void no_grain_is_in_it_twice(void **state)
{
    (void)state;
    static const sh_range refused[] = {{0, 5}, {4, 1}, {4, 9}, {7, 2}, {5, 1}, {20, 1}, {0, 30}};
    sh_grain_list list = {0}, other = {0};
    assert_ok(sh_grain_list_add(&list, (sh_range){4, 4}));
    assert_ok(sh_grain_list_add(&list, (sh_range){20, 1}));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_fails(sh_grain_list_add(&list, refused[i]), SH_INVALID, "there already");
    assert_list(&list, (sh_range[]){{4, 4}, {20, 1}}, 2);
    assert_ok(sh_grain_list_add(&other, (sh_range){0, 4}));
    assert_ok(sh_grain_list_merge(&list, &other));
    assert_list(&list, (sh_range[]){{0, 8}, {20, 1}}, 2);
    assert_fails(sh_grain_list_merge(&list, &other), SH_INVALID, "grains 0 to 3");
    sh_grain_list_release(&list);
    sh_grain_list_release(&other);
}

/* Against a table of what is in it, grain by grain. */
static void any_order_gives_the_same_set(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 50; turn++) {
        sh_random random = sh_random_for(1, SH_RANDOM_TEST, turn, 0);
        sh_grain_list list = {0};
        bool there[GRAINS] = {false};
        uint32_t total = 0;
        for (int i = 0; i < 40; i++) {
            const uint32_t first = sh_random_next(&random) % GRAINS;
            const sh_range range = {first, sh_random_next(&random) % 5 % (GRAINS - first + 1)};
            bool meets = false;
            for (uint32_t g = 0; g < range.count; g++)
                meets = meets || there[first + g];
            assert_int_equal(sh_grain_list_meets(&list, range), meets);
            assert_int_equal(sh_grain_list_add(&list, range), meets ? SH_INVALID : SH_OK);
            for (uint32_t g = 0; g < range.count && !meets; g++, total++)
                there[first + g] = true;
        }
        assert_int_equal(list.total, total);
        for (uint32_t g = 0, index = 0; g < GRAINS; g++)
            if (there[g])
                assert_int_equal(sh_grain_list_at(&list, index++), g);
        for (uint32_t r = 1; r < list.count; r++)
            assert_true(list.ranges[r].first > list.ranges[r - 1].first + list.ranges[r - 1].count);
        sh_grain_list_release(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_become_one_range),
        cmocka_unit_test(no_grain_is_in_it_twice),
        cmocka_unit_test(any_order_gives_the_same_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
