/* SPDX-License-Identifier: Apache-2.0 */
#include "store/tensorboard.h"

#include <math.h>

#include "base/scratch.h"
#include "store/file.h"

static char folder[SH_PATH_BYTES], path[SH_PATH_BYTES];

#define BEGAN 1700000000.25

static int set_up(void **state)
{
    char name[128];
    (void)state;
    scratch_make(folder);
    snprintf(name, sizeof name, "events.out.tfevents.1700000000.a-b.%ld", (long)getpid());
    return sh_path_join(path, folder, name) == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_tensorboard *opened(uint64_t start_step)
{
    sh_tensorboard *board;
    assert_ok(
        sh_tensorboard_open(&board, &(sh_tensorboard_options){folder, "a/b", BEGAN, start_step}));
    return board;
}

static uint64_t size(void)
{
    uint64_t bytes;
    assert_ok(sh_file_size(&bytes, path));
    return bytes;
}

/* The expected bytes come from a separate encoder in Python. */
static void writes_events_as_others_do(void **state)
{
    (void)state;
    static const char expected[] =
        "1a00000000000000129bd82d0900001040fc54d94110001a0d627261696e2e4576656e743a3252ef"
        "9793100000000000000095fbfe180900001040fc54d94110ad023a020801cb79b93b360000000000"
        "00004f578cef0900006040fc54d94110ae022a280a110a0a747261696e2f6c6f7373150000003f0a"
        "130a0c76616c2f6163637572616379150000403f7767b587";
    sh_tensorboard *board = opened(300);
    assert_ok(sh_tensorboard_add(
        board, BEGAN + 1.25, 302,
        (sh_scalar[]){{"train/loss", 0.5}, {"left/out", NAN}, {"val/accuracy", 0.75}}, 3));
    assert_ok(sh_tensorboard_add(board, BEGAN + 2, 303, (sh_scalar[]){{"all", INFINITY}}, 1));
    sh_tensorboard_close(board);
    char *text, digits[3];
    size_t bytes;
    assert_ok(sh_file_read(&text, &bytes, path, 4096));
    assert_int_equal(bytes, sizeof expected / 2);
    for (size_t i = 0; i < bytes; i++) {
        snprintf(digits, sizeof digits, "%02x", (unsigned char)text[i]);
        assert_memory_equal(digits, expected + 2 * i, 2);
    }
    free(text);
}

static void comes_to_the_file_soon(void **state)
{
    (void)state;
    const sh_scalar scalar = {"a", 1};
    sh_tensorboard *board = opened(0);
    const uint64_t head = size();
    assert_int_equal(scratch_count(folder), 1);
    assert_true(head > 0);
    assert_ok(sh_tensorboard_add(board, BEGAN + 1, 1, &scalar, 1));
    assert_ok(sh_tensorboard_add(board, BEGAN + 4.9, 2, &scalar, 1));
    assert_true(size() == head);
    assert_ok(sh_tensorboard_add(board, BEGAN + 5, 3, &scalar, 1));
    const uint64_t event = (size() - head) / 3;
    assert_true(size() == head + 3 * event);
    assert_ok(sh_tensorboard_add(board, BEGAN + 6, 4, &scalar, 1));
    assert_true(size() == head + 3 * event);
    assert_ok(sh_tensorboard_flush(board));
    assert_true(size() == head + 4 * event);
    for (uint64_t i = 0; i < 5000; i++)
        assert_ok(sh_tensorboard_add(board, BEGAN + 7, 5 + i, &scalar, 1));
    assert_true(size() > head + 4000 * event);
    sh_tensorboard_close(board);
    board = opened(0);
    assert_true(size() > 2 * head + 5000 * event);
    sh_tensorboard_close(board);
}

static void a_full_disk_is_borne_with_whole_records(void **state)
{
    (void)state;
    const sh_scalar scalar = {"a", 1};
    scratch_mount(folder, 16384);
    sh_tensorboard *board = opened(0);
    const uint64_t head = size();
    assert_ok(sh_tensorboard_add(board, BEGAN, 1, &scalar, 1));
    assert_ok(sh_tensorboard_flush(board));
    const uint64_t event = size() - head;
    sh_status status = SH_OK;
    for (uint64_t i = 0; i < 1000 && status == SH_OK; i++)
        status = sh_tensorboard_add(board, BEGAN, 1, &scalar, 1);
    assert_fails(status, SH_NO_SPACE, "cannot write");
    assert_non_null(strstr(sh_message(), path));
    assert_int_equal((size() - head) % event, 0);
    assert_true(sh_tensorboard_is_failing(board));
    const uint64_t kept = size();
    for (int i = 0; i < 100; i++)
        assert_ok(sh_tensorboard_add(board, BEGAN + 1, 1, &scalar, 1)); /* waits, or is dropped */
    assert_true(size() == kept);
    assert_fails(sh_tensorboard_add(board, BEGAN + 6, 1, &scalar, 1), SH_NO_SPACE, "cannot write");
    assert_int_equal(truncate(path, (off_t)head), 0);
    sh_tensorboard_close(board);
    scratch_unmount(folder);
}

static void says_where_it_cannot_be(void **state)
{
    (void)state;
    sh_tensorboard *board;
    assert_fails(sh_tensorboard_open(&board, &(sh_tensorboard_options){path, "a", BEGAN, 0}),
                 SH_NOT_FOUND, "/events.out.tfevents.1700000000.a.");
}

static void follows_no_link(void **state)
{
    (void)state;
    sh_tensorboard *board;
    char victim[SH_PATH_BYTES], name[SH_PATH_BYTES + 64];
    assert_ok(sh_path_join(victim, folder, "victim"));
    scratch_write(victim, "keep", 4);
    snprintf(name, sizeof name, "%s/events.out.tfevents.1700000000.a.%ld", folder, (long)getpid());
    assert_int_equal(symlink("victim", name), 0);
    assert_fails(sh_tensorboard_open(&board, &(sh_tensorboard_options){folder, "a", BEGAN, 0}),
                 SH_REFUSED, "is a symbolic link");
    scratch_expect(victim, "keep");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(writes_events_as_others_do),
        WITH_FOLDER(comes_to_the_file_soon),
        WITH_FOLDER(a_full_disk_is_borne_with_whole_records),
        WITH_FOLDER(says_where_it_cannot_be),
        WITH_FOLDER(follows_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
