/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side that has the data: answers what a device without them asks for.
 *
 *     sh_provider *provider;
 *     SH_TRY(sh_provider_new(&provider, dataset));
 *     SH_TRY(sh_provider_manifest(&manifest, provider));             // its `packed` is what
 * travels const sh_block block = {.file = 0, .offset = 65536, .bytes = 65536};
 *     SH_TRY(sh_provider_read(provider, &block, bytes));
 *     sh_provider_free(provider);
 *
 * Blocks can be had from any device that has the data, also from one that is still fetching them.
 * Only who hands out the manifest has to read and hash all of it, once, when the first device asks:
 * on one core 0.04 s for the 55 MB of MNIST where it has SHA instructions, six times that where
 * not.
 *
 * Threads: any, several at once.
 */
#ifndef SHOAL_DATA_PROVIDER_H
#define SHOAL_DATA_PROVIDER_H

#include "data/manifest.h"

typedef struct sh_provider sh_provider;

typedef struct sh_provider_counts {
    uint64_t blocks, bytes; /* that were read for others */
} sh_provider_counts;

/* `dataset` is borrowed until the provider is freed. `*provider` is owned: sh_provider_free it. */
sh_status sh_provider_new(sh_provider **provider, const sh_dataset *dataset) SHOAL_CHECKED;

/*
 * The manifest, made the first time. Borrowed until the provider is freed. Blocking, the first time
 * for long: not on the loop's thread. Fails as sh_manifest_make does; a later call tries again.
 */
sh_status sh_provider_manifest(const sh_manifest **manifest, sh_provider *provider) SHOAL_CHECKED;

/*
 * Reads a block into bytes[0 .. block->bytes - 1]. What is asked for comes from outside and is
 * checked. May block on the disk. Fails with SH_INVALID (outside of the files, none or more than
 * SH_MANIFEST_BLOCK_MOST bytes), SH_NOT_FOUND (this device is itself still fetching it),
 * SH_UNSUPPORTED (data on no disk), SH_IO, SH_CORRUPT.
 */
sh_status sh_provider_read(sh_provider *provider, const sh_block *block,
                           uint8_t *bytes) SHOAL_CHECKED;

sh_provider_counts sh_provider_counted(sh_provider *provider);

/* NULL is fine. */
void sh_provider_free(sh_provider *provider);

#endif
