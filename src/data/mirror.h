/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A partial copy of a data set. Blocks arrive in any order, are verified, stored in the cache
 * folder and readable at once. Reading a missing block waits for it.
 *
 * Blocks outlive the process, however it ends. A block from another process is verified before its
 * first use, so a block damaged by a power failure or worn card is requested again. Processes may
 * share a mirror; each sees the others' blocks.
 *
 * The root guarantees that the data set equals the manifest's.
 *
 *     static void want(void *context, uint32_t block, bool now);   // request it from a peer
 *
 *     sh_mirror *mirror;
 *     const sh_mirror_options options = {.want = want, .context = fetcher};
 *     SH_TRY(sh_mirror_open(&mirror, manifest, &options));
 *     sh_dataset *dataset = sh_mirror_dataset(mirror);
 *
 *     any lane:         SH_TRY(sh_dataset_read(dataset, split, index, bytes, &label));
 *     a block arrives:  SH_TRY(sh_mirror_put(mirror, block, bytes, count));
 *
 *     sh_dataset_close(dataset);   // and the mirror with it
 *
 * Threads: put, has, missing and fail: any. Open and close while no thread reads or puts. Readers
 * and touchers call `want` without a lock; it must not wait.
 */
#ifndef SHOAL_DATA_MIRROR_H
#define SHOAL_DATA_MIRROR_H

#include "data/manifest.h"

typedef struct sh_mirror sh_mirror;

/*
 * Block `block` is missing: a reader waits for it (`now`), or will read it soon. At most once per
 * value of `now`, and not with false after true. The callee chooses sources and retries (fetch.h).
 */
typedef void sh_mirror_want_fn(void *context, uint32_t block, bool now);

typedef struct sh_mirror_options {
    uint64_t limit_bytes; /* all mirrors; 0: no limit */
    sh_mirror_want_fn *want;
    void *context;
} sh_mirror_options;

typedef struct sh_mirror_counts {
    uint32_t put;     /* stored */
    uint32_t refused; /* received, but wrong */
    uint32_t damaged; /* on disk, but wrong */
} sh_mirror_counts;

/* Takes ownership of `manifest`, also on failure. Blocks while making room on disk. Close `*mirror`
 * or its data set. Fails like sh_mirror_cache_open. */
sh_status sh_mirror_open(sh_mirror **mirror, sh_manifest *manifest,
                         const sh_mirror_options *options) SHOAL_CHECKED;

/* Borrowed until the mirror is closed. */
const sh_manifest *sh_mirror_manifest(const sh_mirror *mirror);

/* A block marked as present by another process may still prove damaged. */
bool sh_mirror_has(sh_mirror *mirror, uint32_t block);

/* Counts blocks not marked as present. */
uint32_t sh_mirror_missing(sh_mirror *mirror);

sh_mirror_counts sh_mirror_counted(sh_mirror *mirror);

/*
 * Verifies an untrusted block, stores it and wakes its readers; it may be present already. Fails
 * with SH_CORRUPT (no such block, or wrong bytes: ask another source), SH_NO_SPACE (names the
 * folder, bytes needed and available), SH_IO.
 */
sh_status sh_mirror_put(sh_mirror *mirror, uint32_t block, const uint8_t *bytes,
                        size_t count) SHOAL_CHECKED;

/* Reads a valid range; waits for missing blocks. Fails as set by sh_mirror_fail, and with SH_IO. */
sh_status sh_mirror_read(sh_mirror *mirror, uint32_t file, uint64_t offset, uint8_t *bytes,
                         size_t count) SHOAL_CHECKED;

/* Verifies a range's present blocks and loads them into the system's page cache; requests the rest
 * without waiting. Returns whether all are present. */
bool sh_mirror_touch(sh_mirror *mirror, uint32_t file, uint64_t offset, size_t count);

/* No more blocks will arrive: waits, also later ones, fail with `status` (not SH_OK) and
 * `reason` (copied). The first call counts. */
void sh_mirror_fail(sh_mirror *mirror, sh_status status, const char *reason);

/* Closing it closes the mirror. Works before any block has arrived. */
sh_dataset *sh_mirror_dataset(sh_mirror *mirror);

/* Stop readers first: it does not wake them. */
void sh_mirror_close(sh_mirror *mirror);

#endif
