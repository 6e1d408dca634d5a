/* SPDX-License-Identifier: Apache-2.0 */
/* AVX2 with FMA: compiled with -mavx2 -mfma. */
#define VARIANT avx2
#include "backend/kernel/variant_table.h"
