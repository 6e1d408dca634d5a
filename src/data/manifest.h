/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a data set so that it can be fetched in blocks from any peer: its properties, files,
 * and the SHA-256 of each block.
 *
 * The root is the SHA-256 of the packed form; only it needs a trusted source. Equal roots mean
 * equal data and fingerprints. The packed form is little-endian, with zero-padded strings:
 *
 *     0     "shoalman"
 *     8     u32 version (2), u32 bytes of a block
 *     16    16 bytes: the kind, "mnist"; 64 bytes: the fingerprint
 *     96    u32 channels, height, width, element, target, outputs, training samples,
 *           validation samples (dataset.h)
 *     128   4 x f32 mean, 4 x f32 deviation
 *     160   places of training samples, training targets, validation samples, validation targets:
 *           each u32 file, u64 first, u64 stride (contents.h)
 *     240   u32 bytes of a target
 *     244   u32 files, each 48 bytes of name, u64 bytes
 *     then  32 bytes for each block, from the first file to the last
 *
 * A block is in one file; a file's last block may be shorter. 50 MB of data make 27 kB.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_MANIFEST_H
#define SHOAL_DATA_MANIFEST_H

#include "base/digest.h"
#include "data/contents.h"

#define SH_MANIFEST_BLOCK_BYTES 65536 /* of new blocks */
#define SH_MANIFEST_BLOCK_LEAST 4096  /* of accepted blocks; powers of two */
#define SH_MANIFEST_BLOCK_MOST 1048576
#define SH_MANIFEST_BLOCKS_MOST 524288                    /* 32 GiB at 64 KiB each */
#define SH_MANIFEST_BYTES_MOST (16u * 1024 * 1024 + 4096) /* of the packed form */
#define SH_MANIFEST_KIND 16

typedef struct sh_manifest {
    char kind[SH_MANIFEST_KIND];
    sh_dataset_info info; /* its name is `kind` */
    sh_contents contents;
    uint64_t content_bytes;
    uint32_t block_bytes, blocks;
    uint32_t first_block[SH_CONTENTS_FILES + 1]; /* per file, and the end */
    const uint8_t *digests;                      /* SH_DIGEST_BYTES per block, in `packed` */
    char root[SH_DIGEST_TEXT];
    uint8_t *packed;
    size_t packed_bytes;
} sh_manifest;

typedef struct sh_block {
    uint32_t file;
    uint64_t offset;
    uint32_t bytes;
} sh_block;

/* Hashes an open set, blocking: use a thread of its own. Fails with SH_UNSUPPORTED (not on disk),
 * SH_LIMIT (too large), and like sh_contents_read. */
sh_status sh_manifest_make(sh_manifest **manifest, const sh_dataset *dataset) SHOAL_CHECKED;

/* `packed` is copied; `root` is the expected SHA-256, or NULL. Fails with SH_CORRUPT (wrong root,
 * truncated, too long), SH_VERSION, SH_FORMAT, SH_LIMIT. */
sh_status sh_manifest_parse(sh_manifest **manifest, const uint8_t *packed, size_t bytes,
                            const char *root) SHOAL_CHECKED;

/* `block` < blocks. */
sh_block sh_manifest_block(const sh_manifest *manifest, uint32_t block);

/* The block with byte `offset`, which must exist. */
uint32_t sh_manifest_find(const sh_manifest *manifest, uint32_t file, uint64_t offset);

/* `block` < blocks. SH_CORRUPT: wrong bytes. */
sh_status sh_manifest_verify(const sh_manifest *manifest, uint32_t block, const uint8_t *bytes,
                             size_t count) SHOAL_CHECKED;

void sh_manifest_free(sh_manifest *manifest);

#endif
