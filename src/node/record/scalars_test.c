/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/scalars.h"

#include "base/scratch.h"
#include "store/file.h"

static float value_of(const char *file, size_t bytes, const char *tag, int number)
{
    float value;
    const size_t length = strlen(tag);
    for (size_t i = 0; i + length + 5 <= bytes; i++) {
        if (memcmp(file + i, tag, length) != 0 || number-- > 0)
            continue;
        assert_int_equal(file[i + length], 2 << 3 | 5);
        memcpy(&value, file + i + length + 1, sizeof value);
        return value;
    }
    fail_msg("%s is missing", tag);
    return 0;
}

static int count(const char *file, size_t bytes, const char *tag)
{
    int found = 0;
    for (size_t i = 0; i + strlen(tag) <= bytes; i++)
        found += memcmp(file + i, tag, strlen(tag)) == 0;
    return found;
}

static void add(sh_scalars *scalars, double at, uint64_t step, uint32_t epoch,
                sh_epoch_totals totals)
{
    const sh_progress_report report = {.batch = {.epoch = epoch}, .steps = step, .epoch = totals};
    assert_ok(sh_scalars_step(scalars, at, &report, 100 * (double)step));
}

/* The folder's only file; owned. */
static char *content(size_t *bytes, const char *folder)
{
    char path[SH_PATH_BYTES], *text = NULL;
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (const struct dirent *item; (item = readdir(list)) != NULL;) {
        if (item->d_name[0] == '.')
            continue;
        assert_null(text);
        assert_ok(sh_path_join(path, folder, item->d_name));
        assert_ok(sh_file_read(&text, bytes, path, 65536));
    }
    closedir(list);
    assert_non_null(text);
    return text;
}

static void tells_means_since_the_last_event(void **state)
{
    (void)state;
    char folder[SH_PATH_BYTES];
    size_t bytes;
    scratch_make(folder);
    sh_scalars scalars = {.epoch = 1, .seen = {100, 50, 20}};
    assert_ok(sh_tensorboard_open(&scalars.file, &(sh_tensorboard_options){folder, "a", 1000, 7}));
    add(&scalars, 1000.0, 8, 1, (sh_epoch_totals){120, 60, 25});
    add(&scalars, 1000.01, 9, 1, (sh_epoch_totals){130, 70, 35});
    add(&scalars, 1000.2, 10, 1, (sh_epoch_totals){135, 80, 45});
    add(&scalars, 1000.4, 10, 1, (sh_epoch_totals){135, 80, 45});
    add(&scalars, 1000.6, 11, 2, (sh_epoch_totals){40, 10, 1});
    assert_ok(sh_scalars_epoch(
        &scalars, 1001, &(sh_event){.total_step = 11, .val_loss = 0.25, .val_accuracy = 0.5}));
    char *file = content(&bytes, folder); /* also if the program is killed */
    static const float loss[] = {2, 0.75F, 4}, accuracy[] = {0.5F, 1, 0.1F};
    assert_int_equal(count(file, bytes, "train/loss"), 3);
    for (int i = 0; i < 3; i++) {
        assert_true(value_of(file, bytes, "train/loss", i) == loss[i]);
        assert_true(value_of(file, bytes, "train/accuracy", i) == accuracy[i]);
    }
    assert_true(value_of(file, bytes, "samples_per_second", 1) == 1000);
    assert_true(value_of(file, bytes, "val/loss", 0) == 0.25F);
    assert_true(value_of(file, bytes, "val/accuracy", 0) == 0.5F);
    free(file);
    sh_tensorboard_close(scalars.file);
    scratch_remove(folder);
}

static void without_a_file_nothing_is_done(void **state)
{
    (void)state;
    sh_scalars scalars = {0};
    add(&scalars, 1000, 1, 0, (sh_epoch_totals){20, 10, 5});
    assert_ok(sh_scalars_epoch(&scalars, 1001, &(sh_event){.val_loss = 0.25}));
    sh_tensorboard_close(scalars.file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_means_since_the_last_event),
        cmocka_unit_test(without_a_file_nothing_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
