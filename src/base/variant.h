/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function body, compiled for several instruction sets and chosen at run time.
 *
 *     static inline SH_INLINE void scale_body(float *x, size_t n) { ... a plain loop ... }
 *     SH_VARIANTS(scale, (float *x, size_t n), (x, n));
 *     scale_variants[sh_variant_best()](x, n);
 *
 * A variant may only be faster: every one gives the same bits, which holds for loops of IEEE
 * operations without contraction and without reordered sums. The table, unlike the compiler's own
 * function clones, lets tests run each variant and works under sanitizers and in static programs.
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_VARIANT_H
#define SHOAL_BASE_VARIANT_H

#include <float.h>
#include <stdbool.h>

#if defined(__FAST_MATH__)
#error "-ffast-math reorders float operations: the same job would no longer give the same weights"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "float is evaluated in a wider type: on x86, compile with -msse2 -mfpmath=sse"
#endif

#define SH_INLINE __attribute__((always_inline))

/*
 * for (size_t i = 0; i < count; i++), where each turn works on element i alone. Results may take
 * the place of operands, so pointers are not `restrict`; this says to the compiler what it needs to
 * make vectors of the loop without a check.
 */
#if defined(__clang__)
#define SH_EACH_ELEMENT(i, count)                                                                  \
    _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < (count); i++)
#else
#define SH_EACH_ELEMENT(i, count) _Pragma("GCC ivdep") for (size_t i = 0; i < (count); i++)
#endif

/* One list: name, attributes, what else is given; best first. */
#if defined(__x86_64__) && defined(__GNUC__)
#define SH_VARIANT_EACH(X, ...)                                                                    \
    X(avx512, __attribute__((target("avx512f"))), __VA_ARGS__)                                     \
    X(avx2, __attribute__((target("avx2"))), __VA_ARGS__)                                          \
    X(plain, , __VA_ARGS__)
#else
#define SH_VARIANT_EACH(X, ...) X(plain, , __VA_ARGS__)
#endif

/* X(name, attributes) for each; prefix_name for each, with commas. */
#define SH_VARIANT_PAIR(name, attributes, X) X(name, attributes)
#define SH_VARIANT_MAP(X) SH_VARIANT_EACH(SH_VARIANT_PAIR, X)
#define SH_VARIANT_NAME(name, attributes, prefix) prefix##_##name,
#define SH_VARIANT_TABLE(prefix) SH_VARIANT_EACH(SH_VARIANT_NAME, prefix)

/* From prefix_body, which returns nothing, the functions prefix_variants[SH_VARIANT_COUNT]. */
#define SH_VARIANT_CALL(name, attributes, prefix, parameters, arguments)                           \
    static attributes void prefix##_##name parameters                                              \
    {                                                                                              \
        prefix##_body arguments;                                                                   \
    }
#define SH_VARIANTS(prefix, parameters, arguments)                                                 \
    SH_VARIANT_EACH(SH_VARIANT_CALL, prefix, parameters, arguments)                                \
    static void(*const prefix##_variants[SH_VARIANT_COUNT]) parameters = {SH_VARIANT_TABLE(prefix)}

typedef enum sh_variant {
#define SH_VARIANT_ENUM(name, attributes) SH_VARIANT_##name,
    SH_VARIANT_MAP(SH_VARIANT_ENUM)
#undef SH_VARIANT_ENUM
        SH_VARIANT_COUNT
} sh_variant;

/* Whether this processor runs it. */
static inline bool sh_variant_runs(sh_variant variant)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (variant == SH_VARIANT_avx512)
        return __builtin_cpu_supports("avx512f") != 0;
    if (variant == SH_VARIANT_avx2)
        return __builtin_cpu_supports("avx2") != 0;
#endif
    return variant == SH_VARIANT_plain;
}

/* The first that this processor runs. */
static inline sh_variant sh_variant_best(void)
{
    unsigned variant = 0;
    while (!sh_variant_runs((sh_variant)variant))
        variant++;
    return (sh_variant)variant;
}

#endif
