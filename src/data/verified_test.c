/* SPDX-License-Identifier: Apache-2.0 */
#include "data/verified.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scratch.h"

#define LARGE (SH_VERIFIED_ALWAYS + 4096)

static void digest_of_zeros(char hex[SH_DIGEST_TEXT], uint64_t bytes)
{
    static const char zeros[1 << 20];
    sh_digest *digest;
    assert_ok(sh_digest_new(&digest));
    for (uint64_t left = bytes; left > 0;) {
        const size_t count = left < sizeof zeros ? (size_t)left : sizeof zeros;
        sh_digest_add(digest, zeros, count);
        left -= count;
    }
    assert_ok(sh_digest_finish(digest, hex));
}

static int make(uint64_t bytes)
{
    char path[SCRATCH_BYTES + 16];
    snprintf(path, sizeof path, "%s/file", scratch_folder);
    unlink(path);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    return fd;
}

static int set_up(void **state)
{
    scratch_set_up(state);
    return setenv("XDG_CACHE_HOME", scratch_folder, 1);
}

static void only_the_content_that_was_written_is_taken(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 70000, 600000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char hex[SH_DIGEST_TEXT];
        const int fd = make(sizes[i]);
        digest_of_zeros(hex, sizes[i]);
        const sh_verified file = {.fd = fd, .digest = hex};
        assert_ok(sh_verified_check(&file));
        if (sizes[i] > 0) {
            assert_int_equal(pwrite(fd, "x", 1, (off_t)sizes[i] - 1), 1);
            assert_fails(sh_verified_check(&file), SH_CORRUPT, "is damaged");
            assert_ok(sh_verified_check(&(sh_verified){
                .fd = fd, .digest = hex, .blank_at = sizes[i] - 1, .blank_bytes = 1}));
        }
        close(fd);
    }
}

static void what_others_may_write_is_refused(void **state)
{
    (void)state;
    char hex[SH_DIGEST_TEXT];
    const int fd = make(10);
    digest_of_zeros(hex, 10);
    static const mode_t modes[] = {0620, 0602, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(fchmod(fd, modes[i]), 0);
        assert_fails(sh_verified_check(&(sh_verified){.fd = fd, .digest = hex}), SH_REFUSED,
                     "another user owns it or can write it; remove it");
    }
    assert_int_equal(fchmod(fd, 0644), 0);
    assert_ok(sh_verified_check(&(sh_verified){.fd = fd, .digest = hex}));
    if (geteuid() == 0) {
        assert_int_equal(fchown(fd, 1, 1), 0);
        assert_fails(sh_verified_check(&(sh_verified){.fd = fd, .digest = hex}), SH_REFUSED,
                     "another user owns it");
    }
    close(fd);
}

static void a_large_file_is_read_again_after_a_change(void **state)
{
    (void)state;
    char hex[SH_DIGEST_TEXT];
    struct stat about;
    double took_s[3];
    const int fd = make(LARGE);
    digest_of_zeros(hex, LARGE);
    const sh_verified file = {.fd = fd, .digest = hex, .touch = true};
    for (int turn = 0; turn < 3; turn++) {
        const double before_s = sh_process_cpu_seconds();
        assert_ok(sh_verified_check(&file));
        took_s[turn] = sh_process_cpu_seconds() - before_s;
    }
    assert_true(took_s[1] < took_s[0] / 2 && took_s[2] < took_s[0] / 2);
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(pwrite(fd, "x", 1, 1234567), 1);
    const struct timespec times[2] = {about.st_atim, about.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    assert_fails(sh_verified_check(&file), SH_CORRUPT, "is damaged");
    assert_fails(sh_verified_check(&file), SH_CORRUPT, "is damaged");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_content_that_was_written_is_taken, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(what_others_may_write_is_refused, set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_large_file_is_read_again_after_a_change, set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
