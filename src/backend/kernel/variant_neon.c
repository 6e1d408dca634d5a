/* SPDX-License-Identifier: Apache-2.0 */
/* NEON, which all 64-bit Arm processors have. */
#define VARIANT neon
#include "backend/kernel/variant_table.h"
