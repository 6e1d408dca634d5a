/* SPDX-License-Identifier: Apache-2.0 */
#include "data/folder_walk.h"

#include "base/scratch.h"

static void make(const char *name)
{
    char path[SCRATCH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
    if (path[strlen(path) - 1] == '/')
        assert_int_equal(mkdir(path, 0777), 0);
    else
        scratch_write(path, "", 0);
}

static void expect(sh_folder_walk *walk, const char *name)
{
    const char *path;
    assert_ok(sh_folder_walk_next(walk, &path));
    if (name == NULL) {
        assert_null(path);
        return;
    }
    assert_non_null(path);
    assert_memory_equal(path, scratch_folder, strlen(scratch_folder));
    assert_string_equal(path + strlen(scratch_folder), name);
}

static void paths_come_in_the_order_of_their_bytes(void **state)
{
    (void)state;
    static const char *const made[] = {"b/",   "b/2",   "b/10",    "b.jpg",       "a",     "c/",
                                       "c/d/", "c/d/e", ".hidden", "b/Thumbs.db", "empty/"};
    char folder[SCRATCH_BYTES + 4];
    sh_folder_walk *walk;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        make(made[i]);
    snprintf(folder, sizeof folder, "%s//", scratch_folder);
    assert_ok(sh_folder_walk_open(&walk, folder));
    expect(walk, "/a");
    expect(walk, "/b.jpg");
    expect(walk, "/b/10");
    expect(walk, "/b/2");
    expect(walk, "/c/d/e");
    expect(walk, NULL);
    expect(walk, NULL);
    sh_folder_walk_close(walk);
}

static void what_is_no_file_is_left_out_and_a_loop_is_refused(void **state)
{
    (void)state;
    char path[SCRATCH_BYTES + 8], link[SCRATCH_BYTES + 16];
    const char *next;
    sh_folder_walk *walk;
    make("a/");
    make("z");
    snprintf(path, sizeof path, "%s/pipe", scratch_folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(link, sizeof link, "%s/a/up", scratch_folder);
    assert_int_equal(symlink(scratch_folder, link), 0);
    assert_ok(sh_folder_walk_open(&walk, scratch_folder));
    assert_fails(sh_folder_walk_next(walk, &next), SH_LIMIT, "is it a link that leads back?");
    for (int i = 0; i < SH_FOLDER_WALK_DEPTH_MOST / 2; i++) {
        assert_ok(sh_folder_walk_next(walk, &next));
        assert_non_null(next);
        assert_string_equal(next + strlen(next) - 2, "/z");
    }
    assert_ok(sh_folder_walk_next(walk, &next));
    assert_null(next);
    sh_folder_walk_close(walk);
}

static void other_things_than_folders_are_refused(void **state)
{
    (void)state;
    sh_folder_walk *walk;
    char path[SCRATCH_BYTES + 8];
    make("file");
    snprintf(path, sizeof path, "%s/file", scratch_folder);
    assert_fails(sh_folder_walk_open(&walk, path), SH_NOT_FOUND, "cannot list the folder");
    assert_fails(sh_folder_walk_open(&walk, ""), SH_LIMIT, "empty or too long");
    snprintf(path, sizeof path, "%s/none", scratch_folder);
    assert_fails(sh_folder_walk_open(&walk, path), SH_NOT_FOUND, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths_come_in_the_order_of_their_bytes, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_left_out_and_a_loop_is_refused,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(other_things_than_folders_are_refused, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
