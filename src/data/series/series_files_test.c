/* SPDX-License-Identifier: Apache-2.0 */
#include "data/series/series_files.h"

#include <sys/stat.h>

#include "base/scratch.h"

static void put(const char *below)
{
    char path[SCRATCH_BYTES + 256];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, below);
    for (char *at = path + strlen(scratch_folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    scratch_write(path, "1,2\n", 4);
}

static sh_status find(sh_series_files *files, const char *form)
{
    return sh_series_files_find(files, scratch_folder, form);
}

static void assert_file(const sh_series_file *file, const char *name, const char *label,
                        const char *group)
{
    assert_string_equal(file->name, name);
    assert_string_equal(file->group, group);
    if (label == NULL)
        assert_null(file->label);
    else
        assert_string_equal(file->label, label);
}

static void folders_are_labels(void **state)
{
    (void)state;
    sh_series_files files;
    put("wave/2.csv");
    put("wave/deep/1.csv.gz");
    put("idle/9.tsv");
    put("idle/notes.md");
    put(".hidden/1.csv");
    assert_ok(find(&files, ""));
    assert_int_equal(files.count, 3);
    assert_int_equal(files.others, 1);
    assert_true(files.labels && files.folder && !files.splits);
    assert_file(&files.items[0], "idle/9.tsv", "idle", "idle/9.tsv");
    assert_file(&files.items[1], "wave/2.csv", "wave", "wave/2.csv");
    assert_file(&files.items[2], "wave/deep/1.csv.gz", "wave", "wave/deep/1.csv.gz");
    sh_series_files_release(&files);
    put("3.txt");
    assert_ok(find(&files, NULL));
    assert_false(files.labels);
    assert_file(&files.items[0], "3.txt", NULL, "3.txt");
    sh_series_files_release(&files);
}

static void folders_are_splits(void **state)
{
    (void)state;
    sh_series_files files;
    put("train/wave/2.csv");
    put("train/idle/1.csv");
    assert_ok(find(&files, NULL));
    assert_true(files.labels && !files.splits); /* no validation files yet */
    assert_file(&files.items[0], "train/idle/1.csv", "idle", "train/idle/1.csv");
    sh_series_files_release(&files);
    put("test/wave/1.csv");
    assert_ok(find(&files, NULL));
    assert_true(files.labels && files.splits);
    assert_int_equal(files.items[0].split, SH_SPLIT_VALIDATION);
    assert_int_equal(files.items[2].split, SH_SPLIT_TRAIN);
    assert_file(&files.items[0], "test/wave/1.csv", "wave", "test/wave/1.csv");
    sh_series_files_release(&files);
}

static void names_are_labels_and_groups(void **state)
{
    (void)state;
    sh_series_files files;
    put("a/wave.anna.1.csv");
    put("a/idle.bob.1.csv");
    assert_ok(find(&files, "{label}.{group}.{}.csv"));
    assert_file(&files.items[0], "a/idle.bob.1.csv", "idle", "bob");
    assert_file(&files.items[1], "a/wave.anna.1.csv", "wave", "anna");
    sh_series_files_release(&files);
    put("a/odd.csv");
    assert_fails(find(&files, "{label}.{group}.{}.csv"), SH_INVALID, "odd.csv");
    assert_fails(find(&files, "{label}{group}"), SH_INVALID, "{label}");
}

static void odd_places_are_refused(void **state)
{
    (void)state;
    sh_series_files files;
    char path[SCRATCH_BYTES + 16];
    assert_fails(find(&files, NULL), SH_NOT_FOUND, "no .csv, .tsv or .txt file");
    assert_fails(sh_series_files_find(&files, "/nothing/here", NULL), SH_NOT_FOUND,
                 "/nothing/here");
    put("a/1.csv");
    snprintf(path, sizeof path, "%s/a/b", scratch_folder);
    assert_int_equal(symlink(scratch_folder, path), 0);
    assert_fails(find(&files, NULL), SH_LIMIT, "a link that leads back?");
    assert_int_equal(unlink(path), 0);
    put("a/two\nlines<script>.csv");
    assert_ok(find(&files, NULL));
    assert_string_equal(files.items[1].name, "a/two?lines<script>.csv");
    sh_series_files_release(&files);
}

static void changes_are_noticed(void **state)
{
    (void)state;
    sh_series_files files;
    char path[SCRATCH_BYTES + 16];
    put("a/1.csv");
    assert_ok(find(&files, NULL));
    assert_ok(sh_series_files_unchanged(&files));
    snprintf(path, sizeof path, "%s/a/1.csv", scratch_folder);
    scratch_write(path, "1,2,3\n", 6);
    assert_fails(sh_series_files_unchanged(&files), SH_CORRUPT, "a/1.csv: has changed");
    assert_int_equal(unlink(path), 0);
    assert_fails(sh_series_files_unchanged(&files), SH_CORRUPT, "a/1.csv: has changed");
    sh_series_files_release(&files);
}

#define WITH_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SCRATCH(folders_are_labels),          WITH_SCRATCH(folders_are_splits),
        WITH_SCRATCH(names_are_labels_and_groups), WITH_SCRATCH(odd_places_are_refused),
        WITH_SCRATCH(changes_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
