/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a data set is, so that it can be fetched piece by piece from anybody and checked: what it
 * holds, its files cut into blocks, and the SHA-256 of each block.
 *
 *     sh_manifest *manifest;
 *     SH_TRY(sh_manifest_make(&manifest, dataset));                    // who has the data
 *     send(manifest->packed, manifest->packed_bytes);
 *
 *     SH_TRY(sh_manifest_parse(&manifest, bytes, count, root));        // who has not
 *     SH_TRY(sh_manifest_verify(manifest, block, bytes, count));
 *     sh_manifest_free(manifest);
 *
 * The root is the SHA-256 of the packed form. Who knows the root from somebody trusted can take
 * the rest from anybody; equal roots are equal data, to the last byte, and so is the fingerprint,
 * which is a part of it. The packed form, little-endian, strings padded by zeros:
 *
 *     0     "shoalman"
 *     8     u32 version (2), u32 bytes of a block
 *     16    16 bytes: the kind, "mnist"; 64 bytes: the fingerprint
 *     96    u32 channels, height, width, element, target, outputs, training samples, validation
 * samples (dataset.h) 128   4 x f32 mean, 4 x f32 deviation 160   places of training samples,
 * training targets, validation samples, validation targets: each u32 file, u64 first, u64 stride
 * (contents.h) 240   u32 bytes of a target 244   u32 files, each 48 bytes of name, u64 bytes then
 * 32 bytes for each block, of the first file to the last
 *
 * A block lies in one file; a file's last may be shorter. 50 MB of data make 27 kB.
 *
 * Threads: any; a manifest never changes.
 */
#ifndef SHOAL_DATA_MANIFEST_H
#define SHOAL_DATA_MANIFEST_H

#include "base/digest.h"
#include "data/contents.h"

#define SH_MANIFEST_BLOCK_BYTES 65536 /* of the blocks that are made */
#define SH_MANIFEST_BLOCK_LEAST 4096  /* of those that are read: powers of two */
#define SH_MANIFEST_BLOCK_MOST 1048576
#define SH_MANIFEST_BLOCKS_MOST 524288                    /* 32 GiB in blocks of 64 KiB */
#define SH_MANIFEST_BYTES_MOST (16u * 1024 * 1024 + 4096) /* of the packed form */
#define SH_MANIFEST_KIND 16

typedef struct sh_manifest {
    char kind[SH_MANIFEST_KIND]; /* "mnist" */
    sh_dataset_info info;        /* as the set tells it; its name is `kind` */
    sh_contents contents;
    uint64_t content_bytes; /* of all files */
    uint32_t block_bytes, blocks;
    uint32_t first_block[SH_CONTENTS_FILES + 1]; /* of each file, and behind the last */
    const uint8_t *digests;                      /* SH_DIGEST_BYTES of each block; in `packed` */
    char root[SH_DIGEST_TEXT];
    uint8_t *packed;
    size_t packed_bytes;
} sh_manifest;

/* One block: a range of bytes of a file. */
typedef struct sh_block {
    uint32_t file;
    uint64_t offset;
    uint32_t bytes;
} sh_block;

/*
 * Reads all of an open set and hashes it. Blocking, and about as long as reading and SHA-256 take:
 * not on a thread that others wait for. Owned: sh_manifest_free it. Fails with SH_UNSUPPORTED (the
 * data are on no disk), SH_LIMIT (too large), and as sh_contents_read does.
 */
sh_status sh_manifest_make(sh_manifest **manifest, const sh_dataset *dataset) SHOAL_CHECKED;

/*
 * Takes a packed one (copied) apart and checks all of it. `root` is what the SHA-256 must be, NULL
 * for any. Fails with SH_CORRUPT (another root, cut off, too long), SH_VERSION, SH_FORMAT,
 * SH_LIMIT.
 */
sh_status sh_manifest_parse(sh_manifest **manifest, const uint8_t *packed, size_t bytes,
                            const char *root) SHOAL_CHECKED;

/* Where block `block` < blocks lies. */
sh_block sh_manifest_block(const sh_manifest *manifest, uint32_t block);

/* The block that holds byte `offset` of a file; both are within the contents. */
uint32_t sh_manifest_find(const sh_manifest *manifest, uint32_t file, uint64_t offset);

/* Whether these are the bytes of block `block` < blocks; SH_CORRUPT where they are not. */
sh_status sh_manifest_verify(const sh_manifest *manifest, uint32_t block, const uint8_t *bytes,
                             size_t count) SHOAL_CHECKED;

/* NULL is fine. */
void sh_manifest_free(sh_manifest *manifest);

#endif
