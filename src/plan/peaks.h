/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the peak rates of this device: arithmetic with the program's kernels, and memory.
 *
 *     SH_TRY(sh_peaks_measure(&known, kernels, lanes, clock, 4.0));
 *
 * Threads: caller locks; starts and ends its own team.
 */
#ifndef SHOAL_PLAN_PEAKS_H
#define SHOAL_PLAN_PEAKS_H

#include "plan/measurement.h"

/* Sets the rates of `known` in about `seconds`. */
sh_status sh_peaks_measure(sh_measurements *known, const sh_kernels *kernels, uint32_t lanes,
                           const sh_clock *clock, double seconds) SHOAL_CHECKED;

#endif
