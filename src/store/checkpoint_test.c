/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This program replaces rename, link, fsync and unlink of the C library. They end the process
 * before the call, or refuse it.
 */
#include "store/checkpoint.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/scratch.h"

static int calls_until_stop; /* 0: never */
static bool without_links;
static char calls[64];

static void note(char call)
{
    const size_t used = strlen(calls);
    if (used < sizeof calls - 1)
        calls[used] = call;
    if (calls_until_stop > 0 && --calls_until_stop == 0)
        _exit(42);
}

int rename(const char *from, const char *to)
{
    note('r');
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int link(const char *from, const char *to)
{
    note('l');
    if (without_links && access(from, F_OK) == 0) {
        errno = EPERM;
        return -1;
    }
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int fsync(int fd)
{
    note('s');
    return (int)syscall(SYS_fsync, fd);
}

int unlink(const char *path)
{
    note('u');
    return unlinkat(AT_FDCWD, path, 0);
}

static char folder[SH_PATH_BYTES];
static char last[SH_PATH_BYTES], previous[SH_PATH_BYTES];
static char logged[2048];

static void keep_line(void *context, sh_log_level level, const char *line)
{
    (void)context;
    (void)level;
    snprintf(logged, sizeof logged, "%s", line);
}

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    assert_ok(sh_path_join(last, folder, "last.safetensors"));
    assert_ok(sh_path_join(previous, folder, "previous.safetensors"));
    logged[0] = '\0';
    without_links = false;
    sh_log_to(SH_LOG_WARN, keep_line, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sh_log_to(SH_LOG_OFF, NULL, NULL);
    scratch_remove(folder);
    return 0;
}

static sh_status save(float number)
{
    const sh_stored_tensor tensor = {"n", {SH_F32, {1, {1}}}, &number};
    const sh_metadata pair = {"epoch", "3"};
    return sh_checkpoint_save(folder, &tensor, 1, &pair, 1);
}

static sh_status load(float *number, const char *from)
{
    sh_safetensors *file;
    char path[SH_PATH_BYTES] = "";
    SH_TRY(sh_checkpoint_open(&file, path, from));
    assert_string_equal(path, sh_safetensors_path(file));
    assert_string_equal(sh_safetensors_metadata(file, "epoch"), "3");
    const sh_status status = sh_safetensors_load(file, "n", &(sh_type){SH_F32, {1, {1}}}, number);
    sh_safetensors_close(file);
    return status;
}

#define assert_holds(from, expected)                                                               \
    do {                                                                                           \
        float number_ = -1;                                                                        \
        assert_ok(load(&number_, from));                                                           \
        if (number_ != (float)(expected))                                                          \
            fail_msg("%s holds %g, not %g", from, (double)number_, (double)(expected));            \
    } while (0)

static void keeps_the_last_two(void **state)
{
    (void)state;
    for (int links = 0; links < 2; links++) {
        without_links = links == 0;
        for (int i = 1; i <= 3; i++)
            assert_ok(save((float)i));
        assert_holds(folder, 3);
        assert_holds(last, 3);
        assert_holds(previous, 2);
        assert_int_equal(scratch_count(folder), 2);
        assert_string_equal(logged, "");
    }
}

static void accepts_a_run_a_folder_and_a_file(void **state)
{
    (void)state;
    char run[SH_PATH_BYTES];
    memcpy(run, folder, sizeof run);
    assert_ok(sh_path_join(folder, run, "checkpoints"));
    assert_ok(save(7));
    assert_holds(run, 7);
    assert_holds(folder, 7);
    assert_ok(sh_path_join(last, folder, "last.safetensors"));
    assert_holds(last, 7);
    memcpy(folder, run, sizeof run);
}

static void says_where_there_is_none(void **state)
{
    (void)state;
    float number;
    assert_fails(load(&number, folder), SH_NOT_FOUND,
                 ": holds no checkpoint (last.safetensors or previous.safetensors)");
    assert_non_null(strstr(sh_message(), folder));
    assert_fails(load(&number, last), SH_NOT_FOUND, "last.safetensors: cannot open: No such file");
}

static void put_byte(int fd, size_t offset, int byte)
{
    const char one = (char)byte;
    assert_int_equal(pwrite(fd, &one, 1, (off_t)offset), 1);
}

static void flipped_bits_fall_back(void **state)
{
    (void)state;
    char *bytes;
    size_t count;
    float number;
    assert_ok(save(1));
    assert_ok(save(2));
    assert_ok(sh_file_read(&bytes, &count, last, 4096));
    const int fd = open(last, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t bit = 0; bit < 8 * count; bit++) {
        put_byte(fd, bit / 8, bytes[bit / 8] ^ (1 << bit % 8));
        logged[0] = '\0';
        if (load(&number, last) == SH_OK)
            fail_msg("bit %zu flipped unnoticed", bit);
        assert_holds(folder, 1);
        assert_non_null(strstr(logged, "WARN checkpoint.damaged file=\""));
        assert_non_null(strstr(logged, "last.safetensors: "));
        put_byte(fd, bit / 8, bytes[bit / 8]);
    }
    assert_holds(folder, 2);
    close(fd);
    free(bytes);
}

static void cuts_fall_back(void **state)
{
    (void)state;
    uint64_t count;
    float number;
    assert_ok(save(1));
    assert_ok(save(2));
    assert_ok(sh_file_size(&count, last));
    while (count-- > 0) {
        assert_int_equal(truncate(last, (off_t)count), 0);
        if (load(&number, last) == SH_OK)
            fail_msg("cut at %u unnoticed", (unsigned)count);
        assert_holds(folder, 1);
    }
    assert_int_equal(unlink(last), 0);
    assert_holds(folder, 1);
    assert_non_null(strstr(logged, "No such file"));
    assert_non_null(strstr(logged, "used=\""));
}

static void names_both_where_none_is_whole(void **state)
{
    (void)state;
    sh_safetensors *const untouched = (sh_safetensors *)&folder;
    sh_safetensors *file = untouched;
    char path[SH_PATH_BYTES] = "as before";
    assert_ok(save(1));
    assert_ok(save(2));
    assert_int_equal(truncate(last, 100), 0);
    scratch_write(previous, "weights", 7);
    assert_fails(sh_checkpoint_open(&file, path, folder), SH_CORRUPT,
                 "no checkpoint can be used: ");
    assert_non_null(strstr(sh_message(), "/last.safetensors: is cut short"));
    assert_non_null(strstr(sh_message(), "/previous.safetensors: is not a safetensors file"));
    assert_ptr_equal(file, untouched);
    assert_string_equal(path, "as before");
    assert_int_equal(unlink(previous), 0);
    assert_fails(sh_checkpoint_open(&file, path, folder), SH_CORRUPT, "No such file");
    assert_string_equal(logged, "");
}

static void write_format(const char *path, const char *key, const char *format)
{
    const float number = 5;
    const sh_stored_tensor tensor = {"n", {SH_F32, {1, {1}}}, &number};
    const sh_metadata of[] = {{"epoch", "3"}, {key, format}};
    assert_ok(sh_safetensors_write(path, &tensor, 1, of, 2));
}

static void refuses_other_formats(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        sh_status code;
        const char *part;
    } cases[] = {
        {"2", SH_VERSION,
         "last.safetensors: written by a newer shoal (format 2, this one reads 1): update shoal"},
        {"99999999999999999999", SH_VERSION, "written by a newer shoal"},
        {"0", SH_FORMAT, "its format \"0\" is not a number"},
        {"-1", SH_FORMAT, "its format \"-1\""},
        {"+1", SH_FORMAT, "its format \"+1\""},
        {" 1", SH_FORMAT, "its format \" 1\""},
        {"1.5", SH_FORMAT, "its format \"1.5\""},
        {"", SH_FORMAT, "its format \"\""},
    };
    float number;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_format(last, "shoal.format", cases[i].format);
        assert_fails(load(&number, last), cases[i].code, cases[i].part);
    }
    write_format(last, "shoal.format", "1");
    assert_holds(last, 5);
    write_format(last, "format", "1");
    assert_fails(load(&number, last), SH_FORMAT, "holds weights, but is not a checkpoint of shoal");
    scratch_write(last, "\2\0\0\0\0\0\0\0{}", 10);
    assert_fails(load(&number, last), SH_FORMAT, "has no checksum, so it is not a checkpoint");

    /* An older checkpoint is never used instead. */
    assert_ok(save(1));
    assert_ok(save(2));
    write_format(last, "shoal.format", "2");
    assert_fails(load(&number, folder), SH_VERSION, "update shoal");
    assert_string_equal(logged, "");
    assert_ok(save(3));
}

static void syncs_before_each_rename(void **state)
{
    (void)state;
    for (int links = 0; links < 2; links++) {
        assert_ok(save(1));
        without_links = links == 0;
        memset(calls, 0, sizeof calls);
        assert_ok(save(2));
        assert_string_equal(calls, links == 0 ? "sulrrs" : "sulrsrs");
    }
}

/* Saves in a child process that stops at its `stop_at`-th call, or after `limit` bytes. Returns
 * true if it was stopped. */
static bool save_and_stop(float number, int stop_at, rlim_t limit)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit file_bytes = {limit, limit}, no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGXFSZ, SIG_DFL);
        if (limit != RLIM_INFINITY)
            setrlimit(RLIMIT_FSIZE, &file_bytes);
        calls_until_stop = stop_at;
        _exit(save(number) == SH_OK ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    if (WIFSIGNALED(result)) {
        assert_int_equal(WTERMSIG(result), SIGXFSZ);
        return true;
    }
    assert_true(WEXITSTATUS(result) == 42 || WEXITSTATUS(result) == 0);
    return WEXITSTATUS(result) == 42;
}

static bool is_whole(const char *path)
{
    float number;
    return load(&number, path) == SH_OK;
}

static void survives_a_stop_at_every_stage(void **state)
{
    (void)state;
    for (int links = 0; links < 2; links++) {
        without_links = links == 0;
        int stop_at = 1;
        bool stopped = true;
        for (float number = 10; stopped; number += 10, stop_at++) {
            float found = 0;
            assert_ok(save(number));
            assert_ok(save(number + 1));
            stopped = save_and_stop(number + 2, stop_at, RLIM_INFINITY);
            assert_ok(load(&found, folder));
            assert_true(found == number + 1 || found == number + 2);
            assert_true(is_whole(last) || is_whole(previous));
            assert_true(is_whole(last) || without_links);
        }
        assert_in_range(stop_at, 6, 12);
        assert_ok(sh_folder_sweep(folder));
        assert_int_equal(scratch_count(folder), 2);
    }
}

static void survives_a_stop_at_every_byte(void **state)
{
    (void)state;
    bool stopped = true;
    assert_ok(save(1));
    assert_ok(save(2));
    for (rlim_t limit = 0; stopped; limit += 8) {
        stopped = save_and_stop(3, 0, limit);
        assert_holds(last, stopped ? 2 : 3);
        assert_holds(previous, stopped ? 1 : 2);
    }
    assert_ok(sh_folder_sweep(folder));
    assert_int_equal(scratch_count(folder), 2);
}

static void a_damaged_last_never_displaces_a_whole_previous(void **state)
{
    (void)state;
    bool stopped = true;
    for (int stop_at = 1; stopped; stop_at++) {
        float found = 0;
        assert_ok(save(1));
        assert_ok(save(2));
        assert_int_equal(truncate(last, 50), 0);
        stopped = save_and_stop(3, stop_at, RLIM_INFINITY);
        assert_ok(load(&found, folder));
        assert_true(found == 1 || found == 3);
    }
}

static void finds_the_previous_between_the_renames(void **state)
{
    (void)state;
    char left[SH_PATH_BYTES];
    assert_ok(save(1));
    assert_int_equal(rename(last, previous), 0);
    assert_ok(sh_path_join(left, folder, "last.safetensors.tmp-1-0"));
    scratch_write(left, "half", 4);
    assert_holds(folder, 1);
    assert_ok(save(2));
    assert_holds(folder, 2);
    assert_holds(previous, 1);
}

static void a_full_disk_keeps_both(void **state)
{
    (void)state;
    scratch_mount(folder, 65536);
    float *large = calloc(20000, sizeof *large);
    assert_non_null(large);
    assert_ok(save(1));
    assert_ok(save(2));
    const sh_stored_tensor tensor = {"n", {SH_F32, {1, {20000}}}, large};
    assert_fails(sh_checkpoint_save(folder, &tensor, 1, NULL, 0), SH_NO_SPACE,
                 "last.safetensors: cannot write: No space left on device; free some space");
    assert_holds(last, 2);
    assert_holds(previous, 1);
    assert_int_equal(scratch_count(folder), 2);
    free(large);
    scratch_unmount(folder);
}

static void keeps_one_by_another_name(void **state)
{
    (void)state;
    char best[SH_PATH_BYTES];
    assert_ok(sh_path_join(best, folder, SH_CHECKPOINT_BEST));
    assert_fails(sh_checkpoint_keep(folder, SH_CHECKPOINT_BEST), SH_NOT_FOUND,
                 "last.safetensors: there is no checkpoint to keep");
    for (int links = 1; links >= 0; links--) {
        without_links = links == 0;
        assert_ok(save(1));
        for (int i = 0; i < 2; i++)
            assert_ok(sh_checkpoint_keep(folder, SH_CHECKPOINT_BEST));
        assert_holds(best, 1);
        assert_ok(save(2));
        assert_ok(save(3));
        assert_holds(best, 1);
        assert_holds(last, 3);
        assert_ok(sh_checkpoint_keep(folder, SH_CHECKPOINT_BEST));
        assert_holds(best, 3);
        assert_int_equal(scratch_count(folder), 3);
    }
    without_links = false;
}

static void keeps_the_newest_epochs(void **state)
{
    (void)state;
    static const char *const others[] = {"epoch-0.safetensors",           "epoch-01.safetensors",
                                         "epoch-1.safetensorsx",          "epoch-.safetensors",
                                         "epoch-99999999999.safetensors", "xepoch-1.safetensors"};
    char path[SH_PATH_BYTES];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_ok(sh_path_join(path, folder, others[i]));
        scratch_write(path, "x", 1);
    }
    for (uint32_t epoch = 8; epoch <= 12; epoch++) {
        assert_ok(save((float)epoch));
        assert_ok(sh_checkpoint_keep_epoch(folder, epoch, 3));
    }
    assert_ok(sh_path_join(path, folder, "epoch-10.safetensors"));
    assert_holds(path, 10);
    assert_ok(sh_path_join(path, folder, "epoch-12.safetensors"));
    assert_holds(path, 12);
    assert_int_equal(scratch_count(folder), 6 + 3 + 2);
    assert_ok(sh_checkpoint_keep_epoch(folder, 12, 1));
    assert_int_equal(scratch_count(folder), 6 + 1 + 2);
    assert_holds(path, 12);
    assert_fails(sh_checkpoint_keep_epoch(path, 12, 1), SH_NOT_FOUND, "last.safetensors");
}

static void keeping_survives_a_stop_at_every_stage(void **state)
{
    (void)state;
    char best[SH_PATH_BYTES];
    int stop = 1, ended = 0, found[3] = {0};
    assert_ok(sh_path_join(best, folder, SH_CHECKPOINT_BEST));
    for (; !ended; stop++) {
        int result = -1;
        assert_true(stop < 20);
        assert_ok(save(1));
        assert_ok(sh_checkpoint_keep(folder, SH_CHECKPOINT_BEST));
        assert_ok(save(2));
        const pid_t child = fork();
        if (child == 0) {
            calls_until_stop = stop;
            _exit(sh_checkpoint_keep(folder, SH_CHECKPOINT_BEST) == SH_OK ? 0 : 1);
        }
        assert_true(waitpid(child, &result, 0) == child && WIFEXITED(result));
        assert_true(WEXITSTATUS(result) == 42 || WEXITSTATUS(result) == 0);
        ended = WEXITSTATUS(result) == 0;
        float now = -1;
        assert_ok(load(&now, best));
        assert_true(now == 1 || now == 2);
        assert_true(!ended || now == 2);
        found[(int)now]++;
        assert_holds(folder, 2);
    }
    assert_true(found[1] > 0 && found[2] > 1);
}

static void refuses_bad_places_and_pairs(void **state)
{
    (void)state;
    const sh_metadata pair = {"shoal.format", "9"};
    assert_ok(save(1));
    assert_fails(sh_checkpoint_save(last, NULL, 0, NULL, 0), SH_INVALID, "is a file, not a folder");
    assert_fails(sh_checkpoint_save(folder, NULL, 0, &pair, 1), SH_INVALID,
                 "metadata key \"shoal.format\" is given twice or reserved");
    assert_holds(folder, 1);
    assert_int_equal(scratch_count(folder), 1);
}

/* A path from the user may be a link. */
static void follows_no_link(void **state)
{
    (void)state;
    char used[SH_PATH_BYTES], aside[SH_PATH_BYTES], checkpoints[SH_PATH_BYTES];
    sh_safetensors *file;
    assert_ok(save(1));
    assert_ok(save(2));
    assert_ok(sh_path_join(aside, folder, "aside"));
    assert_int_equal(renameat(AT_FDCWD, last, AT_FDCWD, aside), 0);
    assert_int_equal(symlink("aside", last), 0);
    assert_fails(sh_checkpoint_open(&file, used, folder), SH_REFUSED,
                 "last.safetensors: is a symbolic link");
    without_links = true;
    assert_fails(sh_checkpoint_keep(folder, "best.safetensors"), SH_REFUSED,
                 "last.safetensors: is a symbolic link");
    without_links = false;
    assert_ok(sh_checkpoint_open(&file, used, last));
    assert_string_equal(used, last);
    sh_safetensors_close(file);

    assert_ok(sh_path_join(checkpoints, folder, "checkpoints"));
    assert_int_equal(symlink(".", checkpoints), 0);
    assert_fails(sh_checkpoint_open(&file, used, folder), SH_REFUSED,
                 "/checkpoints: is a symbolic link");
    assert_fails(sh_checkpoint_save(checkpoints, NULL, 0, NULL, 0), SH_REFUSED,
                 "/checkpoints: is a symbolic link");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(keeps_the_last_two),
        WITH_FOLDER(accepts_a_run_a_folder_and_a_file),
        WITH_FOLDER(says_where_there_is_none),
        WITH_FOLDER(flipped_bits_fall_back),
        WITH_FOLDER(cuts_fall_back),
        WITH_FOLDER(names_both_where_none_is_whole),
        WITH_FOLDER(refuses_other_formats),
        WITH_FOLDER(syncs_before_each_rename),
        WITH_FOLDER(survives_a_stop_at_every_stage),
        WITH_FOLDER(survives_a_stop_at_every_byte),
        WITH_FOLDER(a_damaged_last_never_displaces_a_whole_previous),
        WITH_FOLDER(finds_the_previous_between_the_renames),
        WITH_FOLDER(a_full_disk_keeps_both),
        WITH_FOLDER(keeps_one_by_another_name),
        WITH_FOLDER(keeps_the_newest_epochs),
        WITH_FOLDER(keeping_survives_a_stop_at_every_stage),
        WITH_FOLDER(refuses_bad_places_and_pairs),
        WITH_FOLDER(follows_no_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
