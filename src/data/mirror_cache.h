/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a mirror in the cache folder, and the disk space of all mirrors.
 *
 * CACHE/mirrors/ROOT (the manifest's root) contains
 *
 *     content     the blocks, block b at b * block_bytes; sparse where missing
 *     marks       one byte per block: 1 if present
 *     lock        flock()ed, shared, by every process with the mirror open; its modification time
 *                 is the last use
 *
 * CACHE/mirrors/lock is held while mirrors are opened or removed. Without a writable cache folder,
 * content and marks are unnamed files that vanish on close.
 *
 * Threads: one per cache; any number of caches may open one mirror, also in other processes.
 */
#ifndef SHOAL_DATA_MIRROR_CACHE_H
#define SHOAL_DATA_MIRROR_CACHE_H

#include "base/cache.h"
#include "data/manifest.h"

typedef struct sh_mirror_cache {
    int content, marks;
    int lock;                 /* -1 if unnamed */
    char path[SH_CACHE_PATH]; /* folder of all mirrors; for messages */
    char root[SH_DIGEST_TEXT];
} sh_mirror_cache;

static inline uint64_t sh_mirror_cache_offset(const sh_manifest *manifest, uint32_t block)
{
    return (uint64_t)block * manifest->block_bytes;
}

/*
 * Opens or creates `content` and `marks` at full size. Removes the least recently used mirrors
 * that no process has open until all contents are within `limit_bytes` (0: no limit) and the rest
 * of the data set fits on the disk. If impossible, removes nothing and fails with SH_NO_SPACE,
 * naming the folder, bytes needed and available. Also fails with SH_PERMISSION, SH_IO.
 */
sh_status sh_mirror_cache_open(sh_mirror_cache *cache, const sh_manifest *manifest,
                               uint64_t limit_bytes) SHOAL_CHECKED;

/* After a write found the disk full, with `missing_bytes` to come: removes the least recently used
 * mirror that no process has open. SH_NO_SPACE: none. */
sh_status sh_mirror_cache_make_room(const sh_mirror_cache *cache,
                                    uint64_t missing_bytes) SHOAL_CHECKED;

/* Records the last use. Descriptors may be -1. */
void sh_mirror_cache_close(sh_mirror_cache *cache);

#endif
