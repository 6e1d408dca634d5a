/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/array_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "data/array/array_fixture.h"
#include "data/array/zip_fixture.h"

enum { COUNT = 5000 };

static zip_made archive;

static void write_all(char places[3][SCRATCH_BYTES + 16], float numbers[COUNT])
{
    static uint8_t file[ARRAY_HEAD_MOST + COUNT * sizeof(float)];
    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = (float)(i % 97) * 0.25f - 3;
    array_write(scratch_folder, "x", "<f4", "(1000, 5)", numbers, COUNT * sizeof *numbers);
    snprintf(places[0], sizeof *places, "%s", scratch_folder);
    const size_t head = array_head(file, "<f4", "(1000, 5)");
    memcpy(file + head, numbers, COUNT * sizeof *numbers);
    for (int i = 1; i < 3; i++) {
        snprintf(places[i], sizeof *places, "%s/%d.npz", scratch_folder, i);
        zip_begin(&archive);
        zip_add(&archive, "x.npy", file, head + COUNT * sizeof *numbers, i == 2);
        zip_end(&archive);
        scratch_write(places[i], archive.bytes, archive.count);
    }
}

static void digest_of(char hex[SH_DIGEST_TEXT], const sh_array *array)
{
    sh_digest *digest;
    assert_ok(sh_digest_new(&digest));
    assert_ok(sh_array_digest(array, digest));
    assert_ok(sh_digest_finish(digest, hex));
}

static void numbers_are_read_wherever_they_lie(void **state)
{
    (void)state;
    static char places[3][SCRATCH_BYTES + 16];
    static float numbers[COUNT];
    static double read[COUNT];
    char first[SH_DIGEST_TEXT], hex[SH_DIGEST_TEXT];
    write_all(places, numbers);
    for (int i = 0; i < 3; i++) {
        sh_array array;
        assert_ok(sh_array_open(&array, places[i], "x"));
        assert_string_equal(array.name, i == 0   ? "x.npy"
                                        : i == 1 ? "x.npy in 1.npz"
                                                 : "x.npy in 2.npz");
        assert_ok(sh_array_read(&array, 7, read, COUNT - 7));
        for (size_t k = 7; k < COUNT; k++)
            if (read[k - 7] != (double)numbers[k])
                fail_msg("number %zu is %g", k, read[k - 7]);
        assert_fails(sh_array_read(&array, COUNT - 1, read, 2000), SH_CORRUPT, "x.npy");
        digest_of(i == 0 ? first : hex, &array);
        if (i > 0)
            assert_string_equal(hex, first);
        sh_array_close(&array);
    }
    numbers[COUNT - 1] += 1;
    array_write(scratch_folder, "x", "<f4", "(1000, 5)", numbers, sizeof numbers);
    sh_array array;
    assert_ok(sh_array_open(&array, scratch_folder, "x"));
    digest_of(hex, &array);
    assert_string_not_equal(hex, first);
    sh_array_close(&array);
}

static void files_that_change_are_noticed(void **state)
{
    (void)state;
    static char places[3][SCRATCH_BYTES + 16];
    static float numbers[COUNT];
    write_all(places, numbers);
    for (int i = 0; i < 3; i++) {
        char path[sizeof places + 16];
        sh_array array;
        struct timespec times[2] = {{.tv_sec = 10}, {.tv_sec = 20}};
        snprintf(path, sizeof path, "%s%s", places[i], i == 0 ? "/x.npy" : "");
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_ok(sh_array_open(&array, places[i], "x"));
        assert_ok(sh_array_unchanged(&array));
        times[1].tv_nsec = 1000;
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_fails(sh_array_unchanged(&array), SH_CORRUPT, "has changed while it was packed");
        assert_int_equal(unlink(path), 0);
        assert_fails(sh_array_unchanged(&array), SH_NOT_FOUND, "cannot examine");
        sh_array_close(&array);
    }
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    static char places[3][SCRATCH_BYTES + 16];
    static float numbers[COUNT];
    char path[SCRATCH_BYTES + 32];
    sh_array array;
    write_all(places, numbers);
    assert_fails(sh_array_open(&array, scratch_folder, "y"), SH_NOT_FOUND, "y.npy: cannot open");
    assert_fails(sh_array_open(&array, places[1], "y"), SH_NOT_FOUND, "1.npz: has no member y.npy");
    snprintf(path, sizeof path, "%s/x.npy", scratch_folder);
    assert_fails(sh_array_open(&array, path, "x"), SH_FORMAT, "x.npy: is not an .npz archive");
    snprintf(path, sizeof path, "%s/y.npy", scratch_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_fails(sh_array_open(&array, scratch_folder, "y"), SH_FORMAT, "y.npy: is not a file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_are_read_wherever_they_lie, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(files_that_change_are_noticed, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_is_said, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
