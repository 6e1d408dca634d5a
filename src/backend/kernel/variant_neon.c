/* SPDX-License-Identifier: Apache-2.0 */
/* NEON of 64-bit Arm, which every such processor has. */
#define VARIANT neon
#include "backend/kernel/variant_table.h"
