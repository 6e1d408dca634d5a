/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/photo_files.h"

#include "data/photos/photo_fixture.h"

static void photos_are_found_below_a_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"b/2.png",  "b/c/1.JPG", "b/10.png", "a/1.webp",
                                        "b/.x.png", "b/notes",   "b/a.gif",  "b/.d/1.png"};
    static const char *const found[] = {"b/10.png", "b/2.png", "b/c/1.JPG"};
    fixture s;
    sh_photo_files files;
    char folder[SCRATCH_BYTES];
    fixture_new(&s);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        photo_text(&s, names[i], names[i]);
    assert_int_equal(mkfifo(photo_path(&s, "b/pipe.png"), 0600), 0);
    for (int slash = 0; slash < 2; slash++) {
        snprintf(folder, sizeof folder, "%.4000s/photos%s", s.folder, slash == 1 ? "/" : "");
        sh_photo_files_init(&files);
        assert_ok(sh_photo_files_add(&files, folder, "b"));
        sh_photo_files_sort(&files);
        assert_int_equal(files.count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_string_equal(files.items[i].name, found[i]);
            assert_int_equal(files.items[i].bytes, strlen(found[i]));
            assert_true(files.items[i].changed_ns > 0);
        }
        assert_int_equal(files.others, 3);
        assert_string_equal(files.other, "b/a.gif");
        assert_null(files.loop);
        assert_ok(sh_photo_files_add(&files, folder, ""));
        assert_int_equal(files.count, 3 + 4);
        sh_photo_files_release(&files);
    }
    fixture_remove(&s);
}

static void folders_are_listed(void **state)
{
    (void)state;
    fixture s;
    sh_photo_files files;
    sh_photo_folders folders;
    char folder[SCRATCH_BYTES];
    fixture_new(&s);
    photo_put(&s, "t/b/1.png", 1);
    photo_put(&s, "t/B/1.png", 1);
    photo_put(&s, "t/.c/1.png", 1);
    photo_put(&s, "t/2.png", 1);
    photo_put(&s, "t/1.png", 1);
    assert_int_equal(symlink("B", photo_path(&s, "t/a")), 0);
    snprintf(folder, sizeof folder, "%.4000s/photos", s.folder);
    sh_photo_files_init(&files);
    assert_ok(sh_photo_folders_list(&folders, &files, folder, "t"));
    assert_int_equal(folders.count, 3);
    assert_string_equal(folders.names[0], "B");
    assert_string_equal(folders.names[1], "a");
    assert_string_equal(folders.names[2], "b");
    assert_int_equal(folders.photos, 2);
    assert_string_equal(folders.photo, "1.png");
    free(folders.names);
    assert_fails(sh_photo_folders_list(&folders, &files, folder, "u"), SH_NOT_FOUND,
                 "/photos/u: cannot read the folder: No such file");
    assert_null(folders.names);
    sh_photo_files_release(&files);
    fixture_remove(&s);
}

static void folders_are_not_too_deep(void **state)
{
    (void)state;
    fixture s;
    sh_photo_files files;
    char name[128] = "", folder[SCRATCH_BYTES];
    fixture_new(&s);
    for (size_t i = 0; i < 33; i++)
        memcpy(name + 2 * i, "d/", 3);
    photo_put(&s, strcat(name, "1.png"), 1);
    snprintf(folder, sizeof folder, "%.4000s/photos", s.folder);
    sh_photo_files_init(&files);
    assert_fails(sh_photo_files_add(&files, folder, ""), SH_LIMIT,
                 "folders are nested more than 32 deep");
    sh_photo_files_release(&files);
    char below[SCRATCH_BYTES];
    memset(below, 'x', sizeof below - 1);
    below[sizeof below - 1] = '\0';
    sh_photo_files_init(&files);
    assert_fails(sh_photo_files_add(&files, folder, below), SH_LIMIT, "a path of more than 4095");
    sh_photo_files_release(&files);
    fixture_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(photos_are_found_below_a_folder),
        cmocka_unit_test(folders_are_listed),
        cmocka_unit_test(folders_are_not_too_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
