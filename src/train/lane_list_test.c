/* SPDX-License-Identifier: Apache-2.0 */
#include "train/lane_list.h"

#include "base/test.h"

static void lists_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        sh_lane_list list;
    } cases[] = {
        {NULL, {0}},
        {"1", {.cores = 1}},
        {"1024", {.cores = 1024}},
        {"cpu:3", {.cores = 3}},
        {"gpu:0", {.gpus = {0}, .gpu_count = 1}},
        {"gpu:2,cpu:4", {.cores = 4, .gpus = {2}, .gpu_count = 1}},
        {"cpu:4,gpu:15,gpu:0", {.cores = 4, .gpus = {15, 0}, .gpu_count = 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_lane_list got;
        memset(&got, 0xff, sizeof got);
        assert_ok(sh_lane_list_parse(&got, cases[i].text));
        assert_memory_equal(&got, &cases[i].list, sizeof got);
    }
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "--lanes : must be a number of cores, or GPUs and cores, such as gpu:0,cpu:4"},
        {"0", "--lanes 0: must be at least 1"},
        {"1025", "--lanes 1025: must be at most 1024"},
        {"99999999999999999999999", "must be at most 1024"},
        {"two", "--lanes two: must be a number of cores"},
        {"-1", "--lanes -1: must be a number of cores"},
        {"+1", "must be a number of cores"},
        {" 1", "must be a number of cores"},
        {"1,gpu:0", "must be a number of cores"},
        {"gpu", "must be a number of cores"},
        {"gpu:", "must be a number of cores"},
        {"gpu:0,", "must be a number of cores"},
        {"gpu:0;cpu:1", "must be a number of cores"},
        {"gpu:0,,cpu:1", "must be a number of cores"},
        {"GPU:0", "must be a number of cores"},
        {"gpu:16", "--lanes gpu:16: GPUs have numbers from 0 to 15"},
        {"gpu:1,gpu:0,gpu:1", "--lanes gpu:1,gpu:0,gpu:1: names GPU 1 twice"},
        {"cpu:1,cpu:1", "--lanes cpu:1,cpu:1: gives the number of cores twice"},
        {"gpu:0,cpu:0", "--lanes gpu:0,cpu:0: must be at least 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_lane_list got = {.cores = 7};
        assert_fails(sh_lane_list_parse(&got, cases[i].text), SH_INVALID, cases[i].part);
        assert_int_equal(got.cores, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
