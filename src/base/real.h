/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few real functions that decide the course of a training, made of IEEE double additions,
 * multiplications, divisions and exact conversions alone, so that every machine computes the same
 * bits. The mathematics library's differ in the last bit from system to system.
 *
 *     const double correction = 1 - sh_real_power(0.999, step);
 *     const double rate = peak * (1 + sh_real_cos_pi(progress)) / 2;
 *
 * Square roots need nothing of the kind: IEEE 754 defines sqrt() to the last bit.
 * Accuracy: a relative error below 4e-16 for exp, log and cos_pi (not below the least normal
 * number), and below exponent * 3e-16 for power. They are not fast: for a few numbers a step.
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

/* cos(pi x), exactly 0 at each half and +-1 at each whole number; NaN for what is not finite. */
double sh_real_cos_pi(double x);

/* base^exponent; 1 where the exponent is 0. */
double sh_real_power(double base, uint64_t exponent);

#endif
