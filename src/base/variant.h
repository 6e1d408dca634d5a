/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variants: the same functions compiled for several instruction sets, and the choice among them.
 *
 *     static inline SH_INLINE void scale_body(float *x, size_t n) { ... a plain loop ... }
 *     SH_VARIANTS(scale, (float *x, size_t n), (x, n));
 *     scale_variants[sh_variant_chosen()](x, n);
 *
 * All variants give the same bits, which holds for loops of IEEE operations without contraction and
 * without reordered sums. Unlike the compiler's function clones, the table lets tests run each
 * variant and works under sanitizers and in static programs.
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_VARIANT_H
#define SHOAL_BASE_VARIANT_H

#include <float.h>
#include <stdbool.h>

#include "base/fail.h"

#if defined(__FAST_MATH__)
#error "-ffast-math reorders float operations: the same job would no longer give the same weights"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "float is evaluated in a wider type: on x86, compile with -msse2 -mfpmath=sse"
#endif

#define SH_INLINE __attribute__((always_inline))

/*
 * for (size_t i = 0; i < count; i++), where each iteration uses element i only. Results may
 * overwrite operands, so pointers are not `restrict`; the pragma vectorizes the loop without a
 * check.
 */
#if defined(__clang__)
#define SH_EACH_ELEMENT(i, count)                                                                  \
    _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < (count); i++)
#else
#define SH_EACH_ELEMENT(i, count) _Pragma("GCC ivdep") for (size_t i = 0; i < (count); i++)
#endif

/* A file with memory-bound loops defines this as "avx2", which merges identical functions. */
#if !defined(SH_VARIANT_AVX512)
#define SH_VARIANT_AVX512 "avx512f"
#endif

/* Fastest first: name, attributes of its functions, whether this processor runs it (an expression
 * in variant.c), and extra arguments. The last one runs everywhere. */
#if defined(__x86_64__) && defined(__GNUC__)
#define SH_VARIANT_EACH(X, ...)                                                                    \
    X(avx512, __attribute__((target(SH_VARIANT_AVX512))), HAS("avx512f"), __VA_ARGS__)             \
    X(avx2, __attribute__((target("avx2"))), HAS("avx2") && HAS("fma"), __VA_ARGS__)               \
    X(plain, , true, __VA_ARGS__)
#elif defined(__aarch64__)
#define SH_VARIANT_EACH(X, ...)                                                                    \
    X(neon, , true, __VA_ARGS__)                                                                   \
    X(plain, , true, __VA_ARGS__)
#elif defined(__arm__)
#define SH_VARIANT_EACH(X, ...)                                                                    \
    X(vfpv4, , (getauxval(AT_HWCAP) & HWCAP_ARM_VFPv4) != 0, __VA_ARGS__)                          \
    X(plain, , true, __VA_ARGS__)
#else
#define SH_VARIANT_EACH(X, ...) X(plain, , true, __VA_ARGS__)
#endif

#define SH_VARIANT_PAIR(name, attributes, runs, X) X(name, attributes)
#define SH_VARIANT_MAP(X) SH_VARIANT_EACH(SH_VARIANT_PAIR, X)
#define SH_VARIANT_NAME(name, attributes, runs, prefix) prefix##_##name,
#define SH_VARIANT_TABLE(prefix) SH_VARIANT_EACH(SH_VARIANT_NAME, prefix)

/* Makes prefix_variants[SH_VARIANT_COUNT] from prefix_body, which returns nothing. */
#define SH_VARIANT_CALL(name, attributes, runs, prefix, parameters, arguments)                     \
    static attributes void prefix##_##name parameters                                              \
    {                                                                                              \
        prefix##_body arguments;                                                                   \
    }
#define SH_VARIANTS(prefix, parameters, arguments)                                                 \
    SH_VARIANT_EACH(SH_VARIANT_CALL, prefix, parameters, arguments)                                \
    static void(*const prefix##_variants[SH_VARIANT_COUNT]) parameters = {SH_VARIANT_TABLE(prefix)}

typedef enum sh_variant { SH_VARIANT_TABLE(SH_VARIANT) SH_VARIANT_COUNT } sh_variant;

const char *sh_variant_name(sh_variant variant);

bool sh_variant_runs(sh_variant variant);

/* Finds the variant of this name; NULL: the one that the process uses. SH_INVALID lists those that
 * this processor runs. Every job begins with this call, which refuses a wrong SHOAL_VARIANT. */
sh_status sh_variant_find(sh_variant *variant, const char *name) SHOAL_CHECKED;

/* The one that SHOAL_VARIANT named at the first call; without a valid name, the first of the list
 * that this processor runs. */
sh_variant sh_variant_chosen(void);

#endif
