/* SPDX-License-Identifier: Apache-2.0 */
/* For every processor of this architecture. */
#define VARIANT plain
#define VEC_EMULATES
#include "backend/kernel/variant_table.h"
