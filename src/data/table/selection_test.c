/* SPDX-License-Identifier: Apache-2.0 */
#include "data/table/selection.h"

#include "base/test.h"

static char *names[] = {"age", "fare, paid", "when:utc", "-x", "price"};
static sh_column columns[5];
static sh_survey survey = {.columns = columns, .count = 5};

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < survey.count; i++)
        columns[i].name = names[i];
    return 0;
}

/* A letter for each column: T target, i input, . unused, or of a declared kind. */
static void expect(const char *target, const char *inputs, bool needs_target, const char *roles)
{
    sh_selection s;
    char text[6] = "";
    assert_ok(sh_selection_make(&s, &survey, target, inputs, needs_target));
    for (size_t i = 0; i < s.count; i++) {
        const sh_role *role = &s.roles[i];
        text[i] = role->use == SH_USE_TARGET ? 'T' : role->use == SH_USE_INPUT ? 'i' : '.';
        if (role->use == SH_USE_INPUT && role->kind != SH_KIND_NOTHING)
            text[i] = sh_kind_name(role->kind)[0];
    }
    assert_string_equal(text, roles);
    sh_selection_release(&s);
}

static void columns_are_chosen(void **state)
{
    (void)state;
    expect(NULL, NULL, true, "iiiiT");
    expect("", "", false, "iiiii");
    expect("age", NULL, true, "Tiiii");
    expect("5", NULL, true, "iiiiT");
    expect("age,price", NULL, true, "TiiiT");
    expect("fare, paid", NULL, true, "iTiii");
    expect(NULL, "age", true, "i...T");
    expect(NULL, "1,3", true, "i.i.T");
    expect(NULL, "age:category,when:utc", true, "c.i.T");
    expect(NULL, "when:utc:date,age:number", true, "n.d.T");
    expect(NULL, "-age", true, ".iiiT");
    expect(NULL, "-x", true, "...iT"); /* a column with this name */
    expect(NULL, "--x", true, "iii.T");
    expect(NULL, "-age,-2,-price", true, "..iiT");
    expect(NULL, "*,age:category", true, "ciiiT");
    expect(NULL, "*,age:category,-3", true, "ci.iT");
    expect(NULL, "age:ordinal(low;mid, or so;high),3", true, "o.i.T");
}

static void order_is_as_written(void **state)
{
    (void)state;
    sh_selection s;
    assert_ok(sh_selection_make(&s, &survey, NULL, "age:ordinal(low; mid ;high)", true));
    assert_int_equal(s.roles[0].order.count, 3);
    assert_string_equal(s.roles[0].order.texts[0], "low");
    assert_string_equal(s.roles[0].order.texts[1], "mid");
    assert_int_equal(s.target_count, 1);
    assert_int_equal(s.targets[0], 4);
    sh_selection_release(&s);
}

static void bad_choices_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *target, *inputs;
        sh_status status;
        const char *message;
    } cases[] = {
        {"prise", "", SH_NOT_FOUND, "--target: there is no column 'prise'; is 'price' meant?"},
        {"quantity", "", SH_NOT_FOUND, "there are 5, from 'age' to 'price'"},
        {"0", "", SH_NOT_FOUND, "there is no column '0'"},
        {"age,age", "", SH_INVALID, "--target: the column 'age' is named twice"},
        {"age,1", "", SH_INVALID, "named twice"},
        {"", "agee", SH_NOT_FOUND, "--inputs: there is no column 'agee'; is 'age' meant?"},
        {"", "-agee", SH_NOT_FOUND, "is 'age' meant?"},
        {"", "price", SH_INVALID, "--inputs price: the column is the target"},
        {"", "age,1", SH_INVALID, "--inputs 1: the column is named twice"},
        {"", "age:word", SH_INVALID, "a column is number, category, date or ordinal"},
        {"", "age:ordinal(a;b", SH_INVALID, "write ordinal(low;mid;high)"},
        {"", "age:ordinal(a;a)", SH_INVALID, "at least two different words"},
        {"", "age:ordinal()", SH_INVALID, "at least two different words"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_selection s;
        assert_fails(sh_selection_make(&s, &survey, cases[i].target, cases[i].inputs, true),
                     cases[i].status, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_chosen),
        cmocka_unit_test(order_is_as_written),
        cmocka_unit_test(bad_choices_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
