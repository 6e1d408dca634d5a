/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggestion.h"
#include "base/test.h"

static void finds_what_was_meant(void **state)
{
    (void)state;
    static const char *const names[] = {"train", "join", "eval", "models", "version", "batch-size"};
    static const struct {
        const char *typed, *meant;
    } cases[] = {
        {"train", "train"},
        {"trian", "train"},
        {"trin", "train"},
        {"traiin", "train"},
        {"tr", "train"},
        {"JOIN", NULL},
        {"jion", "join"},
        {"modles", "models"},
        {"batch", "batch-size"},
        {"bacthsize", "batch-size"},
        {"flounder", NULL},
        {"x", NULL},
        {"", NULL},
        {"vresoin", "version"},
        {"eavl", "eval"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_suggestion meant = {.typed = cases[i].typed};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            sh_suggestion_offer(&meant, names[n]);
        if (cases[i].meant == NULL)
            assert_null(meant.name);
        else if (meant.name == NULL)
            fail_msg("'%s' was not understood", cases[i].typed);
        else
            assert_string_equal(meant.name, cases[i].meant);
    }
}

static void the_nearest_wins_and_long_ones_are_left_alone(void **state)
{
    (void)state;
    sh_suggestion meant = {.typed = "lane"};
    sh_suggestion_offer(&meant, "line");
    sh_suggestion_offer(&meant, "lane");
    sh_suggestion_offer(&meant, "lame");
    assert_string_equal(meant.name, "lane");

    char page[1000];
    memset(page, 'a', sizeof page - 1);
    page[sizeof page - 1] = '\0';
    sh_suggestion none = {.typed = page};
    sh_suggestion_offer(&none, page);
    assert_null(none.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_was_meant),
        cmocka_unit_test(the_nearest_wins_and_long_ones_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
