/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/lower/walk.h"

#include "base/test.h"

#define SHAPE(...)                                                                                 \
    sh_shape_of(sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), (size_t[]){__VA_ARGS__})

/* The offset of element i in a value of shape `small`. */
static size_t place_of(size_t i, const sh_shape *shape, const sh_shape *small, bool channels_last)
{
    size_t index[SH_MAX_RANK], place = 0;
    const size_t missing = shape->rank - small->rank;
    for (size_t d = shape->rank; d-- > 0; i /= shape->dim[d])
        index[d] = i % shape->dim[d];
    for (size_t d = 0; d < small->rank; d++)
        index[d] = small->dim[d] == 1 ? 0 : index[d + missing];
    const bool last = channels_last && small->rank > 2;
    for (size_t d = 0; d < small->rank; d++)
        if (!last || d != 1)
            place = place * small->dim[d] + index[d];
    return last ? place * small->dim[1] + index[1] : place;
}

static void each_element_is_found(void **state)
{
    (void)state;
    const sh_shape cases[][3] = {
        {SHAPE(2, 3, 4, 5), SHAPE(3, 1, 1), SHAPE(2, 3, 4, 5)},
        {SHAPE(2, 3, 4, 5), SHAPE(1, 5), SHAPE(2, 1, 4, 1)},
        {SHAPE(2, 3, 4), SHAPE(3, 4), SHAPE(1, 1, 1)},
        {SHAPE(2, 1, 4, 3), SHAPE(2, 1, 1, 3), SHAPE(2, 1, 4, 3)},
        {SHAPE(1, 6, 1, 1), SHAPE(6, 1, 1), SHAPE(1)},
        {{0}, {0}, {0}},
    };
    for (size_t n = 0; n < 2 * sizeof cases / sizeof *cases; n++) {
        const sh_shape *whole = cases[n / 2], *a = whole + 1, *b = whole + 2;
        size_t strides[2][SH_MAX_RANK], place = 0;
        const bool last = n % 2 != 0;
        sh_strides_repeated(strides[0], a, last, whole);
        sh_strides_repeated(strides[1], b, last, whole);
        sh_walk w = sh_walk_over(whole, last, strides[0], strides[1]);
        do {
            for (size_t k = 0; k < w.length; k++, place++) {
                size_t i = 0;
                while (place_of(i, whole, whole, last) != place)
                    i++;
                assert_int_equal(w.offset[0] + k * w.step[0], place_of(i, whole, a, last));
                assert_int_equal(w.offset[1] + k * w.step[1], place_of(i, whole, b, last));
            }
        } while (sh_walk_next(&w));
        assert_int_equal(place, sh_shape_count(whole));
    }
}

static void rows_are_long(void **state)
{
    (void)state;
    const sh_shape whole = SHAPE(2, 3, 4, 5), channel = SHAPE(3, 1, 1);
    size_t a[SH_MAX_RANK], b[SH_MAX_RANK];
    sh_strides(a, &whole, false);
    sh_strides_repeated(b, &whole, false, &whole);
    assert_int_equal(sh_walk_over(&whole, false, a, b).length, 120);
    sh_strides_repeated(b, &channel, false, &whole);
    assert_int_equal(sh_walk_over(&whole, false, a, b).length, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_element_is_found),
        cmocka_unit_test(rows_are_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
