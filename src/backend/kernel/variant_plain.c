/* SPDX-License-Identifier: Apache-2.0 */
/* What every processor of this architecture has. */
#define TABLE sh_kernels_plain
#define NAME "plain"
#define RUNS true
#include "backend/kernel/variant_table.h"
