/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fused multiply-add for processors without the instruction; included by kernel/vector.h.
 *
 * The product of two floats is exact in double. The sum is rounded to odd: if inexact, to the
 * neighbour whose last bit is set. Rounding that to float equals rounding the exact sum once, since
 * double has more than twice the bits plus two (Boldo, Melquiond 2008).
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_KERNEL_EMULATION_H
#define SHOAL_BACKEND_KERNEL_EMULATION_H

static __attribute__((noinline)) vec vec_fma(vec a, vec b, vec c)
{
    typedef double wide __attribute__((vector_size(VEC * 8)));
    typedef int64_t wide_int __attribute__((vector_size(VEC * 8)));
    const wide product = __builtin_convertvector(a, wide) * __builtin_convertvector(b, wide);
    const wide addend = __builtin_convertvector(c, wide);
    const wide sum = product + addend;
    const wide part = sum - product;
    const wide error = (product - (sum - part)) + (addend - part);
    const wide_int bits = (wide_int)sum;
    const wide_int rounded = (error < 0) | (error > 0), even = (bits & 1) - 1;
    const wide_int away = ((wide_int)error ^ bits) >> 63; /* -1: the error has the other sign */
    return __builtin_convertvector((wide)(bits + (rounded & even & (away | 1))), vec);
}

#endif
