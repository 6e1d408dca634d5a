/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a packed set (packed.h), little-endian:
 *
 *     0     "shoalset"
 *     8     u32 version (1), u32 offset of the samples, u64 offset of the targets, u64 file size
 *     32    16 bytes: the kind, "photos"; 64 bytes: the fingerprint
 *     112   u32 channels, height, width, element, target, outputs, training samples,
 *           validation samples (dataset.h)
 *     144   4 x f32 mean, 4 x f32 deviation (of samples that are bytes)
 *     176   u32 bytes of the description, then the description (source.h: about), JSON, and zeros
 *     then  samples, training before validation, and targets likewise, without gaps
 *
 * The fingerprint is the SHA-256 of the file with zeros in its own place.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_PACKED_HEAD_H
#define SHOAL_DATA_PACKED_HEAD_H

#include "data/contents.h"

#define SH_PACKED_HEAD_MOST (1u << 26) /* bytes before the samples */

typedef struct sh_packed_head {
    uint64_t samples_at, targets_at, bytes;
    char kind[16];
    sh_dataset_info info; /* without its name */
    uint32_t about_bytes;
} sh_packed_head;

#define SH_PACKED_ABOUT_AT 180 /* offset of the description */
#define SH_PACKED_FINGERPRINT_AT 48

/* Sets the first three fields. */
void sh_packed_layout(sh_packed_head *head);

/* The first bytes of a file. Decoding fails with SH_FORMAT or SH_VERSION. */
void sh_packed_encode(uint8_t bytes[SH_PACKED_ABOUT_AT], const sh_packed_head *head);
sh_status sh_packed_decode(sh_packed_head *head,
                           const uint8_t bytes[SH_PACKED_ABOUT_AT]) SHOAL_CHECKED;

sh_contents sh_packed_contents(const sh_packed_head *head);

#endif
