/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/fourier.h"

#include <math.h>

#include "base/test.h"

#define TURN 6.283185307179586

enum { MOST = 1024 };

static double draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)*state / 2147483648.0 - 1;
}

static void fill(double *real, double *imaginary, size_t points)
{
    uint32_t state = (uint32_t)points;
    for (size_t n = 0; n < points; n++) {
        real[n] = draw(&state);
        imaginary[n] = draw(&state);
    }
}

static void it_is_the_direct_sum(void **state)
{
    (void)state;
    for (size_t points = 2; points <= MOST; points *= 2) {
        static double real[MOST], imaginary[MOST], x[MOST], y[MOST];
        sh_fourier *fourier;
        fill(x, y, points);
        memcpy(real, x, sizeof x);
        memcpy(imaginary, y, sizeof y);
        assert_ok(sh_fourier_new(&fourier, points));
        sh_fourier_run(fourier, real, imaginary);
        for (size_t k = 0; k<points; k += points> 64 ? 37 : 1) {
            double a = 0, b = 0;
            for (size_t n = 0; n < points; n++) {
                const double angle = TURN * (double)(k * n % points) / (double)points;
                a += x[n] * cos(angle) + y[n] * sin(angle);
                b += y[n] * cos(angle) - x[n] * sin(angle);
            }
            assert_true(fabs(real[k] - a) < 1e-12 * (double)points);
            assert_true(fabs(imaginary[k] - b) < 1e-12 * (double)points);
        }
        sh_fourier_free(fourier);
    }
}

static void energy_stays_the_same(void **state)
{
    (void)state;
    static double real[SH_FOURIER_MOST], imaginary[SH_FOURIER_MOST];
    for (size_t points = 2; points <= SH_FOURIER_MOST; points *= 8) {
        sh_fourier *fourier;
        double before = 0, after = 0;
        fill(real, imaginary, points);
        for (size_t n = 0; n < points; n++)
            before += real[n] * real[n] + imaginary[n] * imaginary[n];
        assert_ok(sh_fourier_new(&fourier, points));
        sh_fourier_run(fourier, real, imaginary);
        for (size_t k = 0; k < points; k++)
            after += real[k] * real[k] + imaginary[k] * imaginary[k];
        assert_true(fabs(after / (double)points / before - 1) < 1e-12);
        sh_fourier_free(fourier);
    }
}

static void small_transforms_are_exact(void **state)
{
    (void)state;
    sh_fourier *fourier;
    double real[4] = {1, 2, 3, 4}, imaginary[4] = {0};
    const double a[4] = {10, -2, -2, -2}, b[4] = {0, 2, 0, -2};
    assert_ok(sh_fourier_new(&fourier, 4));
    sh_fourier_run(fourier, real, imaginary);
    assert_memory_equal(real, a, sizeof a);
    for (int k = 0; k < 4; k++)
        assert_true(imaginary[k] == b[k]);
    sh_fourier_free(fourier);
    sh_fourier_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_direct_sum),
        cmocka_unit_test(energy_stays_the_same),
        cmocka_unit_test(small_transforms_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
