/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/prepared.h"

#include "base/test.h"

/* Equal letters give equal packings, of one matrix with 1 (a) or 2 (b) columns. */
static sh_layout letter(const char *which, size_t bytes)
{
    static sh_matrix matrices[2][1] = {{{.columns = 1}}, {{.columns = 2}}};
    static sh_packing packings[2] = {{.count = 1, .matrices = matrices[0]},
                                     {.count = 1, .matrices = matrices[1]}};
    return (sh_layout){.packing = &packings[which[0] - 'a'], .bytes = bytes};
}

static void a_parameter_has_one_place_for_each_layout(void **state)
{
    (void)state;
    static const struct {
        uint32_t parameter;
        const char *layout;
        size_t bytes, offset;
        uint32_t number;
    } asked[] = {
        {0, "a", 100, 0, 0},   {0, "b", 64, 128, 1}, {1, "a", 100, 192, 2}, {0, "a", 100, 0, 0},
        {1, "a", 100, 192, 2}, {0, "b", 64, 128, 1}, {1, "b", 1, 320, 3},   {7, "a", 0, 384, 4},
        {7, "a", 0, 384, 4},   {1, "b", 1, 320, 3},
    };
    sh_prepared *prepared;
    assert_ok(sh_prepared_new(&prepared, false));
    assert_int_equal(sh_prepared_bytes(prepared), 0);
    assert_false(sh_prepared_on_demand(prepared));
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        const sh_layout layout = letter(asked[i].layout, asked[i].bytes);
        size_t offset = 1;
        uint32_t number = 99;
        assert_ok(sh_prepared_place(prepared, &offset, &number, asked[i].parameter, &layout));
        assert_int_equal(offset, asked[i].offset);
        assert_int_equal(number, asked[i].number);
    }
    assert_int_equal(sh_prepared_append(prepared, 65), 384);
    assert_int_equal(sh_prepared_append(prepared, 1), 512);
    assert_int_equal(sh_prepared_bytes(prepared), 576);
    sh_prepared_free(prepared);
    sh_prepared_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_has_one_place_for_each_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
