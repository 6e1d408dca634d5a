/* SPDX-License-Identifier: Apache-2.0 */
#include "data/split.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

#define MANY 4000

static char names[MANY][32];
static sh_split_item items[MANY];

static void name_all(size_t count, uint32_t classes)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%zu.jpg", i);
        items[i] = (sh_split_item){names[i], (uint32_t)(i % classes), SH_SPLIT_TRAIN};
    }
}

static size_t validated(size_t count, uint32_t class)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += items[i].class == class && items[i].split == SH_SPLIT_VALIDATION;
    return sum;
}

/* 200 expected per class, with deviation 12.6. */
static void each_class_is_divided(void **state)
{
    (void)state;
    name_all(MANY, 4);
    assert_ok(sh_split_assign(items, MANY, 4, 0.2));
    for (uint32_t class = 0; class < 4; class ++)
        assert_in_range(validated(MANY, class), 150, 250);
}

static void what_is_added_moves_nothing(void **state)
{
    (void)state;
    sh_split before[MANY / 2];
    name_all(MANY / 2, 3);
    assert_ok(sh_split_assign(items, MANY / 2, 3, 0.3));
    for (size_t i = 0; i < MANY / 2; i++)
        before[i] = items[i].split;
    name_all(MANY, 3);
    assert_ok(sh_split_assign(items, MANY, 3, 0.3));
    for (size_t i = 0; i < MANY / 2; i++)
        assert_int_equal(items[i].split, before[i]);
}

static void what_belongs_together_stays_so(void **state)
{
    (void)state;
    static const char *const people[] = {"ann", "ben", "cleo", "dan", "eve"};
    for (size_t i = 0; i < 500; i++)
        items[i] = (sh_split_item){people[i % 5], (uint32_t)(i / 5 % 10), SH_SPLIT_TRAIN};
    assert_ok(sh_split_assign(items, 500, 10, 0.2));
    for (size_t i = 0; i < 500; i++)
        assert_int_equal(items[i].split, items[i % 5].split);
    assert_in_range(validated(500, 0), 1, 49);
}

static void small_classes_are_on_both_sides(void **state)
{
    (void)state;
    name_all(20, 10);
    assert_ok(sh_split_assign(items, 20, 10, 0.01));
    for (uint32_t class = 0; class < 10; class ++)
        assert_int_equal(validated(20, class), 1);
    name_all(20, 10);
    assert_ok(sh_split_assign(items, 20, 10, 0.99));
    for (uint32_t class = 0; class < 10; class ++)
        assert_int_equal(validated(20, class), 1);
}

static void one_name_cannot_be_divided(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        items[i] = (sh_split_item){"ann", (uint32_t)i, SH_SPLIT_TRAIN};
    assert_fails(sh_split_assign(items, 3, 3, 0.5), SH_INVALID, "cannot be divided");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_is_divided),
        cmocka_unit_test(what_is_added_moves_nothing),
        cmocka_unit_test(what_belongs_together_stays_so),
        cmocka_unit_test(small_classes_are_on_both_sides),
        cmocka_unit_test(one_name_cannot_be_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
