/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of all sizes up to a few vectors, with and without gaps between rows, in every
 * variant. */
#include "backend/kernel/transpose.h"

#include "backend/kernel/kernels.h"
#include "base/test.h"

#define MOST 37 /* two vectors of 16, and a rest */
#define GAP 3

static void check(const sh_kernels *kernels, size_t rows, size_t columns, size_t gap)
{
    float from[MOST * (MOST + GAP)], to[MOST * (MOST + GAP)];
    const size_t from_row = columns + gap, to_row = rows + gap;
    for (size_t i = 0; i < rows * from_row; i++)
        from[i] = (float)i;
    for (size_t i = 0; i < columns * to_row; i++)
        to[i] = -1;
    kernels->transpose(rows, columns, from, from_row, to, to_row);
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < to_row; r++) {
            const float expected = r < rows ? from[r * from_row + c] : -1;
            if (to[c * to_row + r] != expected)
                fail_msg("%s: element %zu, %zu of a turned %zux%zu is %g, not %g", kernels->name, c,
                         r, rows, columns, (double)to[c * to_row + r], (double)expected);
        }
}

static void every_element_goes_across_the_diagonal(void **state)
{
    (void)state;
    for (const sh_kernels *const *all = sh_kernels_all(); *all != NULL; all++)
        for (size_t rows = 1; rows <= MOST && sh_variant_runs((*all)->variant); rows++)
            for (size_t columns = 1; columns <= MOST; columns++)
                check(*all, rows, columns, (rows + columns) % 2 * GAP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_goes_across_the_diagonal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
