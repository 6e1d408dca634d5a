/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "base/scratch.h"
#include "store/file.h"

static char folder[SH_PATH_BYTES];
static char path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(path, folder, "file") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static void replaces_whole_files(void **state)
{
    (void)state;
    assert_ok(sh_file_replace(path, "first", 5));
    scratch_expect(path, "first");

    sh_file_writer *writer;
    assert_ok(sh_file_writer_open(&writer, path));
    assert_string_equal(sh_file_writer_path(writer), path);
    assert_ok(sh_file_writer_add(writer, "sec..d ", 7));
    assert_ok(sh_file_writer_add(writer, "", 0));
    assert_ok(sh_file_writer_add(writer, "file", 4));
    assert_ok(sh_file_writer_patch(writer, 3, "on", 2));
    assert_ok(sh_file_writer_sync(writer));
    scratch_expect(path, "first");
    assert_ok(sh_file_writer_commit(writer));
    scratch_expect(path, "second file");
    assert_int_equal(scratch_count(folder), 1);
}

static void gives_the_mode_that_the_umask_leaves(void **state)
{
    (void)state;
    struct stat about;
    const mode_t before = umask(0027);
    assert_ok(sh_file_replace(path, "x", 1));
    umask(before);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
}

static void discard_keeps_the_old_file(void **state)
{
    (void)state;
    assert_ok(sh_file_replace(path, "old", 3));
    sh_file_writer *writer, *other;
    assert_ok(sh_file_writer_open(&writer, path));
    assert_ok(sh_file_writer_open(&other, path));
    assert_ok(sh_file_writer_add(writer, "new", 3));
    sh_file_writer_discard(writer);
    sh_file_writer_discard(other);
    sh_file_writer_discard(NULL);
    scratch_expect(path, "old");
    assert_int_equal(scratch_count(folder), 1);
}

static void refuses_places_that_hold_no_file(void **state)
{
    (void)state;
    sh_file_writer *const untouched = (sh_file_writer *)&folder;
    sh_file_writer *writer = untouched;
    char place[SH_PATH_BYTES];
    assert_fails(sh_file_writer_open(&writer, folder), SH_INVALID, "is a folder");
    assert_ok(sh_path_join(place, folder, "none/file"));
    assert_fails(sh_file_writer_open(&writer, place), SH_NOT_FOUND, "none/file: cannot create");
    assert_ok(sh_file_replace(path, "x", 1));
    assert_ok(sh_path_join(place, path, "file"));
    assert_fails(sh_file_writer_open(&writer, place), SH_NOT_FOUND, "Not a directory");
    memset(place, 'x', sizeof place - 1);
    place[sizeof place - 1] = '\0';
    assert_fails(sh_file_writer_open(&writer, place), SH_LIMIT, "longer than 4095 bytes");
    assert_fails(sh_path_join(path, place, "a"), SH_LIMIT, "longer than 4095 bytes");
    assert_ptr_equal(writer, untouched);
}

static void a_full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    scratch_mount(folder, 32768);
    char *large = calloc(1, 65536);
    assert_non_null(large);
    assert_ok(sh_file_replace(path, "old\n", 4));
    assert_fails(sh_file_replace(path, large, 65536), SH_NO_SPACE, "file: cannot write: No space");
    assert_non_null(strstr(sh_message(), "choose another disk"));
    scratch_expect(path, "old\n");
    assert_int_equal(scratch_count(folder), 1);
    memset(large, 'x', 65535);
    assert_fails(sh_file_append_line(path, large), SH_NO_SPACE, "file: cannot append");
    scratch_expect(path, "old\n");
    free(large);
    scratch_unmount(folder);
}

static void says_where_permission_lacks(void **state)
{
    (void)state;
    assert_int_equal(chmod(folder, 0500), 0);
    const bool root = geteuid() == 0;
    if (root)
        assert_int_equal(seteuid(65534), 0); /* root may write anywhere */
    const sh_status status = sh_file_replace(path, "x", 1);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_fails(status, SH_PERMISSION,
                 "file: cannot create: Permission denied; check who owns it");
}

static void reads_small_files(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    uint64_t size = 0;
    assert_fails(sh_file_read(&text, &bytes, path, 10), SH_NOT_FOUND, "No such file");
    assert_ok(sh_file_replace(path, "0123456789", 10));
    assert_ok(sh_file_size(&size, path));
    assert_int_equal(size, 10);
    assert_ok(sh_file_read(&text, &bytes, path, 10));
    assert_int_equal(bytes, 10);
    assert_string_equal(text, "0123456789");
    free(text);
    text = NULL;
    assert_fails(sh_file_read(&text, &bytes, path, 9), SH_LIMIT, "10 bytes, at most 9");
    assert_fails(sh_file_read(&text, &bytes, folder, 9), SH_INVALID, "is not a file");
    assert_null(text);
}

static void appends_whole_lines(void **state)
{
    (void)state;
    assert_ok(sh_file_append_line(path, "one"));
    assert_ok(sh_file_append_line(path, ""));
    scratch_expect(path, "one\n\n");
    assert_fails(sh_file_append_line(path, "two\nthree"), SH_INVALID, "contains a newline");
    assert_fails(sh_file_append_line(folder, "two"), SH_IO, "cannot open");
    scratch_write(path, "one\n{\"cut", 9); /* as a power cut leaves it */
    assert_ok(sh_file_append_line(path, "two"));
    scratch_expect(path, "one\n{\"cut\ntwo\n");
}

static void makes_folders(void **state)
{
    (void)state;
    char place[SH_PATH_BYTES];
    assert_ok(sh_path_join(place, folder, "a/b//c/"));
    assert_ok(sh_folder_make(place));
    assert_ok(sh_folder_make(place));
    assert_true(sh_folder_exists(place));
    assert_ok(sh_folder_make("/"));
    assert_ok(sh_folder_sync(place));
    assert_fails(sh_folder_make(""), SH_INVALID, "path is empty");
    assert_ok(sh_file_replace(path, "x", 1));
    assert_false(sh_folder_exists(path));
    assert_fails(sh_folder_make(path), SH_INVALID, "is a file, not a folder");
    assert_ok(sh_path_join(place, path, "below"));
    assert_fails(sh_folder_make(place), SH_INVALID, "is a file, not a folder");
}

static void sweeps_temporaries_only(void **state)
{
    (void)state;
    char left[SH_PATH_BYTES];
    sh_file_writer *writer;
    assert_ok(sh_file_replace(path, "x", 1));
    assert_ok(sh_path_join(left, folder, "file.tmp-1-0"));
    scratch_write(left, "half", 4);
    assert_ok(sh_path_join(left, folder, "other.tmp"));
    scratch_write(left, "mine", 4);
    assert_ok(sh_folder_sweep(folder));
    assert_int_equal(scratch_count(folder), 2);
    assert_fails(sh_folder_sweep(path), SH_NOT_FOUND, "cannot list");
    assert_ok(sh_file_writer_open(&writer, path)); /* its temporary would be swept */
    assert_ok(sh_folder_sweep(folder));
    assert_int_equal(scratch_count(folder), 2);
    assert_fails(sh_file_writer_commit(writer), SH_NOT_FOUND, "cannot replace");
    scratch_expect(path, "x");
}

/* Files from the user may be links. */
static void follows_no_link_of_others(void **state)
{
    (void)state;
    char link[SH_PATH_BYTES], none[SH_PATH_BYTES], *text;
    int fd = -1;
    assert_ok(sh_path_join(link, folder, "link"));
    assert_ok(sh_path_join(none, folder, "none"));
    scratch_write(path, "victim", 6);
    assert_int_equal(symlink("file", link), 0);
    assert_fails(sh_file_open_own(&fd, link, O_RDWR | O_CREAT), SH_REFUSED,
                 "/link: is a symbolic link, which could lead anywhere: replace it with");
    assert_fails(sh_file_append_line(link, "x"), SH_REFUSED, "/link: is a symbolic link");
    assert_fails(sh_file_read_own(&text, NULL, link, 100), SH_REFUSED, "is a symbolic link");
    assert_fails(sh_folder_check_own(link), SH_REFUSED, "/link: is a symbolic link");
    assert_int_equal(fd, -1);
    scratch_expect(path, "victim");
    assert_ok(sh_file_read(&text, NULL, link, 100));
    assert_string_equal(text, "victim");
    free(text);
    assert_ok(sh_file_read_own(&text, NULL, path, 100));
    assert_string_equal(text, "victim");
    free(text);
    assert_ok(sh_folder_check_own(path));
    assert_ok(sh_folder_check_own(none));

    assert_int_equal(unlink(path), 0);
    assert_fails(sh_file_append_line(link, "x"), SH_REFUSED, "/link: is a symbolic link");
    assert_int_equal(scratch_count(folder), 1);
}

/* A blocking open would never return. */
static void waits_for_no_pipe(void **state)
{
    (void)state;
    char *text;
    int fd;
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(10); /* ends the test */
    assert_fails(sh_file_open_own(&fd, path, O_RDONLY), SH_INVALID, "file: is not a file");
    assert_fails(sh_file_read(&text, NULL, path, 10), SH_INVALID, "file: is not a file");
    assert_fails(sh_file_read_own(&text, NULL, path, 10), SH_INVALID, "file: is not a file");
    assert_fails(sh_file_append_line(path, "x"), SH_INVALID, "file: is not a file");
    alarm(0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(replaces_whole_files),
        WITH_FOLDER(gives_the_mode_that_the_umask_leaves),
        WITH_FOLDER(discard_keeps_the_old_file),
        WITH_FOLDER(refuses_places_that_hold_no_file),
        WITH_FOLDER(a_full_disk_keeps_the_old_file),
        WITH_FOLDER(says_where_permission_lacks),
        WITH_FOLDER(reads_small_files),
        WITH_FOLDER(appends_whole_lines),
        WITH_FOLDER(follows_no_link_of_others),
        WITH_FOLDER(waits_for_no_pipe),
        WITH_FOLDER(makes_folders),
        WITH_FOLDER(sweeps_temporaries_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
