/* SPDX-License-Identifier: Apache-2.0 */
#include "data/mirror_cache.h"

#include <fcntl.h>

#include "data/delivery_fixture.h"

enum { MIRROR_BYTES = 4096 * 64 };

/* No content matches the manifest. */
static sh_manifest *manifest_of(uint8_t seed)
{
    static const char head[] = "shoalman\2\0\0\0\0\20\0\0set";
    uint8_t packed[248 + 56 + 64 * SH_DIGEST_BYTES] = {0};
    memcpy(packed, head, sizeof head - 1);
    memset(packed + 32, 'a', 64);
    packed[96] = packed[100] = packed[104] = packed[120] = packed[124] = packed[240] = 1;
    packed[116] = 2;
    packed[146] = 128;
    packed[147] = 63; /* deviation 1 */
    for (int i = 0; i < 4; i++)
        packed[160 + 20 * i + 12] = 1;
    packed[244] = 1;
    packed[248] = 'f';
    packed[298] = MIRROR_BYTES >> 16;
    packed[248 + 56] = seed;
    sh_manifest *manifest;
    assert_ok(sh_manifest_parse(&manifest, packed, sizeof packed, NULL));
    assert_int_equal(manifest->content_bytes, MIRROR_BYTES);
    return manifest;
}

static void set_age(fixture *s, const sh_manifest *m, int age)
{
    char name[128];
    snprintf(name, sizeof name, "cache/shoal/mirrors/%s/lock", m->root);
    const struct timespec then = {.tv_sec = 1700000000 - age};
    assert_int_equal(utimensat(AT_FDCWD, fixture_path(s, name), (struct timespec[]){then, then}, 0),
                     0);
}

static void make_mirror(fixture *s, uint8_t seed, int age)
{
    static uint8_t bytes[MIRROR_BYTES];
    static const char marks[] = "\1\1\1\1\1\1\1\1";
    sh_manifest *m = manifest_of(seed);
    sh_mirror_cache cache;
    assert_ok(sh_mirror_cache_open(&cache, m, 0));
    assert_int_equal(pwrite(cache.content, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(pwrite(cache.marks, marks, 8, 0), 8);
    sh_mirror_cache_close(&cache);
    set_age(s, m, age);
    sh_manifest_free(m);
}

static bool is_there(fixture *s, uint8_t seed)
{
    char name[128];
    sh_manifest *m = manifest_of(seed);
    snprintf(name, sizeof name, "cache/shoal/mirrors/%s/content", m->root);
    sh_manifest_free(m);
    return access(fixture_path(s, name), F_OK) == 0;
}

static void what_was_written_is_found_again(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    sh_manifest *m = manifest_of(1);
    sh_mirror_cache one, two;
    char byte = 0;
    assert_false(is_there(&s, 1));
    assert_ok(sh_mirror_cache_open(&one, m, 0));
    assert_int_equal(pwrite(one.content, "x", 1, 5 * 4096), 1);
    assert_int_equal(pwrite(one.marks, "\1", 1, 5), 1);
    assert_ok(sh_mirror_cache_open(&two, m, 0)); /* concurrently */
    assert_int_equal(pread(two.content, &byte, 1, 5 * 4096), 1);
    assert_int_equal(byte, 'x');
    sh_mirror_cache_close(&one);
    sh_mirror_cache_close(&two);
    sh_mirror_cache_close(&two);
    assert_true(is_there(&s, 1));
    assert_ok(sh_mirror_cache_open(&one, m, 0));
    assert_int_equal(pread(one.marks, &byte, 1, 5), 1);
    assert_int_equal(byte, 1);
    struct stat about;
    assert_int_equal(fstat(one.content, &about), 0);
    assert_int_equal(about.st_size, MIRROR_BYTES);
    assert_true(about.st_blocks * 512 < MIRROR_BYTES / 4);
    sh_mirror_cache_close(&one);
    sh_manifest_free(m);
    fixture_remove(&s);
}

static void damaged_files_are_made_good(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    make_mirror(&s, 1, 0);
    sh_manifest *m = manifest_of(1);
    static const char *const files[] = {"content", "marks", "lock"};
    for (int i = 0; i < 6; i++) {
        char name[128];
        snprintf(name, sizeof name, "cache/shoal/mirrors/%s/%s", m->root, files[i / 2]);
        if (i % 2 == 0)
            assert_int_equal(truncate(fixture_path(&s, name), 7), 0);
        else
            assert_int_equal(unlink(fixture_path(&s, name)), 0);
        assert_int_equal(is_there(&s, 1), i != 1);
        sh_mirror_cache cache;
        struct stat about;
        uint8_t marks[64], expected[64] = {0};
        memset(expected, 1, i < 2 ? 8 : 0);
        assert_ok(sh_mirror_cache_open(&cache, m, 0));
        assert_int_equal(fstat(cache.content, &about), 0);
        assert_int_equal(about.st_size, MIRROR_BYTES);
        assert_int_equal(pread(cache.marks, marks, 64, 0), 64);
        assert_memory_equal(marks, expected, 64);
        sh_mirror_cache_close(&cache);
        assert_true(is_there(&s, 1));
    }
    sh_manifest_free(m);
    fixture_remove(&s);
}

static void the_least_recently_used_go_first(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    make_mirror(&s, 1, 100);
    make_mirror(&s, 2, 300);
    make_mirror(&s, 3, 200);
    sh_manifest *m = manifest_of(4);
    sh_mirror_cache cache;
    assert_ok(sh_mirror_cache_open(&cache, m, 3 * MIRROR_BYTES + 65536)); /* allocation rounds up */
    assert_true(is_there(&s, 1));
    assert_false(is_there(&s, 2));
    assert_true(is_there(&s, 3));
    assert_true(is_there(&s, 4));
    sh_mirror_cache_close(&cache);
    assert_ok(sh_mirror_cache_open(&cache, m, MIRROR_BYTES));
    assert_false(is_there(&s, 1));
    assert_false(is_there(&s, 3));
    sh_mirror_cache_close(&cache);
    sh_manifest_free(m);
    fixture_remove(&s);
}

static void a_limit_that_cannot_be_kept_removes_nothing(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    make_mirror(&s, 1, 100);
    sh_manifest *busy = manifest_of(2), *m = manifest_of(3);
    sh_mirror_cache used, cache;
    assert_fails(sh_mirror_cache_open(&cache, m, MIRROR_BYTES - 1), SH_NO_SPACE,
                 "/cache/shoal/mirrors: the data set needs 262144 bytes, the cache is limited to "
                 "262143 and mirrors in use take 0");
    char found[256];
    assert_int_equal(fixture_count(&s, "cache/shoal/mirrors", "", found), 2);
    assert_ok(sh_mirror_cache_open(&used, busy, 0)); /* counts in full */
    set_age(&s, busy, 1000);                         /* old, but in use */
    assert_fails(sh_mirror_cache_open(&cache, m, 2 * MIRROR_BYTES - 1), SH_NO_SPACE,
                 "mirrors in use take 262144; raise --cache");
    assert_true(is_there(&s, 1));
    assert_ok(sh_mirror_cache_open(&cache, m, 2 * MIRROR_BYTES));
    assert_false(is_there(&s, 1));
    assert_true(is_there(&s, 2));
    sh_mirror_cache_close(&cache);
    sh_mirror_cache_close(&used);
    sh_manifest_free(busy);
    sh_manifest_free(m);
    fixture_remove(&s);
}

static void a_small_disk_is_told(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    char folder[SCRATCH_BYTES + 256];
    snprintf(folder, sizeof folder, "%s", fixture_path(&s, "cache"));
    scratch_mount(folder, 3 * MIRROR_BYTES - 65536);
    make_mirror(&s, 1, 100);
    make_mirror(&s, 2, 200);
    sh_manifest *m = manifest_of(3);
    sh_mirror_cache cache, other;
    assert_ok(sh_mirror_cache_open(&cache, m, 0));
    assert_true(is_there(&s, 1));
    assert_false(is_there(&s, 2));
    assert_ok(sh_mirror_cache_make_room(&cache, MIRROR_BYTES));
    assert_false(is_there(&s, 1));
    assert_fails(sh_mirror_cache_make_room(&cache, MIRROR_BYTES), SH_NO_SPACE,
                 "/cache/shoal/mirrors: the disk is too full for the data set: 262144 more bytes "
                 "are needed, ");
    assert_true(is_there(&s, 3));
    static uint8_t bytes[2 * MIRROR_BYTES];
    fixture_write(&s, "cache/large", bytes, sizeof bytes);
    sh_manifest *late = manifest_of(4);
    assert_fails(sh_mirror_cache_open(&other, late, 0), SH_NO_SPACE,
                 "262144 more bytes are needed, ");
    assert_fails(sh_mirror_cache_open(&other, late, 0), SH_NO_SPACE,
                 "name another folder with XDG_CACHE");
    assert_false(is_there(&s, 4));
    sh_mirror_cache_close(&cache);
    sh_manifest_free(m);
    sh_manifest_free(late);
    scratch_unmount(folder);
    fixture_remove(&s);
}

static void without_a_cache_files_have_no_name(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    char found[256];
    assert_int_equal(chmod(fixture_path(&s, "cache"), 0700), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/nowhere", 1), 0);
    sh_manifest *m = manifest_of(1);
    sh_mirror_cache cache;
    assert_ok(sh_mirror_cache_open(&cache, m, 0));
    struct stat about;
    assert_int_equal(fstat(cache.content, &about), 0);
    assert_int_equal(about.st_size, MIRROR_BYTES);
    assert_int_equal(about.st_nlink, 0);
    assert_int_equal(fixture_count(&s, "tmp", "", found), 0);
    assert_fails(sh_mirror_cache_make_room(&cache, 5), SH_NO_SPACE, "/tmp: the disk is too full");
    sh_mirror_cache_close(&cache);
    assert_fails(sh_mirror_cache_open(&cache, m, 1000), SH_NO_SPACE,
                 "the cache is limited to 1000");
    sh_manifest_free(m);
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_found_again),
        cmocka_unit_test(damaged_files_are_made_good),
        cmocka_unit_test(the_least_recently_used_go_first),
        cmocka_unit_test(a_limit_that_cannot_be_kept_removes_nothing),
        cmocka_unit_test(a_small_disk_is_told),
        cmocka_unit_test(without_a_cache_files_have_no_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
