/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/zip.h"

#include <fcntl.h>
#include <zlib.h>

#include "base/scratch.h"
#include "data/array/zip_fixture.h"
#include "data/extent.h"

static zip_made archive;

static void make(void)
{
    static uint8_t long_content[200000];
    for (size_t i = 0; i < sizeof long_content; i++)
        long_content[i] = (uint8_t)(i * i >> 7);
    zip_begin(&archive);
    zip_add(&archive, "x.npy", "hello, array", 12, false);
    zip_add(&archive, "y.npy", long_content, sizeof long_content, true);
    zip_end(&archive);
}

static int open_archive(size_t bytes)
{
    char path[SCRATCH_BYTES + 16];
    snprintf(path, sizeof path, "%s/a.npz", scratch_folder);
    scratch_write(path, archive.bytes, bytes);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_in_range(fd, 0, 1 << 20);
    return fd;
}

static sh_status try_member(const char *name, size_t bytes)
{
    sh_zip_member member;
    uint64_t at;
    int inner;
    const int fd = open_archive(bytes);
    sh_status status = sh_zip_find(&member, fd, bytes, name);
    if (status == SH_OK)
        status = sh_zip_open(&inner, &at, fd, bytes, &member);
    if (status == SH_OK)
        close(inner);
    close(fd);
    return status;
}

static void members_are_read(void **state)
{
    (void)state;
    make();
    const int fd = open_archive(archive.count);
    for (int i = 0; i < 2; i++) {
        sh_zip_member member;
        uint64_t at;
        int inner;
        uint8_t bytes[12];
        assert_ok(sh_zip_find(&member, fd, archive.count, i == 0 ? "x.npy" : "y.npy"));
        assert_int_equal(member.deflated, i);
        assert_int_equal(member.bytes, i == 0 ? 12 : 200000);
        assert_ok(sh_zip_open(&inner, &at, fd, archive.count, &member));
        assert_ok(sh_extent_read_all(inner, at + (i == 0 ? 0 : 199988), bytes, sizeof bytes));
        for (size_t k = 0; k < sizeof bytes; k++)
            assert_int_equal(bytes[k], i == 0 ? (uint8_t) "hello, array"[k]
                                              : (uint8_t)((199988 + k) * (199988 + k) >> 7));
        close(inner);
    }
    close(fd);
    assert_fails(try_member("z.npy", archive.count), SH_NOT_FOUND, "no member z.npy");
    assert_fails(try_member("x.np", archive.count), SH_NOT_FOUND, "no member x.np");
}

static void damaged_archives_are_refused(void **state)
{
    (void)state;
    make();
    const size_t end = archive.count - 22, entry = archive.directory_at;
    const struct {
        const char *name;
        size_t at;
        uint8_t value;
        sh_status code;
        const char *message;
    } cases[] = {
        {"x.npy", 0, 'X', SH_FORMAT, "does not begin with PK"},
        {"x.npy", end, 'X', SH_CORRUPT, "cut off before its directory"},
        {"x.npy", end + 4, 1, SH_UNSUPPORTED, "divided archive"},
        {"x.npy", end + 10, 9, SH_UNSUPPORTED, "divided archive"},
        {"x.npy", end + 14, 1, SH_CORRUPT, "directory is outside"},
        {"z.npy", end + 12, 10, SH_CORRUPT, "directory ends early"},
        {"x.npy", entry, 'X', SH_CORRUPT, "directory ends early"},
        {"x.npy", entry + 29, 255, SH_CORRUPT, "directory ends early"},
        {"x.npy", entry + 8, 1, SH_UNSUPPORTED, "is encrypted"},
        {"x.npy", entry + 10, 12, SH_UNSUPPORTED, "packed by method 12"},
        {"x.npy", entry + 24, 99, SH_CORRUPT, "size of a member cannot be"},
        {"x.npy", entry + 23, 1, SH_CORRUPT, "a member is outside"},
        {"x.npy", entry + 42, 1, SH_CORRUPT, "not where its directory says"},
        {"y.npy", entry + 51 + 16, 0, SH_CORRUPT, "not what was packed"}, /* its CRC */
        {"y.npy", entry + 51 + 24, 1, SH_CORRUPT, "cannot be unpacked"},  /* its size */
        {"y.npy", entry + 51 + 27, 255, SH_CORRUPT, "size of a member cannot be"},
        {"y.npy", entry + 51 + 20, 0, SH_CORRUPT, "cannot be unpacked"}, /* its packed size */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t before = archive.bytes[cases[i].at];
        assert_int_not_equal(before, cases[i].value);
        archive.bytes[cases[i].at] = cases[i].value;
        assert_fails(try_member(cases[i].name, archive.count), cases[i].code, cases[i].message);
        archive.bytes[cases[i].at] = before;
    }
    memset(archive.bytes + end + 16, 255, 4);
    assert_fails(try_member("x.npy", archive.count), SH_UNSUPPORTED, "4 GB or more");
}

static void archives_that_are_cut_off_are_refused(void **state)
{
    (void)state;
    make();
    for (size_t count = 0; count < archive.count; count += count < 64 ? 1 : 977)
        assert_fails(try_member("x.npy", count), count < 4 ? SH_FORMAT : SH_CORRUPT,
                     count < 4 ? "does not begin with PK" : "cut off before its directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(members_are_read, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(damaged_archives_are_refused, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(archives_that_are_cut_off_are_refused, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
