/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The radix-2 transform of Cooley and Tukey, decimation in time. The points are sorted by their
 * bit-reversed indices, then pairs of transforms of 1, 2, 4 ... points are combined.
 */
#include "data/sound/fourier.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/real.h"

struct sh_fourier {
    size_t points;
    uint32_t *reversed; /* bit-reversed indices; owned */
    double *cosine;     /* cos(2 pi k / points) for k < points / 2; owned */
    double *sine;
};

sh_status sh_fourier_new(sh_fourier **fourier, size_t points)
{
    assert(points >= 2 && points <= SH_FOURIER_MOST && (points & (points - 1)) == 0);
    const size_t half = points / 2;
    sh_fourier *fresh = calloc(1, sizeof *fresh);
    if (fresh != NULL) {
        fresh->points = points;
        fresh->reversed = calloc(points, sizeof *fresh->reversed);
        fresh->cosine = calloc(half, sizeof *fresh->cosine);
        fresh->sine = calloc(half, sizeof *fresh->sine);
    }
    if (fresh == NULL || fresh->reversed == NULL || fresh->cosine == NULL || fresh->sine == NULL) {
        sh_fourier_free(fresh);
        return sh_fail_memory(points * 2 * sizeof(double), "a Fourier transform");
    }
    for (size_t i = 0; i < points; i++)
        fresh->reversed[i] =
            fresh->reversed[i / 2] / 2 + (i % 2 == 0 ? 0 : (uint32_t)half); /* i / 2 is set */
    for (size_t k = 0; k < half; k++) {
        /* k / points is exact; sin x = cos(x - pi / 2) */
        const double turns = 2 * (double)k / (double)points;
        fresh->cosine[k] = sh_real_cos_pi(turns);
        fresh->sine[k] = sh_real_cos_pi(turns - 0.5);
    }
    *fourier = fresh;
    return SH_OK;
}

static void reorder(const sh_fourier *f, double *values)
{
    for (size_t i = 0; i < f->points; i++) {
        const size_t j = f->reversed[i];
        if (j <= i)
            continue;
        const double kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

void sh_fourier_run(const sh_fourier *fourier, double *real, double *imaginary)
{
    const size_t points = fourier->points;
    reorder(fourier, real);
    reorder(fourier, imaginary);
    for (size_t half = 1; half < points; half *= 2) {
        const size_t stride = points / half / 2;
        for (size_t first = 0; first < points; first += 2 * half)
            for (size_t k = 0; k < half; k++) {
                const size_t a = first + k, b = a + half;
                const double c = fourier->cosine[k * stride], s = fourier->sine[k * stride];
                const double x = real[b] * c + imaginary[b] * s;
                const double y = imaginary[b] * c - real[b] * s;
                real[b] = real[a] - x;
                imaginary[b] = imaginary[a] - y;
                real[a] += x;
                imaginary[a] += y;
            }
    }
}

void sh_fourier_free(sh_fourier *fourier)
{
    if (fourier == NULL)
        return;
    free(fourier->reversed);
    free(fourier->cosine);
    free(fourier->sine);
    free(fourier);
}
