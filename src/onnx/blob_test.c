/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/blob.h"

#include <fcntl.h>

#include "base/scratch.h"

static void put(const char *folder, const char *name, const char *text)
{
    char path[SCRATCH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    scratch_write(path, text, strlen(text));
}

static void test_files_and_memory_are_read_alike(void **state)
{
    (void)state;
    char path[SCRATCH_BYTES + 64], bytes[4];
    snprintf(path, sizeof path, "%s/seven", scratch_folder);
    put(scratch_folder, "seven", "0123456");
    sh_blob blobs[2] = {sh_blob_of("0123456", 7)};
    assert_ok(sh_blob_open(&blobs[1], path, 7));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(blobs[i].count, 7);
        assert_ok(sh_blob_read(&blobs[i], bytes, 4, 3));
        assert_memory_equal(bytes, "3456", 4);
        assert_ok(sh_blob_read(&blobs[i], bytes, 0, 7));
        assert_fails(sh_blob_read(&blobs[i], bytes, 4, 4), SH_CORRUPT, "cut short");
        assert_fails(sh_blob_read(&blobs[i], bytes, 1, UINT64_MAX), SH_CORRUPT, "cut short");
        if (i == 1) {
            assert_int_equal(truncate(path, 5), 0);
            assert_fails(sh_blob_read(&blobs[i], bytes, 4, 3), SH_CORRUPT, "became shorter");
        }
        sh_blob_close(&blobs[i]);
    }
    sh_blob blob;
    assert_fails(sh_blob_open(&blob, path, 4), SH_LIMIT, "has 5 bytes");
    assert_fails(sh_blob_open(&blob, scratch_folder, 4), SH_INVALID, "is not a file");
}

static void test_nothing_outside_the_folder_is_opened(void **state)
{
    (void)state;
    const char *root = scratch_folder;
    char path[SCRATCH_BYTES + 64], other[SCRATCH_BYTES + 64];
    put(root, "secret", "secret");
    snprintf(path, sizeof path, "%s/model", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(other, sizeof other, "%s/model/deep", root);
    assert_int_equal(mkdir(other, 0700), 0);
    put(path, "data", "data");
    put(path, "deep/data", "deeper");
    snprintf(other, sizeof other, "%s/model/link", root);
    assert_int_equal(symlink("../secret", other), 0);
    snprintf(other, sizeof other, "%s/model/up", root);
    assert_int_equal(symlink("..", other), 0);
    snprintf(other, sizeof other, "%s/model/inside", root);
    assert_int_equal(symlink("data", other), 0);
    snprintf(other, sizeof other, "%s/model/pipe", root);
    assert_int_equal(mkfifo(other, 0600), 0);
    snprintf(other, sizeof other, "%s/secret", root);
    const int folder = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(folder >= 0);

    sh_blob blob;
    char bytes[4];
    assert_ok(sh_blob_open_within(&blob, folder, "deep/data", 100));
    assert_int_equal(blob.count, 6);
    assert_ok(sh_blob_read(&blob, bytes, 4, 2));
    assert_memory_equal(bytes, "eper", 4);
    sh_blob_close(&blob);

    const struct {
        const char *path;
        sh_status status;
        const char *text;
    } cases[] = {
        {"../secret", SH_INVALID, "not a plain path"},
        {"deep/../../secret", SH_INVALID, "not a plain path"},
        {"missing/../../secret", SH_INVALID, "not a plain path"},
        {"./data", SH_INVALID, "not a plain path"},
        {"deep//data", SH_INVALID, "not a plain path"},
        {other, SH_INVALID, "not a plain path"},
        {"", SH_INVALID, "not a plain path"},
        {"data/", SH_INVALID, "ends like a folder"},
        {"link", SH_INVALID, "symbolic link"},
        {"inside", SH_INVALID, "symbolic link"},
        {"up/secret", SH_INVALID, "symbolic link"},
        {"missing", SH_NOT_FOUND, "cannot be opened"},
        {"data/data", SH_NOT_FOUND, "cannot be opened"},
        {"deep", SH_INVALID, "is not a file"},
        {"pipe", SH_INVALID, "is not a file"},
        {"deep/data", SH_LIMIT, "has 6 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(sh_blob_open_within(&blob, folder, cases[i].path, 5), cases[i].status,
                     cases[i].text);
    char name[600];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_fails(sh_blob_open_within(&blob, folder, name, 5), SH_INVALID, "more than 255 bytes");
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_and_memory_are_read_alike, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_outside_the_folder_is_opened, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
