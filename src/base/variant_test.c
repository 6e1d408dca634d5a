/* SPDX-License-Identifier: Apache-2.0 */
#include "base/variant.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

static void variants_are_found_by_name(void **state)
{
    (void)state;
    for (unsigned v = 0; v < SH_VARIANT_COUNT; v++) {
        const char *const name = sh_variant_name((sh_variant)v);
        sh_variant found = SH_VARIANT_COUNT;
        if (sh_variant_runs((sh_variant)v)) {
            assert_ok(sh_variant_find(&found, name));
            assert_int_equal(found, v);
        } else {
            assert_fails(sh_variant_find(&found, name), SH_INVALID, name);
            assert_int_equal(found, SH_VARIANT_COUNT);
        }
    }
    assert_true(sh_variant_runs(SH_VARIANT_plain));
    assert_int_equal(SH_VARIANT_plain, SH_VARIANT_COUNT - 1);
}

static void an_unknown_name_lists_those_that_run(void **state)
{
    (void)state;
    sh_variant found;
    assert_fails(sh_variant_find(&found, "abacus"), SH_INVALID,
                 "variant 'abacus': this processor runs ");
    assert_fails(sh_variant_find(&found, "abacus"), SH_INVALID, "plain");
    assert_fails(sh_variant_find(&found, ""), SH_INVALID, "variant ''");
}

/* The variant of a new process, plus 100 if it refuses. */
static int ask(const char *first, const char *later)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        sh_variant found;
        if (first == NULL)
            unsetenv("SHOAL_VARIANT");
        else
            setenv("SHOAL_VARIANT", first, 1);
        const bool refused = sh_variant_find(&found, NULL) != SH_OK;
        const bool says_which = !refused || strstr(sh_message(), "SHOAL_VARIANT 'abacus'") != NULL;
        setenv("SHOAL_VARIANT", later, 1);
        const bool agrees = refused || found == sh_variant_chosen();
        _exit(agrees && says_which ? (int)sh_variant_chosen() + 100 * refused : 255);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_environment_is_asked_once(void **state)
{
    (void)state;
    int best = 0;
    while (!sh_variant_runs((sh_variant)best))
        best++;
    assert_int_equal(ask(NULL, "plain"), best);
    assert_int_equal(ask("", "plain"), best);
    assert_int_equal(ask("plain", "abacus"), SH_VARIANT_plain);
    assert_int_equal(ask("abacus", "plain"), 100 + best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variants_are_found_by_name),
        cmocka_unit_test(an_unknown_name_lists_those_that_run),
        cmocka_unit_test(the_environment_is_asked_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
