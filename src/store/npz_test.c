/* SPDX-License-Identifier: Apache-2.0 */
#include "store/npz.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/scratch.h"
#include "data/array/npy.h"
#include "data/array/zip.h"

static char folder[SH_PATH_BYTES];
static char path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(path, folder, "w.npz") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static const float floats[6] = {1.5f, -2, 3, 4, 5, 6};
static const int32_t integer = -7;
static const uint8_t octets[3] = {1, 2, 255};
static const sh_stored_tensor tensors[] = {
    {"conv.weight", {SH_F32, {5, {1, 2, 1, 3, 1}}}, floats},
    {"\xC3\xA9", {SH_I32, {0, {0}}}, &integer},
    {"u", {SH_U8, {1, {3}}}, octets},
};

/* The polynomial of IEEE 802.3, bit by bit. */
static uint32_t crc_of(const uint8_t *bytes, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void arrays_are_read_again(void **state)
{
    (void)state;
    static const char *const names[] = {"conv.weight.npy", "\xC3\xA9.npy", "u.npy"};
    static const sh_npy_kind kinds[] = {SH_NPY_FLOAT, SH_NPY_SIGNED, SH_NPY_UNSIGNED};
    uint64_t bytes;
    assert_ok(sh_npz_write(path, tensors, 3));
    assert_ok(sh_file_size(&bytes, path));
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_in_range(fd, 0, 1000);
    for (size_t i = 0; i < 3; i++) {
        const sh_shape *shape = &tensors[i].type.shape;
        const size_t count = sh_type_bytes(&tensors[i].type);
        uint8_t found[512];
        sh_zip_member member;
        sh_npy_header header;
        assert_ok(sh_zip_find(&member, fd, bytes, names[i]));
        assert_false(member.deflated);
        assert_in_range(member.bytes, 1, sizeof found);
        const size_t size = (size_t)member.bytes;
        assert_int_equal(pread(fd, found, size, (off_t)(member.head_at + 30 + strlen(names[i]))),
                         size);
        assert_int_equal(crc_of(found, size), member.crc);
        assert_ok(sh_npy_parse(&header, found, size, size));
        assert_int_equal(header.kind, kinds[i]);
        assert_int_equal(header.data_at % 64, 0);
        assert_int_equal(header.rank, shape->rank);
        for (size_t d = 0; d < shape->rank; d++)
            assert_int_equal(header.shape[d], shape->dim[d]);
        assert_int_equal(member.bytes - header.data_at, count);
        assert_memory_equal(found + header.data_at, tensors[i].data, count);
    }
    close(fd);
}

static void bytes_are_known(void **state)
{
    (void)state;
    char *first, *second;
    size_t count, again;
    assert_ok(sh_npz_write(path, tensors, 3));
    assert_ok(sh_file_read(&first, &count, path, 4096));
    assert_ok(sh_npz_write(path, tensors, 3));
    assert_ok(sh_file_read(&second, &again, path, 4096));
    assert_int_equal(count, again);
    assert_memory_equal(first, second, count);
    assert_memory_equal(first, "PK\3\4\x14\0\0\x08\0\0\0\0\x21\0", 14);
    assert_memory_equal(first + count - 22, "PK\5\6\0\0\0\0\3\0\3\0", 12);
    free(first);
    free(second);
    assert_int_equal(scratch_count(folder), 1);
}

static void a_failure_leaves_the_old_file(void **state)
{
    (void)state;
    char *found;
    size_t count;
    static char long_name[UINT16_MAX + 1];
    memset(long_name, 'n', UINT16_MAX);
    const sh_stored_tensor bad = {long_name, tensors[0].type, floats};
    assert_ok(sh_file_replace(path, "old", 3));
    assert_fails(sh_npz_write(path, &bad, 1), SH_LIMIT, "names under");
    assert_ok(sh_file_read(&found, &count, path, 4096));
    assert_int_equal(count, 3);
    free(found);
    assert_fails(sh_npz_write(path, tensors, 65536), SH_LIMIT, "at most 65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arrays_are_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_leaves_the_old_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
