/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <unistd.h>

#include "base/scratch.h"

/* NULL: unset, or no folder. */
static const struct place {
    const char *cache, *home, *expected; /* below the scratch folder if they begin with / */
} places[] = {
    {"/a/b", "/h", "/a/b/shoal"},          {NULL, "/h", "/h/.cache/shoal"},
    {"relative", "/h", "/h/.cache/shoal"}, {NULL, NULL, NULL},
    {"relative", "relative", NULL},
};

static void set(const char *name, const char *folder, const char *value)
{
    char path[SCRATCH_BYTES + 64];
    if (value == NULL) {
        assert_int_equal(unsetenv(name), 0);
        return;
    }
    snprintf(path, sizeof path, "%s%s", value[0] == '/' ? folder : "", value);
    assert_int_equal(setenv(name, path, 1), 0);
}

static void the_environment_says_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char folder[SCRATCH_BYTES], path[SH_CACHE_PATH], expected[SCRATCH_BYTES + 64];
        scratch_make(folder);
        set("XDG_CACHE_HOME", folder, places[i].cache);
        set("HOME", folder, places[i].home);
        const int fd = sh_cache_open(path);
        assert_int_equal(fd >= 0, places[i].expected != NULL);
        if (fd >= 0) {
            struct stat about;
            snprintf(expected, sizeof expected, "%s%s", folder, places[i].expected);
            assert_string_equal(path, expected);
            assert_int_equal(stat(path, &about), 0);
            assert_int_equal(about.st_mode & 0777, 0700);
            close(fd);
        }
        scratch_remove(folder);
    }
}

static void a_folder_that_others_can_write_is_none(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SH_CACHE_PATH];
    scratch_make(folder);
    set("XDG_CACHE_HOME", folder, "/");
    const int fd = sh_cache_open(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(sh_cache_open(path), -1);
    scratch_remove(folder);
}

static void a_folder_below_is_followed_by_no_link(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SH_CACHE_PATH];
    scratch_make(folder);
    set("XDG_CACHE_HOME", folder, "/");
    const int above = sh_cache_open(path);
    const int below = sh_cache_folder(above, path, "packed");
    assert_true(below >= 0);
    assert_int_equal(fchmod(below, 0720), 0);
    close(below);
    assert_int_equal(sh_cache_folder(above, path, "packed"), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(symlinkat("packed", above, "link"), 0);
    assert_int_equal(sh_cache_folder(above, path, "link"), -1);
    close(above);
    scratch_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_says_where),
        cmocka_unit_test(a_folder_that_others_can_write_is_none),
        cmocka_unit_test(a_folder_below_is_followed_by_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
