/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set of which only a part is here: blocks come in any order, are checked, kept in the cache
 * folder, and can be read as soon as they are there. Reading one that is not waits for it.
 *
 *     static void want(void *context, uint32_t block, bool now);   // ask somebody for it
 *
 *     sh_mirror *mirror;
 *     const sh_mirror_options options = {.want = want, .context = fetcher};
 *     SH_TRY(sh_mirror_open(&mirror, manifest, &options));
 *     sh_dataset *dataset = sh_mirror_dataset(mirror);
 *
 *     any lane:         SH_TRY(sh_dataset_read(dataset, split, index, bytes, &label));
 *     a block has come: SH_TRY(sh_mirror_put(mirror, block, bytes, count));
 *
 *     sh_dataset_close(dataset);   // and the mirror with it
 *
 * What it holds outlives the process, however that ends: the next one that opens the same data set
 * finds it and asks for the rest. A block that an earlier process, or another one at the same time,
 * has left is checked again before the first use, so whatever a crash, a power failure or a worn
 * card made of it is found, and it is asked for once more. Several processes may have one mirror
 * open; each sees what the others put.
 *
 * The data set is the one that the manifest tells of: same samples, same numbers, same fingerprint.
 * That all its bytes are those that the fingerprint was computed from follows from the root.
 *
 * Threads: put, has, missing and fail: any. Open and close while nobody reads or puts. `want` is
 * called by whoever reads or touches, without a lock held; it must not wait.
 */
#ifndef SHOAL_DATA_MIRROR_H
#define SHOAL_DATA_MIRROR_H

#include "data/manifest.h"

typedef struct sh_mirror sh_mirror;

/*
 * Block `block` is not here. `now`: a reader waits for it, else it will be read soon. Comes once
 * for each of the two, in either order, as long as the block does not come; who is asked and how
 * often is the callee's affair (fetch.h).
 */
typedef void sh_mirror_want_fn(void *context, uint32_t block, bool now);

typedef struct sh_mirror_options {
    uint64_t limit_bytes; /* on disk for all mirrors together; 0: no limit */
    sh_mirror_want_fn *want;
    void *context;
} sh_mirror_options;

typedef struct sh_mirror_counts {
    uint32_t put;     /* blocks that came and were kept */
    uint32_t refused; /* that came and were not what they should be */
    uint32_t damaged; /* that were on disk and were not what they should be */
} sh_mirror_counts;

/*
 * Opens the mirror of `manifest`, which is taken over (owned) also on failure. Blocking: makes room
 * for it on the disk (cache.h). `*mirror` is owned: close it, or its data set. Fails as
 * sh_mirror_cache_open does.
 */
sh_status sh_mirror_open(sh_mirror **mirror, sh_manifest *manifest,
                         const sh_mirror_options *options) SHOAL_CHECKED;

/* Borrowed until the mirror is closed. */
const sh_manifest *sh_mirror_manifest(const sh_mirror *mirror);

/* Whether a block is here, as far as its mark says: one from an earlier process may still turn out
 * to be damaged, and is then wanted. */
bool sh_mirror_has(sh_mirror *mirror, uint32_t block);

/* How many are not, in the same sense. */
uint32_t sh_mirror_missing(sh_mirror *mirror);

sh_mirror_counts sh_mirror_counted(sh_mirror *mirror);

/*
 * Checks a block (any number, any bytes), keeps it and wakes its readers. One that is here
 * already is fine. Fails with SH_CORRUPT (no such block, or other bytes than the manifest says: ask
 * somebody else), SH_NO_SPACE (names the folder, what is needed and what there is), SH_IO.
 */
sh_status sh_mirror_put(sh_mirror *mirror, uint32_t block, const uint8_t *bytes,
                        size_t count) SHOAL_CHECKED;

/*
 * Reads bytes of a file, all within the contents; waits for blocks that are not here. Fails with
 * what sh_mirror_fail said, and SH_IO.
 */
sh_status sh_mirror_read(sh_mirror *mirror, uint32_t file, uint64_t offset, uint8_t *bytes,
                         size_t count) SHOAL_CHECKED;

/* Checks what is here of them and brings it into the system's page cache; wants the rest soon.
 * Whether all is here. Does not wait for blocks. */
bool sh_mirror_touch(sh_mirror *mirror, uint32_t file, uint64_t offset, size_t count);

/* No more blocks will come: reads that wait for one, and later reads that miss one, fail with
 * `status` (not SH_OK) and `reason` (copied). The first failure stays. */
void sh_mirror_fail(sh_mirror *mirror, sh_status status, const char *reason);

/*
 * The mirror as a data set: closing the set closes the mirror. It reads samples from where the
 * manifest says that they lie, and opens without a single block. Its contents can be read too
 * (contents.h), as far as they are here, so that it serves others in turn.
 */
sh_dataset *sh_mirror_dataset(sh_mirror *mirror);

/* Wakes nobody: first end the readers. NULL is fine. */
void sh_mirror_close(sh_mirror *mirror);

#endif
