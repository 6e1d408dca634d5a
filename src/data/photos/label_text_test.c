/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/label_text.h"

#include <math.h>

#include "base/test.h"

static void numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double number;
    } cases[] = {
        {"0", 0},
        {"-0.0", 0},
        {"7", 7},
        {"+7.", 7},
        {".5", .5},
        {"-3.25", -3.25},
        {"1e3", 1e3},
        {"1E-3", 1e-3},
        {"0.1", 0.1},
        {"3.141592653589793", 3.141592653589793},
        {"123456789012345678", 123456789012345678.0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"0.00000000000000000000000000000000012345", 1.2345e-34},
        {"1e300", 1e300},
        {"1e-300", 1e-300},
        {"1e-4000", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double number = 99;
        assert_true(sh_label_number(&number, cases[i].text));
        if (fabs(number - cases[i].number) > 4e-16 * fabs(cases[i].number) + 0)
            fail_msg("%s is read as %.17g", cases[i].text, number);
    }
}

static void other_texts_are_no_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",     "-",   ".",   "e5", "1e", "1e+", "1.2.3", "1,5",
        "0x10", "nan", "inf", " 1", "1 ", "--1", "1e999", "1e99999999999999999999",
        "one",  "1|2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double number = 99;
        if (sh_label_number(&number, texts[i]))
            fail_msg("'%s' is read as %g", texts[i], number);
        assert_true(number > 98);
    }
}

static void kinds_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_label_kind kind;
    } cases[] = {
        {"", SH_LABEL_EMPTY},
        {"0", SH_LABEL_BIT},
        {"1", SH_LABEL_BIT},
        {"01", SH_LABEL_WHOLE},
        {"12", SH_LABEL_WHOLE},
        {"-12", SH_LABEL_NUMBER},
        {"1.0", SH_LABEL_NUMBER},
        {"1e5", SH_LABEL_NUMBER},
        {"1a", SH_LABEL_WORD},
        {"a|b", SH_LABEL_LIST},
        {"1|2", SH_LABEL_LIST},
        {"a b", SH_LABEL_WORD},
        {"12345678901234567890", SH_LABEL_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (sh_label_kind_of(cases[i].text) != cases[i].kind)
            fail_msg("'%s' is of kind %d", cases[i].text, (int)sh_label_kind_of(cases[i].text));
}

static void lists_are_parted(void **state)
{
    (void)state;
    const char *at = "|| a b | c||d |";
    static const char *const words[] = {"a b", "c", "d"};
    size_t length, count = 0;
    for (; sh_label_next(&at, &length); at += length) {
        assert_true(count < 3);
        assert_int_equal(length, strlen(words[count]));
        assert_memory_equal(at, words[count++], length);
    }
    assert_int_equal(count, 3);
}

static void expect_order(const char *const *added, const char *const *sorted)
{
    sh_label_names names;
    sh_label_names_init(&names);
    for (size_t i = 0; added[i] != NULL; i++)
        assert_ok(sh_label_names_add(&names, added[i], strlen(added[i])));
    sh_label_names_sort(&names);
    size_t count = 0;
    for (; sorted[count] != NULL; count++) {
        assert_in_range(count, 0, names.count - 1);
        assert_string_equal(names.texts[count], sorted[count]);
        assert_int_equal(sh_label_names_find(&names, sorted[count], strlen(sorted[count])), count);
    }
    assert_int_equal(names.count, count);
    sh_label_names_release(&names);
}

static void names_are_sorted(void **state)
{
    (void)state;
    expect_order((const char *const[]){"b", "a", "b", "ab", "B", "\xc3\xa4", "10", "9", NULL},
                 (const char *const[]){"10", "9", "B", "a", "ab", "b", "\xc3\xa4", NULL});
    expect_order((const char *const[]){"10", "9", "009", "0", "10", NULL},
                 (const char *const[]){"0", "9", "009", "10", NULL});
}

static void there_are_not_too_many_names(void **state)
{
    (void)state;
    sh_label_names names;
    char text[16];
    sh_label_names_init(&names);
    for (unsigned i = 0; i < SH_LABEL_NAMES_MOST; i++) {
        snprintf(text, sizeof text, "%08u", i);
        assert_ok(sh_label_names_add(&names, text, 8));
    }
    assert_ok(sh_label_names_add(&names, text, 8));
    assert_fails(sh_label_names_add(&names, "x", 1), SH_LIMIT, "more than 65536 different labels");
    sh_label_names_release(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read), cmocka_unit_test(other_texts_are_no_numbers),
        cmocka_unit_test(kinds_are_told),   cmocka_unit_test(lists_are_parted),
        cmocka_unit_test(names_are_sorted), cmocka_unit_test(there_are_not_too_many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
