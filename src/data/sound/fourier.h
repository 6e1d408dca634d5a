/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The discrete Fourier transform of a power of two of points. The result is identical on every
 * machine: roots of unity are computed by base/real.h, and the order of operations is fixed.
 *
 *     sh_fourier *fourier;
 *     SH_TRY(sh_fourier_new(&fourier, 512));
 *     sh_fourier_run(fourier, real, imaginary);
 *     sh_fourier_free(fourier);
 *
 * X[k] = sum over n of x[n] exp(-2 pi i k n / N), unscaled.
 *
 * Threads: sh_fourier_run is safe to call concurrently, with separate buffers.
 */
#ifndef SHOAL_DATA_SOUND_FOURIER_H
#define SHOAL_DATA_SOUND_FOURIER_H

#include <stddef.h>

#include "base/fail.h"

typedef struct sh_fourier sh_fourier;

#define SH_FOURIER_MOST 65536 /* most points */

/* `points`: a power of two from 2 to SH_FOURIER_MOST. Owned: free it with sh_fourier_free. */
sh_status sh_fourier_new(sh_fourier **fourier, size_t points) SHOAL_CHECKED;

/* Transforms `points` complex numbers in place. */
void sh_fourier_run(const sh_fourier *fourier, double *real, double *imaginary);

/* NULL is ignored. */
void sh_fourier_free(sh_fourier *fourier);

#endif
