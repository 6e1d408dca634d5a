/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include <zlib.h>

#include "base/test.h"

typedef struct zlib_calls {
    SH_LIBRARY_CALL(zlibVersion);
    SH_LIBRARY_CALL(crc32);
} zlib_calls;

static const sh_library_name names[] = {
    SH_LIBRARY_NAME(zlib_calls, zlibVersion),
    SH_LIBRARY_NAME(zlib_calls, crc32),
};

static void calls_reach_the_library(void **state)
{
    (void)state;
    static sh_library library = SH_LIBRARY("libz.so.1", "zlib1g", names);
    zlib_calls zlib;
    for (int i = 0; i < 2; i++) {
        assert_ok(sh_library_load(&zlib, &library));
        assert_string_equal(zlib.zlibVersion(), ZLIB_VERSION);
        assert_int_equal(zlib.crc32(0, (const Bytef *)"123456789", 9), 0xcbf43926);
    }
}

static void a_table_is_written_once(void **state)
{
    (void)state;
    static sh_library library = SH_LIBRARY("libz.so.1", "zlib1g", names);
    static zlib_calls zlib;
    assert_ok(sh_library_load_once(&zlib, &library));
    assert_int_equal(zlib.crc32(0, (const Bytef *)"123456789", 9), 0xcbf43926);
    zlib.crc32 = NULL;
    assert_ok(sh_library_load_once(&zlib, &library));
    assert_null(zlib.crc32);
}

static void what_is_missing_is_named(void **state)
{
    (void)state;
    static const sh_library_name wrong[] = {{"shoal_has_no_such_call", 0}};
    static sh_library missing = {
        .file = "libshoal-none.so.7", .package = "libnone7", .lock = PTHREAD_MUTEX_INITIALIZER};
    static sh_library without = {.file = "libz.so.1",
                                 .package = "zlib1g",
                                 .names = wrong,
                                 .name_count = 1,
                                 .lock = PTHREAD_MUTEX_INITIALIZER};
    zlib_calls zlib = {0};
    assert_fails(sh_library_load(&zlib, &missing), SH_UNSUPPORTED,
                 "the library libshoal-none.so.7 is missing: apt-get install libnone7");
    assert_fails(sh_library_load(&zlib, &without), SH_UNSUPPORTED,
                 "has no shoal_has_no_such_call: apt-get install zlib1g");
    without.handle = NULL;
    for (int i = 0; i < 2; i++) {
        assert_fails(sh_library_load_once(&zlib, &missing), SH_UNSUPPORTED,
                     "the library libshoal-none.so.7 is missing: apt-get install libnone7");
        assert_fails(sh_library_load_once(&zlib, &without), SH_UNSUPPORTED,
                     "has no shoal_has_no_such_call: apt-get install zlib1g");
    }
    assert_null(zlib.zlibVersion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_reach_the_library),
        cmocka_unit_test(a_table_is_written_once),
        cmocka_unit_test(what_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
