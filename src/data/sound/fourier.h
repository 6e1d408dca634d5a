/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discrete Fourier transform of a power of two of points. The result is identical on every
 * machine: base/real.h computes the roots of unity, and the order of operations is fixed.
 *
 *     X[k] = sum over n of x[n] exp(-2 pi i k n / N), unscaled
 *
 *     sh_fourier *fourier;
 *     SH_TRY(sh_fourier_new(&fourier, 512));
 *     sh_fourier_run(fourier, real, imaginary);
 *     sh_fourier_free(fourier);
 *
 * Threads: any for sh_fourier_run, each with its own buffers.
 */
#ifndef SHOAL_DATA_SOUND_FOURIER_H
#define SHOAL_DATA_SOUND_FOURIER_H

#include <stddef.h>

#include "base/fail.h"

typedef struct sh_fourier sh_fourier;

#define SH_FOURIER_MOST 65536 /* points */

/* Owned. `points`: a power of two from 2 to SH_FOURIER_MOST. */
sh_status sh_fourier_new(sh_fourier **fourier, size_t points) SHOAL_CHECKED;

/* Transforms `points` complex numbers in place. */
void sh_fourier_run(const sh_fourier *fourier, double *real, double *imaginary);

void sh_fourier_free(sh_fourier *fourier);

#endif
