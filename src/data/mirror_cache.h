/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a mirror in the cache folder, its place among the mirrors of other data sets, and
 * the room that all of them may take.
 *
 *     sh_mirror_cache cache;
 *     SH_TRY(sh_mirror_cache_open(&cache, manifest, limit_bytes));
 *     pwrite(cache.content, bytes, count, sh_mirror_cache_offset(manifest, block));
 *     pwrite(cache.marks, "\1", 1, block);
 *     sh_mirror_cache_close(&cache);
 *
 * In CACHE/mirrors/ROOT (the manifest's root) lie
 *
 *     content     the blocks, block b at b * block_bytes; sparse where they are missing
 *     marks       a byte for each block: 1 where it is there
 *     lock        flock()ed, shared, by every process that has the mirror open; its time of change
 *                 is when the mirror was last used
 *
 * and in CACHE/mirrors a `lock` that is held while mirrors are opened or removed. Where no cache
 * folder can be written, content and marks are files without a name, gone when they are closed.
 *
 * Threads: a cache is one caller's; processes and threads may open the same mirror at once.
 */
#ifndef SHOAL_DATA_MIRROR_CACHE_H
#define SHOAL_DATA_MIRROR_CACHE_H

#include "base/cache.h"
#include "data/manifest.h"

typedef struct sh_mirror_cache {
    int content, marks;
    int lock;                 /* -1 where it has no name */
    char path[SH_CACHE_PATH]; /* of the folder with all mirrors; for messages */
    char root[SH_DIGEST_TEXT];
} sh_mirror_cache;

static inline uint64_t sh_mirror_cache_offset(const sh_manifest *manifest, uint32_t block)
{
    return (uint64_t)block * manifest->block_bytes;
}

/*
 * Finds or makes the mirror's files: `content` and `marks` have their full sizes. Room is made for
 * the whole data set: the least recently used mirrors of other data sets that nobody has open go,
 * until the content of all mirrors keeps within `limit_bytes` (0: no limit) and what is missing
 * fits on the disk. Fails with SH_NO_SPACE before anything is removed where that cannot be, naming
 * the folder, what is needed and what there is; SH_PERMISSION, SH_IO.
 */
sh_status sh_mirror_cache_open(sh_mirror_cache *cache, const sh_manifest *manifest,
                               uint64_t limit_bytes) SHOAL_CHECKED;

/*
 * After a write that found the disk full, with `missing_bytes` still to come: removes the least
 * recently used mirror that nobody has open, and the write may be tried again. SH_NO_SPACE where
 * there is none.
 */
sh_status sh_mirror_cache_make_room(const sh_mirror_cache *cache,
                                    uint64_t missing_bytes) SHOAL_CHECKED;

/* Notes when it was used. A cache of which nothing is open has -1 in all three. */
void sh_mirror_cache_close(sh_mirror_cache *cache);

#endif
