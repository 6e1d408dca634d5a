/* SPDX-License-Identifier: Apache-2.0 */
#include "data/unpack.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "base/team.h"
#include "base/test.h"
#include "data/fixture.h"

enum { CONTENT = 300000, LIMIT = 1 << 20 };

static unsigned char content[CONTENT];

static void assert_content(int fd, const unsigned char *expected, size_t count)
{
    unsigned char *got = malloc(count + 1);
    assert_non_null(got);
    assert_int_equal(pread(fd, got, count + 1, 0), count);
    assert_memory_equal(got, expected, count);
    free(got);
}

static ino_t inode(int fd)
{
    struct stat about;
    assert_int_equal(fstat(fd, &about), 0);
    return about.st_ino;
}

/* Returns the copy's inode. */
static ino_t open_and_check(fixture *s, const char *name)
{
    int fd = -1;
    assert_ok(sh_unpack_open(&fd, fixture_path(s, name), LIMIT));
    assert_content(fd, content, CONTENT);
    const ino_t number = inode(fd);
    close(fd);
    return number;
}

static void copies_are_kept_and_found_again(void **state)
{
    (void)state;
    fixture s;
    char name[256];
    struct stat about;
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    const ino_t first = open_and_check(&s, "a.gz");
    assert_int_equal(open_and_check(&s, "a.gz"), first);
    assert_int_equal(open_and_check(&s, "./tmp/../a.gz"), first);
    assert_int_equal(fixture_count(&s, "cache/shoal", "-300000-", name), 1);
    assert_int_equal(fixture_count(&s, "cache/shoal", "", name), 2);
    assert_int_equal(stat(fixture_path(&s, "cache/shoal"), &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    fixture_remove(&s);
}

static void changed_files_replace_their_copies(void **state)
{
    (void)state;
    fixture s;
    char name[256];
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content + 1, CONTENT - 1);
    fixture_gzip(&s, "b.gz", content, CONTENT);
    int fd;
    assert_ok(sh_unpack_open(&fd, fixture_path(&s, "a.gz"), LIMIT));
    assert_content(fd, content + 1, CONTENT - 1);
    (void)open_and_check(&s, "b.gz");
    const struct timespec later[2] = {{.tv_sec = 1000000000, .tv_nsec = 1},
                                      {.tv_sec = 1000000000, .tv_nsec = 1}};
    fixture_gzip(&s, "a.gz", content, CONTENT);
    assert_int_equal(utimensat(AT_FDCWD, fixture_path(&s, "a.gz"), later, 0), 0);
    (void)open_and_check(&s, "a.gz");
    assert_content(fd, content + 1, CONTENT - 1);
    close(fd);
    assert_int_equal(fixture_count(&s, "cache/shoal", "-299999-", name), 0);
    assert_int_equal(fixture_count(&s, "cache/shoal", "-300000-", name), 2);
    const struct timespec next[2] = {{.tv_sec = 1000000000, .tv_nsec = 2},
                                     {.tv_sec = 1000000000, .tv_nsec = 2}};
    assert_int_equal(utimensat(AT_FDCWD, fixture_path(&s, "a.gz"), next, 0), 0);
    int again;
    assert_ok(sh_unpack_open(&again, fixture_path(&s, "a.gz"), LIMIT));
    close(again);
    assert_int_equal(fixture_count(&s, "cache/shoal", "-300000-", name), 2);
    fixture_remove(&s);
}

static void copies_of_a_wrong_size_are_made_anew(void **state)
{
    (void)state;
    static const off_t sizes[] = {0, 1, CONTENT - 1, CONTENT + 1};
    fixture s;
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[256], copy[300];
        (void)open_and_check(&s, "a.gz");
        assert_int_equal(fixture_count(&s, "cache/shoal", "-300000-", name), 1);
        snprintf(copy, sizeof copy, "cache/shoal/%s", name);
        assert_int_equal(truncate(fixture_path(&s, copy), sizes[i]), 0);
        (void)open_and_check(&s, "a.gz");
    }
    fixture_remove(&s);
}

static void copies_of_another_content_are_made_anew(void **state)
{
    (void)state;
    static const off_t places[] = {0, 70000, CONTENT - 1};
    fixture s;
    char name[256], copy[300];
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    for (size_t i = 0; i <= sizeof places / sizeof *places; i++) {
        (void)open_and_check(&s, "a.gz");
        assert_int_equal(fixture_count(&s, "cache/shoal", "-300000-", name), 1);
        snprintf(copy, sizeof copy, "cache/shoal/%s", name);
        const int file = open(fixture_path(&s, copy), O_RDWR);
        unsigned char byte;
        if (i < sizeof places / sizeof *places) {
            assert_int_equal(pread(file, &byte, 1, places[i]), 1);
            byte ^= 0xff;
            assert_int_equal(pwrite(file, &byte, 1, places[i]), 1);
        } else { /* writable for others */
            assert_int_equal(fchmod(file, 0622), 0);
        }
        const ino_t before = inode(file); /* `file` keeps the inode in use */
        (void)open_and_check(&s, "a.gz");
        assert_int_equal(fixture_count(&s, "cache/shoal", "-300000-", name), 1);
        struct stat about;
        assert_int_equal(stat(fixture_path(&s, copy), &about), 0);
        assert_true(about.st_ino != before);
        close(file);
    }
    fixture_remove(&s);
}

static void what_a_killed_process_left_is_removed(void **state)
{
    (void)state;
    fixture s;
    char name[256];
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    assert_int_equal(mkdir(fixture_path(&s, "cache/shoal"), 0700), 0);
    fixture_write(&s, "cache/shoal/unpacking.tmp", content, 1000);
    (void)open_and_check(&s, "a.gz");
    assert_int_equal(fixture_count(&s, "cache/shoal", ".tmp", name), 0);
    fixture_remove(&s);
}

typedef struct race {
    const char *path;
    int fds[4];
} race;

static void open_one(void *context, uint32_t worker)
{
    race *r = context;
    if (sh_unpack_open(&r->fds[worker], r->path, LIMIT) != SH_OK)
        r->fds[worker] = -1;
}

static void those_who_come_at_once_share_a_copy(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    race r = {.path = fixture_path(&s, "a.gz")};
    sh_team *team;
    assert_ok(sh_team_start(&team, 4));
    sh_team_run(team, open_one, &r);
    sh_team_stop(team);
    for (int i = 0; i < 4; i++) {
        assert_true(r.fds[i] >= 0);
        assert_content(r.fds[i], content, CONTENT);
        assert_int_equal(inode(r.fds[i]), inode(r.fds[0]));
    }
    for (int i = 0; i < 4; i++)
        close(r.fds[i]);
    fixture_remove(&s);
}

static void members_that_follow_each_other_are_one(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, 100000);
    gzFile more = gzopen(fixture_path(&s, "a.gz"), "ab");
    assert_int_equal(gzwrite(more, content + 100000, CONTENT - 100000), CONTENT - 100000);
    assert_int_equal(gzclose(more), Z_OK);
    (void)open_and_check(&s, "a.gz");
    fixture_remove(&s);
}

/* Negative offsets count from the end of a valid file. */
static const struct spoiled {
    const char *what;
    long size, offset; /* truncate to `size`, change the byte at `offset`; 0: none */
    size_t extra;      /* appended */
    uint64_t limit_bytes;
    sh_status code;
    const char *part;
} spoiled[] = {
    {"crc", 0, -5, 0, LIMIT, SH_CORRUPT, "a.gz: is damaged at byte"},
    {"crc text", 0, -5, 0, LIMIT, SH_CORRUPT, "(incorrect data check); copy or download it again"},
    {"length", 0, -1, 0, LIMIT, SH_CORRUPT, "(incorrect length check)"},
    {"middle", 0, 1000, 0, LIMIT, SH_CORRUPT, "a.gz: is damaged at byte"},
    {"magic", 0, 1, 0, LIMIT, SH_FORMAT, "a.gz: is not a gzip file"},
    {"cut in its end", -1, 0, 0, LIMIT, SH_CORRUPT, "a.gz: is cut off: it ends after"},
    {"cut in the middle", 5000, 0, 0, LIMIT, SH_CORRUPT, "cut off: it ends after 5000 bytes"},
    {"cut in its head", 5, 0, 0, LIMIT, SH_CORRUPT, "cut off: it ends after 5 bytes"},
    {"data after", 0, 0, 3, LIMIT, SH_CORRUPT, "a.gz: has other bytes after its end, at byte"},
    {"too large", 0, 0, 0, CONTENT - 1, SH_LIMIT, "unpacks to more than the limit of 299999"},
};

static void spoiled_files_are_refused(void **state)
{
    (void)state;
    fixture s;
    fixture_new(&s);
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++)
        for (int cached = 0; cached < 2; cached++) {
            const struct spoiled *c = &spoiled[i];
            fixture_gzip(&s, "a.gz", content, CONTENT);
            struct stat about;
            const int file = open(fixture_path(&s, "a.gz"), O_RDWR);
            assert_true(file >= 0);
            assert_int_equal(fstat(file, &about), 0);
            const off_t size = about.st_size;
            if (c->size != 0)
                assert_int_equal(ftruncate(file, c->size < 0 ? size + c->size : c->size), 0);
            if (c->offset != 0) {
                const off_t at = c->offset < 0 ? size + c->offset : c->offset;
                unsigned char byte;
                assert_int_equal(pread(file, &byte, 1, at), 1);
                byte ^= 0x55;
                assert_int_equal(pwrite(file, &byte, 1, at), 1);
            }
            for (size_t k = 0; k < c->extra; k++)
                assert_int_equal(pwrite(file, "x", 1, size + (off_t)k), 1);
            close(file);
            setenv("XDG_CACHE_HOME", cached ? fixture_path(&s, "cache") : "/dev/null", 1);
            int fd = -7;
            char name[256];
            assert_fails(sh_unpack_open(&fd, fixture_path(&s, "a.gz"), c->limit_bytes), c->code,
                         c->part);
            assert_int_equal(fd, -7);
            assert_int_equal(fixture_count(&s, "cache/shoal", "-", name), 0);
            assert_int_equal(fixture_count(&s, "cache/shoal", ".tmp", name), 0);
            assert_int_equal(fixture_count(&s, "tmp", "", name), 0);
        }
    fixture_remove(&s);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    fixture s;
    int fd = -7;
    fixture_new(&s);
    fixture_write(&s, "empty.gz", "", 0);
    assert_int_equal(mkfifo(fixture_path(&s, "fifo.gz"), 0600), 0);
    assert_fails(sh_unpack_open(&fd, fixture_path(&s, "no.gz"), LIMIT), SH_NOT_FOUND,
                 "no.gz: cannot open it: No such file");
    assert_fails(sh_unpack_open(&fd, fixture_path(&s, "tmp"), LIMIT), SH_FORMAT,
                 "tmp: is not a regular file");
    assert_fails(sh_unpack_open(&fd, fixture_path(&s, "fifo.gz"), LIMIT), SH_FORMAT,
                 "fifo.gz: is not a regular file");
    assert_fails(sh_unpack_open(&fd, fixture_path(&s, "empty.gz"), LIMIT), SH_CORRUPT,
                 "empty.gz: is cut off: it ends after 0 bytes");
    assert_int_equal(fd, -7);
    fixture_remove(&s);
}

static void without_a_cache_the_copy_has_no_name(void **state)
{
    (void)state;
    fixture s;
    char name[256];
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    fixture_write(&s, "file", "", 0);

    setenv("XDG_CACHE_HOME", fixture_path(&s, "file"), 1);
    (void)open_and_check(&s, "a.gz");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    (void)open_and_check(&s, "a.gz");
    setenv("XDG_CACHE_HOME", fixture_path(&s, "cache"), 1);
    assert_int_equal(mkdir(fixture_path(&s, "cache/shoal"), 0700), 0);
    assert_int_equal(chmod(fixture_path(&s, "cache/shoal"), 0777), 0);
    (void)open_and_check(&s, "a.gz");
    assert_int_equal(fixture_count(&s, "cache/shoal", "", name), 0);
    assert_int_equal(fixture_count(&s, "tmp", "", name), 0);

    int fd = -7;
    setenv("TMPDIR", fixture_path(&s, "nowhere"), 1);
    assert_fails(sh_unpack_open(&fd, fixture_path(&s, "a.gz"), LIMIT), SH_NOT_FOUND,
                 "can write neither the cache nor ");
    assert_int_equal(fd, -7);
    fixture_remove(&s);
}

static void relative_cache_folders_do_not_count(void **state)
{
    (void)state;
    fixture s;
    char name[256];
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    setenv("XDG_CACHE_HOME", "cache", 1);
    setenv("HOME", fixture_path(&s, "home"), 1);
    (void)open_and_check(&s, "a.gz");
    assert_int_equal(fixture_count(&s, "home/.cache/shoal", "-300000-", name), 1);
    fixture_remove(&s);
}

static void without_permission_the_copy_has_no_name(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip_because("root may write everywhere");
    fixture s;
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    assert_int_equal(chmod(fixture_path(&s, "cache"), 0500), 0);
    (void)open_and_check(&s, "a.gz");
    assert_int_equal(chmod(fixture_path(&s, "cache"), 0700), 0);
    assert_int_equal(mkdir(fixture_path(&s, "cache/shoal"), 0500), 0);
    (void)open_and_check(&s, "a.gz");
    assert_int_equal(chmod(fixture_path(&s, "cache/shoal"), 0700), 0);
    assert_int_equal(chmod(fixture_path(&s, "a.gz"), 0), 0);
    int fd;
    assert_fails(sh_unpack_open(&fd, fixture_path(&s, "a.gz"), LIMIT), SH_PERMISSION,
                 "a.gz: cannot open it: Permission denied");
    fixture_remove(&s);
}

static void a_full_disk_is_told_and_left_clean(void **state)
{
    (void)state;
    fixture s;
    char name[256];
    fixture_new(&s);
    fixture_gzip(&s, "a.gz", content, CONTENT);
    if (mount("tmpfs", fixture_path(&s, "cache"), "tmpfs", 0, "size=128k") != 0) {
        fixture_remove(&s);
        skip_because("a small disk cannot be mounted here");
    }
    int fd = -7;
    const sh_status cached = sh_unpack_open(&fd, fixture_path(&s, "a.gz"), LIMIT);
    char message[SH_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", sh_message());
    const int left = fixture_count(&s, "cache/shoal", ".tmp", name) +
                     fixture_count(&s, "cache/shoal", "-", name);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    setenv("TMPDIR", fixture_path(&s, "cache"), 1);
    const sh_status unnamed = sh_unpack_open(&fd, fixture_path(&s, "a.gz"), LIMIT);
    assert_int_equal(umount(fixture_path(&s, "cache")), 0);
    fixture_remove(&s);
    assert_int_equal(cached, SH_NO_SPACE);
    assert_non_null(
        strstr(message, "a.gz: cannot write its unpacked copy: No space left on device"));
    assert_int_equal(left, 0);
    assert_int_equal(unnamed, SH_NO_SPACE);
    assert_int_equal(fd, -7);
}

int main(void)
{
    sh_random random = sh_random_for(1, SH_RANDOM_TEST, 0, 0);
    for (size_t i = 0; i < CONTENT; i++)
        content[i] = (unsigned char)(sh_random_next(&random) >> 28);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_kept_and_found_again),
        cmocka_unit_test(changed_files_replace_their_copies),
        cmocka_unit_test(copies_of_a_wrong_size_are_made_anew),
        cmocka_unit_test(copies_of_another_content_are_made_anew),
        cmocka_unit_test(what_a_killed_process_left_is_removed),
        cmocka_unit_test(those_who_come_at_once_share_a_copy),
        cmocka_unit_test(members_that_follow_each_other_are_one),
        cmocka_unit_test(spoiled_files_are_refused),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(without_a_cache_the_copy_has_no_name),
        cmocka_unit_test(relative_cache_folders_do_not_count),
        cmocka_unit_test(without_permission_the_copy_has_no_name),
        cmocka_unit_test(a_full_disk_is_told_and_left_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
