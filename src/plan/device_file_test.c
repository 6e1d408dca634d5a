/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/device_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/scratch.h"

#define RATES                                                                                      \
    "\"rates\":{\"matrix\":[1e9,2e9],\"convolution\":[3e9,4e9],\"copy\":[5e9,6e9],\"triad\":[7e9," \
    "8e9]}"
#define HEAD "{\"format\":\"shoal.device\",\"version\":2,\"variant\":\"avx2\",\"lanes\":4," RATES
#define GOOD HEAD ",\"operations\":[[\"conv2d\",\"00000000000000ff\",16,1e6,2e3,3e-4,2]]}"

static void a_good_file_is_read(void **state)
{
    (void)state;
    sh_measurements known;
    assert_ok(sh_device_file_parse(&known, GOOD, strlen(GOOD)));
    assert_int_equal(known.lanes, 4);
    assert_string_equal(known.variant, "avx2");
    assert_true(known.matrix.one == 1e9 && known.matrix.all == 2e9);
    assert_true(known.triad.one == 7e9 && known.triad.all == 8e9);
    assert_int_equal(known.count, 1);
    assert_string_equal(known.items[0].name, "conv2d");
    assert_int_equal(known.items[0].class, 255);
    assert_true(known.items[0].size == 16 && known.items[0].flops == 1e6);
    assert_true(known.items[0].bytes == 2e3 && known.items[0].seconds == 3e-4);
    assert_int_equal(known.items[0].count, 2);
    sh_measurements_release(&known);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 64];
    struct stat about;
    sh_measurements known = {.lanes = 3,
                             .variant = "plain",
                             .matrix = {1.5e9, 2.5e9},
                             .convolution = {1, 2},
                             .copy = {3e9, 4e9},
                             .triad = {5e9, 6e9}};
    for (int i = 0; i < 100; i++) {
        sh_measurement one = sh_measurement_named(i % 2 == 0 ? "conv2d" : "exact sum", i);
        one.class = (uint64_t)i << 58;
        one.seconds = 1e-6 * i;
        one.flops = 1e9 / 3 * i;
        assert_ok(sh_measurements_add(&known, &one));
    }
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/new/shoal/device.json", folder);
    assert_ok(sh_device_file_write(path, &known));
    assert_ok(sh_device_file_write(path, &known));
    sh_measurements again;
    assert_ok(sh_device_file_read(&again, path));
    assert_int_equal(again.count, known.count);
    assert_int_equal(again.lanes, 3);
    assert_string_equal(again.variant, "plain");
    for (size_t i = 0; i < known.count; i++) {
        assert_string_equal(again.items[i].name, known.items[i].name);
        assert_true(again.items[i].class == known.items[i].class);
        assert_true(again.items[i].size == known.items[i].size);
        assert_true(again.items[i].seconds >= known.items[i].seconds * (1 - 1e-8));
        assert_true(again.items[i].seconds <= known.items[i].seconds * (1 + 1e-8));
    }
    snprintf(path, sizeof path, "%s/new/shoal", folder);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(scratch_count(path), 1);
    sh_measurements_release(&known);
    sh_measurements_release(&again);
    scratch_remove(folder);
}

static void what_is_malformed_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_status status;
        const char *part;
    } cases[] = {
        {"", SH_CORRUPT, "is damaged at byte"},
        {"[]", SH_CORRUPT, "is not a file of a device's figures"},
        {"{\"format\":\"shoal\"}", SH_CORRUPT, "is not a file of a device's figures"},
        {"{\"format\":\"shoal.device\"}", SH_VERSION, "another version"},
        {"{\"format\":\"shoal.device\",\"version\":1}", SH_VERSION, "another version"},
        {"{\"format\":\"shoal.device\",\"version\":2.0}", SH_VERSION, "another version"},
        {"{\"format\":\"shoal.device\",\"version\":2}", SH_CORRUPT, "has unexpected parts"},
        {HEAD "}", SH_CORRUPT, "has unexpected parts"},
        {HEAD ",\"operations\":[],\"more\":1}", SH_CORRUPT, "has unexpected parts"},
        {HEAD ",\"operation\":[]}", SH_CORRUPT, "\"operations\" is not a list"},
        {HEAD ",\"operations\":{}}", SH_CORRUPT, "\"operations\" is not a list"},
        {HEAD ",\"operations\":[[]]}", SH_CORRUPT, "operation 0 is malformed"},
        {HEAD ",\"operations\":[[\"\",\"00000000000000ff\",1,1,1,1,1]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"A\",\"00000000000000ff\",1,1,1,1,1]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\\u0000\",\"00000000000000ff\",1,1,1,1,1]]}", SH_CORRUPT,
         "is damaged at byte"},
        {HEAD ",\"operations\":[[\"a\",\"0000000000000FFF\",1,1,1,1,1]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"ff\",1,1,1,1,1]]}", SH_CORRUPT, "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"00000000000000ff\",-1,1,1,1,1]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"00000000000000ff\",1,1e30,1,1,1]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"00000000000000ff\",1,1,1,\"1\",1]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"00000000000000ff\",1,1,1,1,0]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"00000000000000ff\",1,1,1,1,1.5]]}", SH_CORRUPT,
         "operation 0"},
        {HEAD ",\"operations\":[[\"a\",\"00000000000000ff\",1,1,1,1,1],"
              "[\"a\",\"00000000000000ff\",1,1,1,1,1]]}",
         SH_CORRUPT, "operation 1 is given twice"},
        {"{\"format\":\"shoal.device\",\"version\":2,\"variant\":\"avx2\",\"lanes\":0," RATES
         ",\"operations\":[]}",
         SH_CORRUPT, "\"lanes\""},
        {"{\"format\":\"shoal.device\",\"version\":2,\"variant\":7,\"lanes\":1," RATES
         ",\"operations\":[]}",
         SH_CORRUPT, "\"variant\""},
        {"{\"format\":\"shoal.device\",\"version\":2,\"variant\":\"x\",\"lanes\":1,\"rates\":{},"
         "\"operations\":[]}",
         SH_CORRUPT, "\"rates\" has no valid \"matrix\""},
        {HEAD ",\"lanes\":4,\"operations\":[]}", SH_CORRUPT, "is damaged at byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_measurements known = {.lanes = 77};
        assert_fails(sh_device_file_parse(&known, cases[i].text, strlen(cases[i].text)),
                     cases[i].status, cases[i].part);
        assert_int_equal(known.lanes, 77);
    }
    for (size_t cut = 0; cut < strlen(GOOD); cut++) {
        sh_measurements known;
        assert_fails(sh_device_file_parse(&known, GOOD, cut), SH_CORRUPT, "is damaged at byte");
    }
}

static void messages_say_what_to_do(void **state)
{
    (void)state;
    char folder[SCRATCH_BYTES], path[SCRATCH_BYTES + 64];
    sh_measurements known;
    scratch_make(folder);
    snprintf(path, sizeof path, "%s/device.json", folder);
    assert_fails(sh_device_file_read(&known, path), SH_NOT_FOUND, "run shoal bench");
    scratch_write(path, GOOD, strlen(GOOD) / 2);
    /* Byte 107, or 106 with Jansson 2.15. */
    assert_fails(sh_device_file_read(&known, path), SH_CORRUPT,
                 "device.json: is damaged at byte 10");
    assert_non_null(strstr(sh_message(), "; run shoal bench again"));
    scratch_remove(folder);
}

static void the_path_follows_the_environment(void **state)
{
    (void)state;
    char path[SH_PATH_BYTES];
    setenv("XDG_CACHE_HOME", "/somewhere", 1);
    assert_ok(sh_device_file_path(path));
    assert_string_equal(path, "/somewhere/shoal/device.json");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/me", 1);
    assert_ok(sh_device_file_path(path));
    assert_string_equal(path, "/home/me/.cache/shoal/device.json");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_fails(sh_device_file_path(path), SH_NOT_FOUND, "set XDG_CACHE_HOME or HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_read),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(messages_say_what_to_do),
        cmocka_unit_test(the_path_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
