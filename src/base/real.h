/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few real functions that affect the results of training, built only from IEEE double
 * additions, multiplications, divisions and exact conversions, so that every machine computes the
 * same bits. sqrt() needs no replacement: IEEE 754 defines it to the last bit.
 *
 * Accuracy: a relative error below 4e-16 for exp, log and cos_pi (not for subnormal numbers), and
 * below exponent * 3e-16 for power. They are slow: for a few numbers per step.
 *
 *     const double correction = 1 - sh_real_power(0.999, step);
 *     const double rate = peak * (1 + sh_real_cos_pi(progress)) / 2;
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_REAL_H
#define SHOAL_BASE_REAL_H

#include <stdint.h>

/* e^x; infinite above 709.78, 0 below -745.2, NaN for NaN. */
double sh_real_exp(double x);

/* The natural logarithm; -infinity for 0, NaN below 0 and for NaN. */
double sh_real_log(double x);

/* cos(pi x), exactly 0 at half-integers and +-1 at integers; NaN unless x is finite. */
double sh_real_cos_pi(double x);

/* base^exponent; 1 if the exponent is 0. */
double sh_real_power(double base, uint64_t exponent);

#endif
