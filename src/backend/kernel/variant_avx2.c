/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 with FMA: compiled with -mavx2 -mfma. */
#define TABLE sh_kernels_avx2
#define NAME "avx2"
#define RUNS __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0
#include "backend/kernel/variant_table.h"
