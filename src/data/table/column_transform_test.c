/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/column_transform.h"

#include <math.h>

#include "base/test.h"

static sh_column_transform make(sh_kind kind, const char *const *words)
{
    sh_column_transform t;
    sh_vocabulary vocabulary = {0};
    uint32_t number;
    for (; words != NULL && *words != NULL; words++)
        assert_ok(sh_vocabulary_add(&vocabulary, &number, *words));
    assert_ok(sh_column_transform_init(&t, "x", 2, kind, &vocabulary));
    assert_int_equal(vocabulary.count, 0);
    return t;
}

static double value_of(const sh_column_transform *t, const char *text)
{
    double value = 77;
    assert_ok(sh_column_transform_value(t, &value, text));
    return value;
}

static void expect_json(const sh_column_transform *t, const char *text)
{
    json_t *json = sh_column_transform_json(t);
    assert_non_null(json);
    char *found = json_dumps(json, JSON_COMPACT);
    assert_string_equal(found, text);
    free(found);
    json_decref(json);
}

/* Mean 3, variance (4 + 1 + 9) / 3, median 2. */
static void numbers_are_standardised(void **state)
{
    (void)state;
    const double values[] = {1, NAN, 2, 6}, deviation = sqrt(14.0 / 3);
    sh_column_transform t = make(SH_KIND_NUMBER, NULL);
    int32_t *renumbered;
    float inputs[2];
    assert_ok(sh_column_transform_fit(&t, &renumbered, values, 4));
    assert_null(renumbered);
    assert_int_equal(t.outputs, 2);
    assert_true(sh_column_transform_apply(&t, inputs, value_of(&t, "9")));
    assert_true(inputs[0] == (float)(6 / deviation) && inputs[1] == 0);
    assert_true(sh_column_transform_apply(&t, inputs, value_of(&t, "NA")));
    assert_true(inputs[0] == (float)(-1 / deviation) && inputs[1] == 1);
    assert_false(sh_column_transform_apply(&t, inputs, 1e300));
    t.deviation = 0.5;
    expect_json(&t, "{\"name\":\"x\",\"column\":3,\"kind\":\"number\",\"mean\":3.0,\"deviation\":"
                    "0.5,\"median\":2.0,\"missing\":true}");
    sh_column_transform_release(&t);
}

static void what_never_changes_is_no_input(void **state)
{
    (void)state;
    static const struct {
        double values[4];
        uint32_t outputs;
    } cases[] = {
        {{1, 2, 3, 4}, 1},         {{0.1, 0.1, 0.1, 0.1}, 0}, /* the computed mean is inexact */
        {{0.1, 0.1, NAN, 0.1}, 1}, /* only the input for missing values */
        {{NAN, NAN, NAN, NAN}, 0}, {{1, 2, NAN, NAN}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_column_transform t = make(SH_KIND_NUMBER, NULL);
        int32_t *renumbered;
        float inputs[3] = {7, 7, 7};
        assert_ok(sh_column_transform_fit(&t, &renumbered, cases[i].values, 4));
        assert_int_equal(t.outputs, cases[i].outputs);
        assert_true(sh_column_transform_apply(&t, inputs, NAN));
        assert_true(inputs[t.outputs] == 7);
        assert_true(sh_column_transform_apply(&t, inputs, 0.1));
        assert_true(inputs[t.outputs] == 7);
        sh_column_transform_release(&t);
    }
}

static void categories_are_those_of_training(void **state)
{
    (void)state;
    static const char *const words[] = {"a", "b", "c", NULL};
    const double values[] = {2, 0, 2, NAN};
    sh_column_transform t = make(SH_KIND_CATEGORY, words);
    int32_t *renumbered;
    float inputs[2];
    assert_true(value_of(&t, " b ") == 1);
    assert_ok(sh_column_transform_fit(&t, &renumbered, values, 4));
    assert_int_equal(renumbered[0], 0);
    assert_int_equal(renumbered[1], -1);
    assert_int_equal(renumbered[2], 1);
    assert_int_equal(t.outputs, 2);
    static const struct {
        const char *text;
        float inputs[2];
    } cases[] = {{"a", {1, 0}}, {"c", {0, 1}}, {"b", {0, 0}}, {"?", {0, 0}}, {"zz", {0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(sh_column_transform_apply(&t, inputs, value_of(&t, cases[i].text)));
        assert_memory_equal(inputs, cases[i].inputs, sizeof inputs);
    }
    expect_json(&t,
                "{\"name\":\"x\",\"column\":3,\"kind\":\"category\",\"categories\":[\"a\",\"c\"]}");
    free(renumbered);
    const double same[] = {1, 1};
    assert_ok(sh_column_transform_fit(&t, &renumbered, same, 2));
    assert_int_equal(t.outputs, 0);
    free(renumbered);
    sh_column_transform_release(&t);
}

static void orders_and_dates_are_numbers(void **state)
{
    (void)state;
    static const char *const words[] = {"low", "mid", "high", NULL};
    double value;
    sh_column_transform grade = make(SH_KIND_ORDINAL, words), day = make(SH_KIND_DATE, NULL);
    assert_true(value_of(&grade, "high") == 2);
    assert_true(isnan(value_of(&grade, "")));
    assert_fails(sh_column_transform_value(&grade, &value, "huge"), SH_FORMAT,
                 "'huge' is not in the order of the column 'x'");
    assert_true(value_of(&day, "1970-01-03") == 2);
    assert_fails(sh_column_transform_value(&day, &value, "3.1.1970"), SH_FORMAT,
                 "'3.1.1970' in the column 'x' is not a date such as 2024-02-29");
    sh_column_transform_release(&grade);
    sh_column_transform_release(&day);
}

static void bad_numbers_are_refused(void **state)
{
    (void)state;
    double value;
    int32_t *renumbered;
    const double far[] = {-1.7e308, 1.7e308};
    sh_column_transform t = make(SH_KIND_NUMBER, NULL);
    assert_fails(sh_column_transform_value(&t, &value, "inf"), SH_FORMAT,
                 "'inf' in the column 'x' is not a finite number");
    assert_fails(sh_column_transform_value(&t, &value, "12a"), SH_FORMAT,
                 "'12a' in the column 'x' is not a number");
    assert_fails(sh_column_transform_value(&t, &value, "2024-01-01"), SH_FORMAT, "is not a number");
    assert_fails(sh_column_transform_fit(&t, &renumbered, far, 2), SH_FORMAT,
                 "are too far apart; leave it out with --inputs -x");
    sh_column_transform_release(&t);
}

static void treatments_are_read_back(void **state)
{
    (void)state;
    static const char *const words[] = {"low", "mid", "high", NULL};
    static const char *const texts[][4] = {{"1", "7.5", "?", "-3e4"},
                                           {"2024-01-01", "2020-02-02", "", "1969-01-01"},
                                           {"low", "high", "?", "other"},
                                           {"low", "mid", "?", "high"}};
    const double values[] = {0, 2, NAN, 1, 2};
    for (int kind = SH_KIND_NUMBER; kind <= SH_KIND_ORDINAL; kind++) {
        const bool worded = kind == SH_KIND_CATEGORY || kind == SH_KIND_ORDINAL;
        sh_column_transform t = make((sh_kind)kind, worded ? words : NULL), again;
        int32_t *renumbered;
        assert_ok(sh_column_transform_fit(&t, &renumbered, values, 5));
        json_t *json = sh_column_transform_json(&t);
        assert_ok(sh_column_transform_parse(&again, json));
        assert_int_equal(again.outputs, t.outputs);
        assert_int_equal(again.column, t.column);
        for (int i = 0; i < 4; i++) {
            float first[4] = {0}, second[4] = {0};
            assert_true(sh_column_transform_apply(&t, first, value_of(&t, texts[kind - 1][i])));
            assert_true(
                sh_column_transform_apply(&again, second, value_of(&again, texts[kind - 1][i])));
            assert_memory_equal(first, second, sizeof first);
        }
        free(renumbered);
        json_decref(json);
        sh_column_transform_release(&t);
        sh_column_transform_release(&again);
    }
}

static void bad_treatments_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}",
        "{\"name\":\"x\",\"column\":0,\"kind\":\"category\",\"categories\":[\"a\"]}",
        "{\"name\":\"x\",\"column\":100001,\"kind\":\"category\",\"categories\":[\"a\"]}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"nothing\",\"categories\":[\"a\"]}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"category\",\"categories\":[]}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"category\",\"categories\":[1]}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"category\",\"categories\":[\"a\",\"a\"]}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"number\",\"mean\":1,\"median\":1,\"missing\":"
        "true}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"number\",\"mean\":1,\"median\":1,"
        "\"deviation\":-1,\"missing\":true}",
        "{\"name\":\"x\",\"column\":1,\"kind\":\"number\",\"mean\":1,\"median\":1,"
        "\"deviation\":1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sh_column_transform t;
        json_t *json = json_loads(bad[i], 0, NULL);
        assert_non_null(json);
        assert_fails(sh_column_transform_parse(&t, json), SH_FORMAT, "column");
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_standardised),
        cmocka_unit_test(what_never_changes_is_no_input),
        cmocka_unit_test(categories_are_those_of_training),
        cmocka_unit_test(orders_and_dates_are_numbers),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(treatments_are_read_back),
        cmocka_unit_test(bad_treatments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
