/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/file_kind.h"

#include "base/test.h"

static void test_kinds_are_told_by_their_beginning(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        size_t count;
        const char *kind;
    } cases[] = {
        {"", 0, "an empty file"},
        {"PK\3\4....", 8, "torch.onnx.export()"},
        {"\0\0\0\0TFL3", 8, "TensorFlow Lite"},
        {"\x10\2\0\0\0\0\0\0{\"a\":1}", 15, "safetensors"},
        {"version https://git-lfs.github.com/spec/v1\n", 43, "git lfs pull"},
        {"\x89PNG\r\n", 6, "PNG"},
        {"hello, world\n", 13, "a text"},
        {"\x89P", 2, NULL},
        {"\x08\x08\x12\x07pytorch", 11, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kind = sh_file_kind((const uint8_t *)cases[i].bytes, cases[i].count);
        if (cases[i].kind == NULL)
            assert_null(kind);
        else if (kind == NULL || strstr(kind, cases[i].kind) == NULL)
            fail_msg("%zu: '%s' lacks '%s'", i, kind == NULL ? "" : kind, cases[i].kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_are_told_by_their_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
