/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The position of the checksum in files that shoal writes. It is first in the header, so its offset
 * is fixed.
 *
 *     8 bytes | {"__metadata__":{"shoal.sha256":" | 64 digits | ","next key":...
 *
 * Threads: any.
 */
#ifndef SHOAL_STORE_SAFETENSORS_LAYOUT_H
#define SHOAL_STORE_SAFETENSORS_LAYOUT_H

#include "base/digest.h"
#include "store/safetensors.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors is little-endian; a big-endian machine would need its numbers swapped"
#endif

#define SH_CHECKSUM_LEAD "{\"__metadata__\":{\"" SH_SAFETENSORS_CHECKSUM "\":\""
#define SH_CHECKSUM_OFFSET (8 + sizeof SH_CHECKSUM_LEAD - 1)
#define SH_CHECKSUM_DIGITS ((size_t)(SH_DIGEST_TEXT - 1))

#endif
