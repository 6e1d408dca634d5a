/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/vocabulary.h"

#include "base/test.h"

static void words_are_found_again(void **state)
{
    (void)state;
    enum { WORDS = 1000 };
    sh_vocabulary words = {0};
    uint32_t number = 7;
    char text[16];
    assert_false(sh_vocabulary_find(&words, &number, "0"));
    for (int time = 0; time < 2; time++)
        for (uint32_t i = 0; i < WORDS; i++) {
            snprintf(text, sizeof text, "w%u", i);
            assert_ok(sh_vocabulary_add(&words, &number, text));
            assert_int_equal(number, i);
        }
    assert_int_equal(words.count, WORDS);
    assert_false(sh_vocabulary_find(&words, &number, "w1000"));
    assert_false(sh_vocabulary_find(&words, &number, ""));
    assert_true(sh_vocabulary_find(&words, &number, "w512"));
    assert_int_equal(number, 512);
    sh_vocabulary_release(&words);
    assert_false(sh_vocabulary_find(&words, &number, "w512"));
}

static void expect_order(const char *const *texts, const char *const *sorted, uint32_t count)
{
    sh_vocabulary words = {0};
    uint32_t number;
    for (uint32_t i = 0; i < count; i++)
        assert_ok(sh_vocabulary_add(&words, &number, texts[i]));
    assert_ok(sh_vocabulary_sort(&words));
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(words.texts[i], sorted[i]);
        assert_true(sh_vocabulary_find(&words, &number, sorted[i]));
        assert_int_equal(number, i);
    }
    sh_vocabulary_release(&words);
}

static void order_is_of_values_or_bytes(void **state)
{
    (void)state;
    expect_order((const char *const[]){"10", "9", "-3", "0.5"},
                 (const char *const[]){"-3", "0.5", "9", "10"}, 4);
    expect_order((const char *const[]){"10", "9", "b", "a"},
                 (const char *const[]){"10", "9", "a", "b"}, 4);
    sh_vocabulary none = {0};
    assert_ok(sh_vocabulary_sort(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_again),
        cmocka_unit_test(order_is_of_values_or_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
