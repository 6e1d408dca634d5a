/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: compiled with -mavx512f. */
#define TABLE sh_kernels_avx512
#define NAME "avx512"
#define RUNS __builtin_cpu_supports("avx512f") != 0
#include "backend/kernel/variant_table.h"
