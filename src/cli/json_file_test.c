/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/json_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int enter_folder(void **state)
{
    static char folder[PATH_MAX];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/json-file-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(folder) == NULL || chdir(folder) != 0)
        return -1;
    *state = folder;
    return 0;
}

static int leave_folder(void **state)
{
    DIR *folder = opendir(".");
    if (folder == NULL)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (remove(entry->d_name) != 0)
            continue; /* "." and ".." */
    closedir(folder);
    return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;
}

static void expect_file_count(size_t expected)
{
    DIR *folder = opendir(".");
    size_t count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    assert_int_equal(count, expected + 2);
}

static void expect_file(const char *path, const char *expected)
{
    char text[256];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s is not there", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, expected);
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *folder = opendir(".");
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static void writes_and_replaces(void **state)
{
    (void)state;
    assert_ok(sh_json_file_check("a.json"));
    assert_ok(sh_json_file_write("a.json", json_pack("{s:i}", "x", 1)));
    expect_file("a.json", "{\n  \"x\": 1\n}\n");
    assert_ok(sh_json_file_check("a.json"));
    assert_ok(sh_json_file_write("a.json", json_pack("[f]", 0.1)));
    expect_file("a.json", "[\n  0.1\n]\n");
    assert_int_equal(count_files(), 1);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    assert_int_equal(symlink("target.json", "link.json"), 0);
    assert_ok(sh_json_file_write("target.json", json_array()));
    assert_ok(sh_json_file_write("link.json", json_object()));
    expect_file("target.json", "{}\n");
    struct stat about;
    assert_int_equal(lstat("link.json", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
}

static void what_is_no_file_is_not_replaced(void **state)
{
    (void)state;
    struct stat about;
    char text[8] = "";
    assert_int_equal(mkfifo("pipe", 0600), 0);
    const int reader = open("pipe", O_RDWR | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_ok(sh_json_file_check("pipe"));
    assert_ok(sh_json_file_write("pipe", json_object()));
    assert_int_equal(read(reader, text, sizeof text), 3);
    assert_string_equal(text, "{}\n");
    assert_int_equal(close(reader), 0);
    assert_int_equal(stat("pipe", &about), 0);
    assert_true(S_ISFIFO(about.st_mode));
}

static void a_failed_write_leaves_what_was_there(void **state)
{
    (void)state;
    assert_ok(sh_json_file_write("a.json", json_object()));
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 4, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const sh_status written = sh_json_file_write("a.json", json_pack("{s:i}", "x", 1));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_not_equal(written, SH_OK);
    assert_string_equal(sh_message(),
                        "--json a.json: File too large; choose another file for --json");
    expect_file("a.json", "{}\n");
    assert_int_equal(count_files(), 1);
}

static void says_why_not(void **state)
{
    (void)state;
    static const struct {
        const char *path, *message;
    } cases[] = {
        {".", "--json .: Is a directory; choose another file for --json"},
        {"nowhere/a.json", "--json nowhere/a.json: No such file or directory; choose another file"},
        {"full.json/a", "--json full.json/a: Not a directory; choose another file"},
    };
    assert_ok(sh_json_file_write("full.json", json_object()));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(sh_json_file_check(cases[i].path), SH_OK);
        assert_int_not_equal(sh_result_file_check("--json", cases[i].path), SH_OK);
        assert_non_null(strstr(sh_message(), cases[i].message));
        assert_int_not_equal(sh_json_file_write(cases[i].path, json_object()), SH_OK);
        assert_non_null(strstr(sh_message(), "; choose another file for --json"));
    }
    assert_int_not_equal(sh_json_file_write("none.json", NULL), SH_OK);
    assert_string_equal(sh_message(), "--json none.json: not enough memory");
    assert_int_equal(count_files(), 1);
}

static void holds_what_json_cannot(void **state)
{
    (void)state;
    json_t *root =
        json_pack("[o, o, o]", sh_json_number(NAN), sh_json_number(0.25), sh_json_text("a\xff\"b"));
    assert_ok(sh_json_file_write("odd.json", root));
    expect_file("odd.json", "[\n  null,\n  0.25,\n  \"a?\\\"b\"\n]\n");
}

static void knows_standard_output(void **state)
{
    (void)state;
    assert_true(sh_json_is_output("-"));
    assert_false(sh_json_is_output("./-"));
    assert_false(sh_json_is_output(NULL));
    assert_ok(sh_json_file_check("-"));
}

static void a_list_is_written_as_a_whole(void **state)
{
    (void)state;
    sh_json_list *list;
    assert_ok(sh_json_list_open(&list, "list.json"));
    sh_json_list_add(list, json_pack("{s:s}", "name", "a"));
    expect_file_count(1);
    assert_int_not_equal(access("list.json", F_OK), 0);
    sh_json_list_add(list, json_pack("{s:f}", "error", 0.5));
    assert_ok(sh_json_list_close(list));
    expect_file("list.json", "[\n{\"name\":\"a\"},\n{\"error\":0.5}\n]\n");
    assert_ok(sh_json_list_open(&list, "list.json"));
    assert_ok(sh_json_list_close(list));
    expect_file("list.json", "[]\n");
    assert_ok(sh_json_list_open(&list, "list.json")); /* a failure leaves the old file */
    sh_json_list_add(list, NULL);
    assert_fails(sh_json_list_close(list), SH_NO_MEMORY, "--json list.json: not enough memory");
    assert_ok(sh_json_list_open(&list, "list.json"));
    sh_json_list_add(list, json_pack("{s:f}", "error", 0.5));
    sh_json_list_discard(list);
    expect_file("list.json", "[]\n");
    expect_file_count(1);
    assert_fails(sh_json_list_open(&list, "no/where.json"), SH_IO,
                 "choose another file for --json");
    if (access("/dev/full", W_OK) == 0) {
        assert_ok(sh_json_list_open(&list, "/dev/full"));
        assert_fails(sh_json_list_close(list), SH_IO, "o space left");
    }
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(writes_and_replaces),
        in_folder(a_link_stays_a_link),
        in_folder(what_is_no_file_is_not_replaced),
        in_folder(a_failed_write_leaves_what_was_there),
        in_folder(says_why_not),
        in_folder(holds_what_json_cannot),
        in_folder(a_list_is_written_as_a_whole),
        in_folder(knows_standard_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
