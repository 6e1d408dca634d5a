/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/sound_folder.h"

#include <fcntl.h>

#include "data/sound/sound_fixture.h"

static void touch(const char *name)
{
    scratch_write(sound_path(name), "x", 1);
}

static void recordings_are_listed_by_path(void **state)
{
    (void)state;
    static const char *const paths[] = {"a/1.wav", "a/10.WAV", "a/b/c.ogg", "a/x\n.wav", "z.flac"};
    sh_sound_folder folder;
    for (size_t i = sizeof paths / sizeof *paths; i-- > 0;)
        touch(paths[i]);
    touch("a/read.txt");
    touch("noise");
    touch(".hidden/1.wav");
    touch("a/.2.wav");
    assert_int_equal(mkfifo(sound_path("a/pipe.wav"), 0600), 0);
    assert_int_equal(mkdir(sound_path("a/d.wav"), 0700), 0);
    assert_int_equal(symlink("nowhere", sound_path("a/gone")), 0);
    assert_ok(sh_sound_folder_open(&folder, scratch_folder));
    assert_int_equal(folder.count, sizeof paths / sizeof *paths);
    for (size_t i = 0; i < folder.count; i++) {
        assert_string_equal(folder.files[i].path, paths[i]);
        assert_int_equal(folder.files[i].bytes, 1);
    }
    assert_int_equal(folder.others, 4);
    assert_string_equal(folder.empty, "a/d.wav");
    sh_sound_folder_close(&folder);
    sh_sound_folder_close(&folder);
}

static void links_are_followed_but_not_in_circles(void **state)
{
    (void)state;
    sh_sound_folder folder;
    touch("a/1.wav");
    assert_int_equal(symlink("a", sound_path("b")), 0);
    assert_int_equal(symlink("1.wav", sound_path("a/2.wav")), 0);
    assert_ok(sh_sound_folder_open(&folder, scratch_folder));
    assert_int_equal(folder.count, 4);
    assert_string_equal(folder.files[3].path, "b/2.wav");
    sh_sound_folder_close(&folder);
    assert_int_equal(symlink("..", sound_path("a/up")), 0);
    assert_fails(sh_sound_folder_open(&folder, scratch_folder), SH_INVALID,
                 "/up: is a link to a folder that contains it; remove it");
    assert_int_equal(unlink(sound_path("a/up")), 0);
    assert_int_equal(symlink("self.wav", sound_path("a/self.wav")), 0);
    assert_fails(sh_sound_folder_open(&folder, scratch_folder), SH_IO, "/self.wav: cannot examine");
}

static void folders_that_cannot_be_listed_are_refused(void **state)
{
    (void)state;
    sh_sound_folder folder = {.count = 77};
    touch("a/read.txt");
    assert_fails(sh_sound_folder_open(&folder, scratch_folder), SH_NOT_FOUND,
                 "has no recordings (looked for names that end in .wav");
    assert_fails(sh_sound_folder_open(&folder, sound_path("nowhere")), SH_NOT_FOUND,
                 "/nowhere: cannot open the data folder");
    assert_fails(sh_sound_folder_open(&folder, sound_path("a/read.txt")), SH_INVALID,
                 "/read.txt: is not a folder");
    touch("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16.wav");
    assert_ok(sh_sound_folder_open(&folder, scratch_folder));
    sh_sound_folder_close(&folder);
    touch("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17.wav");
    assert_fails(sh_sound_folder_open(&folder, scratch_folder), SH_LIMIT,
                 "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16: is more than 16 folders deep");
}

static void digest_of(char digest[SH_DIGEST_TEXT], const char *options)
{
    sh_sound_folder folder;
    assert_ok(sh_sound_folder_open(&folder, scratch_folder));
    assert_ok(sh_sound_folder_digest(digest, &folder, options));
    sh_sound_folder_close(&folder);
}

static void what_changes_is_seen(void **state)
{
    (void)state;
    static const char *const changes[] = {"new", "longer", "later", "gone", "renamed"};
    sh_sound_folder folder;
    touch("a/1.wav");
    touch("a/2.wav");
    touch("b/3.wav");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char before[SH_DIGEST_TEXT], again[SH_DIGEST_TEXT], after[SH_DIGEST_TEXT];
        digest_of(before, "x");
        digest_of(again, "x");
        digest_of(after, "y");
        assert_string_equal(before, again);
        assert_string_not_equal(before, after);
        assert_ok(sh_sound_folder_open(&folder, scratch_folder));
        assert_ok(sh_sound_folder_unchanged(&folder));
        const struct timespec later[2] = {{.tv_sec = 7}, {.tv_sec = 7}};
        switch (i) {
        case 0:
            touch("b/new.wav");
            break;
        case 1:
            scratch_write(sound_path("b/new.wav"), "longer", 6);
            break;
        case 2:
            assert_int_equal(utimensat(AT_FDCWD, sound_path("b/new.wav"), later, 0), 0);
            break;
        case 3:
            assert_int_equal(unlink(sound_path("b/new.wav")), 0);
            break;
        default: {
            char to[SCRATCH_BYTES + 512];
            snprintf(to, sizeof to, "%s", sound_path("b/4.wav"));
            assert_int_equal(rename(sound_path("b/3.wav"), to), 0);
        }
        }
        assert_fails(sh_sound_folder_unchanged(&folder), SH_CORRUPT,
                     i < 4 ? "changed while it was read: b/new.wav is new, gone or changed"
                           : "changed while it was read: b/3.wav is new, gone or changed");
        sh_sound_folder_close(&folder);
        digest_of(after, "x");
        assert_string_not_equal(before, after);
    }
}

#define in_a_folder(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_folder(recordings_are_listed_by_path),
        in_a_folder(links_are_followed_but_not_in_circles),
        in_a_folder(folders_that_cannot_be_listed_are_refused),
        in_a_folder(what_changes_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
