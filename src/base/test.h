/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included by every unit test: cmocka with the headers it needs before it, checks of a status, and
 * visible skips. cmocka counts a skipped test as passed; here each gives its reason, which
 * scripts/test.sh lists. A program that skips all its tests exits with 77, for CTest.
 *
 *     if (geteuid() == 0)
 *         skip_because("root may read everything");
 *
 * Threads: the test's only.
 */
#ifndef SHOAL_BASE_TEST_H
#define SHOAL_BASE_TEST_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != SH_OK)                                                                       \
            fail_msg("%s: %s", #call, sh_message());                                               \
    } while (0)

/* The message must contain `part`. */
#define assert_fails(call, code, part)                                                             \
    do {                                                                                           \
        const sh_status got_ = (call);                                                             \
        if (got_ != (code))                                                                        \
            fail_msg("%s: got '%s', expected '%s' (%s)", #call, sh_status_text(got_),              \
                     sh_status_text(code), sh_message());                                          \
        if (strstr(sh_message(), part) == NULL)                                                    \
            fail_msg("%s: message '%s' lacks '%s'", #call, sh_message(), part);                    \
    } while (0)

#define TEST_SKIPPED 77

static inline size_t *test_skips(void)
{
    static size_t count;
    return &count;
}

#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message("skipped: " __VA_ARGS__);                                                    \
        print_message("\n");                                                                       \
        ++*test_skips();                                                                           \
        _skip(__FILE__, __LINE__);                                                                 \
    } while (0)
#undef skip

/* Real data in the folder that SHOAL_TEST_DATA names; skips the test if missing. */
static inline void find_real_data(char *path, size_t bytes, const char *name)
{
    const char *folder = getenv("SHOAL_TEST_DATA");
    snprintf(path, bytes, "%s/%s", folder == NULL ? "" : folder, name);
    if (folder == NULL || folder[0] == '\0' || access(path, R_OK) != 0)
        skip_because("%s is not in SHOAL_TEST_DATA", name);
}

/* Called by main() if none of its tests can run. */
static inline int test_skip_all(const char *reason)
{
    print_message("skipped: %s\n", reason);
    return TEST_SKIPPED;
}

static inline int test_run(const char *name, const struct CMUnitTest *tests, size_t count,
                           CMFixtureFunction setup, CMFixtureFunction teardown)
{
    const int failed = _cmocka_run_group_tests(name, tests, count, setup, teardown);
    return failed == 0 && *test_skips() == count ? TEST_SKIPPED : failed;
}
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    test_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

#endif
