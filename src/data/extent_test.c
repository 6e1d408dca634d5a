/* SPDX-License-Identifier: Apache-2.0 */
#include "data/extent.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/test.h"
#include "data/fixture.h"

enum { BYTES = 20000 }; /* two calls of touching */

static int file_new(fixture *s)
{
    static uint8_t bytes[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i % 251);
    fixture_new(s);
    fixture_write(s, "file", bytes, BYTES);
    const int fd = open(fixture_path(s, "file"), O_RDONLY);
    assert_true(fd >= 0);
    return fd;
}

static void reads_what_is_there(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        size_t count, got;
    } cases[] = {
        {0, 0, 0},     {0, 1, 1},          {0, BYTES, BYTES},
        {300, 7, 7},   {BYTES - 5, 5, 5},  {BYTES - 5, 100, 5},
        {BYTES, 1, 0}, {1ull << 40, 1, 0}, {0, BYTES + 1, BYTES},
    };
    static uint8_t bytes[BYTES + 1];
    fixture s;
    const int fd = file_new(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t got = 99;
        assert_ok(sh_extent_read(&got, fd, cases[i].offset, bytes, cases[i].count));
        assert_int_equal(got, cases[i].got);
        for (size_t k = 0; k < got; k++)
            assert_int_equal(bytes[k], (cases[i].offset + k) % 251);
    }
    close(fd);
    fixture_remove(&s);
}

static void touches_what_is_there(void **state)
{
    (void)state;
    fixture s;
    const int fd = file_new(&s);
    assert_true(sh_extent_touch(fd, 0, BYTES));
    assert_true(sh_extent_touch(fd, 17, 0));
    assert_true(sh_extent_touch(fd, BYTES - 1, 1));
    assert_false(sh_extent_touch(fd, BYTES - 1, 2));
    assert_false(sh_extent_touch(fd, 0, BYTES + 1));
    close(fd);
    assert_false(sh_extent_touch(fd, 0, 1));
    fixture_remove(&s);
}

static void failures_have_the_systems_reason(void **state)
{
    (void)state;
    size_t got = 99;
    uint8_t byte;
    assert_fails(sh_extent_read(&got, -1, 0, &byte, 1), SH_IO, "cannot read it: Bad file desc");
    assert_int_equal(got, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_there),
        cmocka_unit_test(touches_what_is_there),
        cmocka_unit_test(failures_have_the_systems_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
