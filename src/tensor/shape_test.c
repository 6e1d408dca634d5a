/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "tensor/shape.h"

static void counts_and_prints(void **state)
{
    (void)state;
    char text[SH_SHAPE_TEXT];
    const sh_shape image = sh_shape_of(4, (size_t[]){8, 20, 24, 24});
    assert_int_equal(sh_shape_count(&image), 8 * 20 * 24 * 24);
    assert_string_equal(sh_shape_print(&image, text), "8x20x24x24");
    assert_int_equal(sh_type_bytes(&(sh_type){SH_F32, image}), 4 * 8 * 20 * 24 * 24);

    const sh_shape scalar = sh_shape_of(0, NULL);
    assert_int_equal(sh_shape_count(&scalar), 1);
    assert_string_equal(sh_shape_print(&scalar, text), "scalar");
    assert_false(sh_shape_equal(&scalar, &image));
}

static void refuses_what_cannot_be_held(void **state)
{
    (void)state;
    const sh_shape empty = sh_shape_of(2, (size_t[]){3, 0});
    assert_fails(sh_shape_check(&empty), SH_LIMIT, "3x0: dimension 1 is empty");
    const sh_shape vast = sh_shape_of(3, (size_t[]){SIZE_MAX / 8, 2, 2});
    assert_fails(sh_shape_check(&vast), SH_LIMIT, "larger than the address space");
    const sh_shape deep = {.rank = SH_MAX_RANK + 1};
    assert_fails(sh_shape_check(&deep), SH_LIMIT, "at most 8");
    const sh_shape fine = sh_shape_of(2, (size_t[]){3, 4});
    assert_ok(sh_shape_check(&fine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_prints),
        cmocka_unit_test(refuses_what_cannot_be_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
