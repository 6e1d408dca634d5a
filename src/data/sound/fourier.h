/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discrete Fourier transform of a power of two of points, to the same bits on any machine:
 * its roots of unity are base/real.h's, and it adds and multiplies in one order.
 *
 *     sh_fourier *fourier;
 *     SH_TRY(sh_fourier_new(&fourier, 512));
 *     sh_fourier_run(fourier, real, imaginary);
 *     sh_fourier_free(fourier);
 *
 * X[k] = sum over n of x[n] exp(-2 pi i k n / N), without a factor.
 *
 * Threads: a transform never changes: any may run it, several at once.
 */
#ifndef SHOAL_DATA_SOUND_FOURIER_H
#define SHOAL_DATA_SOUND_FOURIER_H

#include <stddef.h>

#include "base/fail.h"

typedef struct sh_fourier sh_fourier;

#define SH_FOURIER_MOST 65536 /* points */

/* For `points` of them, a power of two from 2 on. Owned: sh_fourier_free it. */
sh_status sh_fourier_new(sh_fourier **fourier, size_t points) SHOAL_CHECKED;

/* Transforms `points` complex numbers in place. */
void sh_fourier_run(const sh_fourier *fourier, double *real, double *imaginary);

/* NULL is fine. */
void sh_fourier_free(sh_fourier *fourier);

#endif
