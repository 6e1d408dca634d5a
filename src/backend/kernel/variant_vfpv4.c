/* SPDX-License-Identifier: Apache-2.0 */
/* 32-bit Arm with scalar multiply-adds: compiled with -mfpu=vfpv4. */
#define VARIANT vfpv4
#include "backend/kernel/variant_table.h"
