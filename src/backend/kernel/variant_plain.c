/* SPDX-License-Identifier: Apache-2.0 */
/* What every processor of this architecture has. */
#define VARIANT plain
#define VEC_EMULATES
#include "backend/kernel/variant_table.h"
