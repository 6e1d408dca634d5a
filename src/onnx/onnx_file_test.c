/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/onnx_file.h"

#include "base/test.h"

static void test_a_file_that_is_not_onnx_is_refused(void **state)
{
    (void)state;
    sh_onnx *model;
    assert_fails(sh_onnx_open_bytes(&model, "photo.onnx", "\x89PNG", 4), SH_FORMAT, "photo.onnx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_is_not_onnx_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
