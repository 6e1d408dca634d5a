/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512: compiled with -mavx512f. */
#define VARIANT avx512
#include "backend/kernel/variant_table.h"
