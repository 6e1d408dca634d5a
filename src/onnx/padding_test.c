/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/padding.h"

#include "base/test.h"

#define NONE (-1)

/* Paddings of 3 elements. */
static const struct {
    sh_onnx_pad_mode mode;
    int64_t before, after;
    size_t size;
    int places[8];
} paddings[] = {
    {SH_ONNX_PAD_CONSTANT, 1, 2, 6, {NONE, 0, 1, 2, NONE, NONE}},
    {SH_ONNX_PAD_CONSTANT, -1, 1, 3, {1, 2, NONE}},
    {SH_ONNX_PAD_REFLECT, 2, 3, 8, {2, 1, 0, 1, 2, 1, 0, 1}},
    {SH_ONNX_PAD_REFLECT, -2, 2, 3, {2, 1, 0}},
    {SH_ONNX_PAD_EDGE, 1, 2, 6, {0, 0, 1, 2, 2, 2}},
    {SH_ONNX_PAD_WRAP, 4, 1, 8, {2, 0, 1, 2, 0, 1, 2, 0}},
};

static void places_follow_from_the_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        const sh_onnx_padding padding = {
            .mode = paddings[i].mode, .before = {paddings[i].before}, .after = {paddings[i].after}};
        size_t size, place = 0;
        assert_ok(sh_onnx_padding_size(&size, &padding, 0, 3));
        assert_int_equal(size, paddings[i].size);
        for (size_t j = 0; j < size; j++) {
            const bool found = sh_onnx_padding_place(&place, &padding, 0, j, 3);
            assert_int_equal(found ? (int)place : NONE, paddings[i].places[j]);
        }
    }
}

static void one_element_is_its_own_mirror(void **state)
{
    (void)state;
    const sh_onnx_padding padding = {.mode = SH_ONNX_PAD_REFLECT, .before = {2}};
    size_t place = 9;
    assert_true(sh_onnx_padding_place(&place, &padding, 0, 0, 1));
    assert_int_equal(place, 0);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const sh_onnx_padding less = {.before = {-2}, .after = {-2}};
    const sh_onnx_padding edge = {.mode = SH_ONNX_PAD_EDGE, .before = {1}};
    size_t size;
    assert_fails(sh_onnx_padding_size(&size, &less, 0, 3), SH_INVALID, "pads of -2 and -2");
    assert_fails(sh_onnx_padding_size(&size, &edge, 0, 0), SH_INVALID, "for a dimension of 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_follow_from_the_mode),
        cmocka_unit_test(one_element_is_its_own_mirror),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
