/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>

#include "base/scratch.h"
#include "data/dataset.h"

enum { BYTES = 1000 };

static uint8_t content[BYTES];

static int set_up(void **state)
{
    scratch_set_up(state);
    for (size_t i = 0; i < BYTES; i++)
        content[i] = (uint8_t)(i * i / 3);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

static sh_status open_text(sh_dataset **data, size_t bytes, const sh_read_options *options)
{
    char path[SCRATCH_BYTES + 16], spec[SCRATCH_BYTES + 32];
    snprintf(path, sizeof path, "%s/a.txt", scratch_folder);
    snprintf(spec, sizeof spec, "text:%s", path);
    scratch_write(path, content, bytes);
    return sh_dataset_open(data, spec, options);
}

static void assert_sample(const sh_dataset *data, sh_split split, uint32_t index, size_t start)
{
    uint8_t sample[64];
    int32_t class = -1;
    const size_t window = sh_dataset_about(data)->width;
    assert_ok(sh_dataset_read(data, split, index, sample, &class));
    assert_memory_equal(sample, content + start, window);
    assert_int_equal(class, content[start + window]);
}

static void windows_predict_the_next_byte(void **state)
{
    (void)state;
    sh_dataset *data;
    assert_ok(open_text(&data, BYTES, NULL));
    const sh_dataset_info *info = sh_dataset_about(data);
    assert_true(info->element == SH_ELEMENT_BYTE && info->target == SH_TARGET_CLASS);
    assert_true(info->channels == 1 && info->height == 1 && info->width == 64);
    assert_int_equal(info->outputs, 256);
    assert_int_equal(info->count[SH_SPLIT_TRAIN], 23);     /* at 0, 32, ... 704: 704 + 64 < 800 */
    assert_int_equal(info->count[SH_SPLIT_VALIDATION], 5); /* at 800, ... 928: 928 + 64 < 1000 */
    for (uint32_t i = 0; i < 23; i++)
        assert_sample(data, SH_SPLIT_TRAIN, i, i * 32);
    for (uint32_t i = 0; i < 5; i++)
        assert_sample(data, SH_SPLIT_VALIDATION, i, 800 + i * 32);
    assert_non_null(strstr(sh_dataset_description(data), "\"A\",\"B\""));
    assert_non_null(strstr(sh_dataset_description(data), "\"0xff\"]"));
    sh_dataset_close(data);
}

/* No byte follows a window at the end of a split. */
static void the_last_byte_is_a_class(void **state)
{
    (void)state;
    sh_dataset *data;
    const sh_read_options options = {.window = 10, .stride = 1, .val_split = 0.5f};
    assert_ok(open_text(&data, 30, &options));
    assert_int_equal(sh_dataset_about(data)->count[0], 5);
    assert_int_equal(sh_dataset_about(data)->count[1], 5);
    assert_sample(data, SH_SPLIT_TRAIN, 4, 4);
    assert_sample(data, SH_SPLIT_VALIDATION, 4, 19);
    sh_dataset_close(data);
    assert_ok(open_text(&data, 22, &options));
    assert_int_equal(sh_dataset_about(data)->count[0], 1);
    sh_dataset_close(data);
    assert_fails(open_text(&data, 20, &options), SH_INVALID,
                 "10 bytes to train and 10 to validate with are too few for windows of 10");
}

static void bad_texts_are_refused(void **state)
{
    (void)state;
    sh_dataset *data;
    char spec[SCRATCH_BYTES + 16];
    assert_fails(open_text(&data, 0, NULL), SH_INVALID, "a.txt: 0 bytes to train");
    assert_fails(open_text(&data, BYTES, &(sh_read_options){.window = 65537}), SH_LIMIT,
                 "--window 65537: at most 65536");
    assert_fails(open_text(&data, BYTES, &(sh_read_options){.task = "regression"}), SH_UNSUPPORTED,
                 "classification or reconstruction");
    snprintf(spec, sizeof spec, "text:%s", scratch_folder);
    assert_fails(sh_dataset_open(&data, spec, NULL), SH_INVALID, "is not a file");
    assert_fails(sh_dataset_open(&data, "text:/nothing/here", NULL), SH_NOT_FOUND, "/nothing/here");
    assert_ok(open_text(&data, BYTES, &(sh_read_options){.task = "reconstruction"}));
    assert_int_equal(sh_dataset_about(data)->outputs, 64);
    sh_dataset_close(data);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(windows_predict_the_next_byte),
        WITH_FOLDER(the_last_byte_is_a_class),
        WITH_FOLDER(bad_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
