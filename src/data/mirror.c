/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block is *missing*, *marked* (present by its mark on disk) or *good* (verified by this
 * process).
 *
 *     missing --put: digest right, bytes written, then the mark--> good
 *     missing --marked by another process--> marked
 *     marked  --digest right--> good
 *     marked  --digest wrong--> missing (damaged); its mark is cleared
 *
 * Bytes are written before the mark, which is one byte, so neither a kill nor another process that
 * writes the same block leaves a mark without bytes. A power failure may, because blocks are not
 * synced: on a card that takes longer than receiving them. So marked blocks are verified before
 * their first use.
 *
 * Good blocks are read without the lock. The state is checked again after `want`, for a block that
 * arrives meanwhile.
 */
#include "data/mirror.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "data/dataset_impl.h"
#include "data/extent.h"
#include "data/mirror_cache.h"

enum {
    MISSING = 0,
    MARKED = 1,
    GOOD = 2,
    STATE = 3,      /* mask of these three */
    ASKED_SOON = 4, /* `want` was called with false */
    ASKED_NOW = 8,
};

struct sh_mirror {
    sh_dataset base; /* first: the mirror is its data set */
    sh_manifest *manifest;
    sh_mirror_cache cache;
    sh_mirror_want_fn *want;
    void *context;
    pthread_mutex_t lock; /* guards states and all below */
    pthread_cond_t news;  /* a block is good, or none will arrive */
    _Atomic uint8_t *states;
    uint32_t missing;
    sh_mirror_counts counts;
    sh_status failed; /* SH_OK while blocks may arrive */
    char reason[SH_MESSAGE_BYTES];
};

static uint8_t state_of(const sh_mirror *mirror, uint32_t block)
{
    return atomic_load_explicit(&mirror->states[block], memory_order_acquire) & STATE;
}

/* Needs the lock. Also clears the ASKED bits. */
static void set_state(sh_mirror *mirror, uint32_t block, uint8_t state)
{
    const uint8_t old = state_of(mirror, block);
    if (old == MISSING && state != MISSING)
        mirror->missing--;
    else if (old != MISSING && state == MISSING)
        mirror->missing++;
    atomic_store_explicit(&mirror->states[block], state, memory_order_release);
}

/* Needs the lock. Checks whether another process has put the block. */
static void look(sh_mirror *mirror, uint32_t block)
{
    uint8_t mark;
    size_t got;
    if (state_of(mirror, block) == MISSING &&
        sh_extent_read(&got, mirror->cache.marks, block, &mark, 1) == SH_OK && got == 1 &&
        mark == 1)
        set_state(mirror, block, MARKED);
}

static const sh_dataset_ops mirror_ops;

sh_status sh_mirror_open(sh_mirror **mirror, sh_manifest *manifest,
                         const sh_mirror_options *options)
{
    sh_mirror *fresh = calloc(1, sizeof *fresh);
    _Atomic uint8_t *states = calloc(manifest->blocks, sizeof *states);
    if (fresh == NULL || states == NULL) {
        free(fresh);
        free((void *)states);
        sh_manifest_free(manifest);
        return sh_fail_memory(sizeof *fresh, "the mirror of the data");
    }
    fresh->base.ops = &mirror_ops;
    fresh->base.info = manifest->info;
    fresh->base.contents = &manifest->contents;
    fresh->manifest = manifest;
    fresh->states = states;
    fresh->missing = manifest->blocks;
    fresh->want = options->want;
    fresh->context = options->context;
    fresh->cache = (sh_mirror_cache){.content = -1, .marks = -1, .lock = -1};
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->news, NULL);
    uint8_t *marks = NULL;
    sh_status status;
    SH_TRY_DONE(sh_mirror_cache_open(&fresh->cache, manifest, options->limit_bytes));
    marks = malloc(manifest->blocks);
    if (marks == NULL)
        SH_TRY_DONE(sh_fail_memory(manifest->blocks, "the marks of the mirror"));
    SH_TRY_DONE(sh_fail_in(sh_extent_read_all(fresh->cache.marks, 0, marks, manifest->blocks), "%s",
                           fresh->cache.path));
    for (uint32_t i = 0; i < manifest->blocks; i++)
        if (marks[i] == 1)
            set_state(fresh, i, MARKED);
    sh_log(SH_LOG_INFO, "data.mirror", "folder=\"%s\" root=%.16s blocks=%u missing=%u",
           fresh->cache.path, manifest->root, manifest->blocks, fresh->missing);
    *mirror = fresh;
done:
    free(marks);
    if (status != SH_OK)
        sh_mirror_close(fresh);
    return status;
}

const sh_manifest *sh_mirror_manifest(const sh_mirror *mirror)
{
    return mirror->manifest;
}

bool sh_mirror_has(sh_mirror *mirror, uint32_t block)
{
    if (state_of(mirror, block) == GOOD)
        return true;
    pthread_mutex_lock(&mirror->lock);
    look(mirror, block);
    const bool has = state_of(mirror, block) != MISSING;
    pthread_mutex_unlock(&mirror->lock);
    return has;
}

uint32_t sh_mirror_missing(sh_mirror *mirror)
{
    pthread_mutex_lock(&mirror->lock);
    const uint32_t missing = mirror->missing;
    pthread_mutex_unlock(&mirror->lock);
    return missing;
}

sh_mirror_counts sh_mirror_counted(sh_mirror *mirror)
{
    pthread_mutex_lock(&mirror->lock);
    const sh_mirror_counts counts = mirror->counts;
    pthread_mutex_unlock(&mirror->lock);
    return counts;
}

static sh_status write_block(const sh_mirror *mirror, uint32_t block, const uint8_t *bytes,
                             size_t count)
{
    static const uint8_t mark = 1;
    const sh_mirror_cache *cache = &mirror->cache;
    SH_TRY(sh_extent_write(cache->content, sh_mirror_cache_offset(mirror->manifest, block), bytes,
                           count));
    return sh_extent_write(cache->marks, block, &mark, 1);
}

sh_status sh_mirror_put(sh_mirror *mirror, uint32_t block, const uint8_t *bytes, size_t count)
{
    const sh_status verified = block < mirror->manifest->blocks
                                   ? sh_manifest_verify(mirror->manifest, block, bytes, count)
                                   : sh_fail(SH_CORRUPT, "block %u was not requested: there are %u",
                                             block, mirror->manifest->blocks);
    if (verified != SH_OK) {
        pthread_mutex_lock(&mirror->lock);
        mirror->counts.refused++;
        pthread_mutex_unlock(&mirror->lock);
        return verified;
    }
    if (state_of(mirror, block) == GOOD)
        return SH_OK;
    sh_status status = write_block(mirror, block, bytes, count);
    while (status == SH_NO_SPACE) { /* removes other mirrors in turn */
        const uint64_t missing =
            sh_mirror_missing(mirror) * (uint64_t)mirror->manifest->block_bytes;
        SH_TRY(sh_mirror_cache_make_room(&mirror->cache, missing));
        status = write_block(mirror, block, bytes, count);
    }
    SH_TRY(sh_fail_in(status, "%s: block %u of the mirror", mirror->cache.path, block));
    pthread_mutex_lock(&mirror->lock);
    set_state(mirror, block, GOOD);
    mirror->counts.put++;
    pthread_cond_broadcast(&mirror->news);
    pthread_mutex_unlock(&mirror->lock);
    return SH_OK;
}

/* Verifies a marked block. Needs the lock, but releases it meanwhile. */
static sh_status examine(sh_mirror *mirror, uint32_t block)
{
    static const uint8_t none = 0;
    pthread_mutex_unlock(&mirror->lock);
    const sh_block about = sh_manifest_block(mirror->manifest, block);
    uint8_t *bytes = malloc(about.bytes);
    sh_status status;
    if (bytes == NULL)
        SH_TRY_DONE(sh_fail_memory(about.bytes, "a block of the data"));
    SH_TRY_DONE(sh_extent_read_all(mirror->cache.content,
                                   sh_mirror_cache_offset(mirror->manifest, block), bytes,
                                   about.bytes));
    status = sh_manifest_verify(mirror->manifest, block, bytes, about.bytes);
done:
    free(bytes);
    const bool damaged = status == SH_CORRUPT || status == SH_IO;
    if (damaged)
        sh_log(SH_LOG_WARN, "data.mirror_damaged", "folder=\"%s\" block=%u reason=\"%s\"",
               mirror->cache.path, block, sh_message());
    pthread_mutex_lock(&mirror->lock);
    if (state_of(mirror, block) != MARKED)
        return SH_OK; /* meanwhile put or examined */
    if (status == SH_OK) {
        set_state(mirror, block, GOOD);
        pthread_cond_broadcast(&mirror->news);
    } else if (damaged) {
        status = sh_fail_in(sh_extent_write(mirror->cache.marks, block, &none, 1), "%s",
                            mirror->cache.path);
        mirror->counts.damaged++;
        set_state(mirror, block, MISSING);
    }
    return status;
}

/* False if asked before. Needs the lock, but releases it meanwhile. */
static bool ask(sh_mirror *mirror, uint32_t block, bool now)
{
    const uint8_t state = atomic_load(&mirror->states[block]);
    const uint8_t asked = now ? ASKED_NOW : ASKED_SOON;
    if ((state & (now ? ASKED_NOW : ASKED_NOW | ASKED_SOON)) != 0 || mirror->want == NULL)
        return false;
    atomic_store(&mirror->states[block], (uint8_t)(state | asked));
    pthread_mutex_unlock(&mirror->lock);
    mirror->want(mirror->context, block, now);
    pthread_mutex_lock(&mirror->lock);
    return true;
}

static sh_status await(sh_mirror *mirror, uint32_t block)
{
    if (state_of(mirror, block) == GOOD)
        return SH_OK;
    sh_status status = SH_OK;
    pthread_mutex_lock(&mirror->lock);
    while (status == SH_OK && state_of(mirror, block) != GOOD) {
        look(mirror, block);
        if (state_of(mirror, block) == MARKED)
            status = examine(mirror, block);
        else if (mirror->failed != SH_OK)
            status = sh_fail(mirror->failed, "%s", mirror->reason);
        else if (!ask(mirror, block, true))
            pthread_cond_wait(&mirror->news, &mirror->lock);
    }
    pthread_mutex_unlock(&mirror->lock);
    return status;
}

/* The part of a range in one block. */
typedef struct piece {
    uint32_t block;
    uint64_t place; /* in the content file */
    size_t bytes;
} piece;

static piece piece_at(const sh_mirror *mirror, uint32_t file, uint64_t offset, size_t count)
{
    const sh_manifest *m = mirror->manifest;
    const uint32_t block = sh_manifest_find(m, file, offset);
    const size_t within = (size_t)(offset % m->block_bytes), left = m->block_bytes - within;
    return (piece){block, sh_mirror_cache_offset(m, block) + within, count < left ? count : left};
}

sh_status sh_mirror_read(sh_mirror *mirror, uint32_t file, uint64_t offset, uint8_t *bytes,
                         size_t count)
{
    while (count > 0) {
        const piece p = piece_at(mirror, file, offset, count);
        SH_TRY(await(mirror, p.block));
        SH_TRY(sh_fail_in(sh_extent_read_all(mirror->cache.content, p.place, bytes, p.bytes), "%s",
                          mirror->cache.path));
        bytes += p.bytes;
        offset += p.bytes;
        count -= p.bytes;
    }
    return SH_OK;
}

bool sh_mirror_touch(sh_mirror *mirror, uint32_t file, uint64_t offset, size_t count)
{
    bool all = true;
    while (count > 0) {
        const piece p = piece_at(mirror, file, offset, count);
        if (state_of(mirror, p.block) != GOOD) {
            sh_status status = SH_OK;
            pthread_mutex_lock(&mirror->lock);
            look(mirror, p.block);
            if (state_of(mirror, p.block) == MARKED)
                status = examine(mirror, p.block);
            if (status == SH_OK && state_of(mirror, p.block) == MISSING && mirror->failed == SH_OK)
                (void)ask(mirror, p.block, false);
            pthread_mutex_unlock(&mirror->lock);
        }
        all = state_of(mirror, p.block) == GOOD &&
              sh_extent_touch(mirror->cache.content, p.place, p.bytes) && all;
        offset += p.bytes;
        count -= p.bytes;
    }
    return all;
}

void sh_mirror_fail(sh_mirror *mirror, sh_status status, const char *reason)
{
    assert(status != SH_OK);
    pthread_mutex_lock(&mirror->lock);
    if (mirror->failed == SH_OK) {
        mirror->failed = status;
        snprintf(mirror->reason, sizeof mirror->reason, "%s", reason);
        pthread_cond_broadcast(&mirror->news);
    }
    pthread_mutex_unlock(&mirror->lock);
}

void sh_mirror_close(sh_mirror *mirror)
{
    if (mirror == NULL)
        return;
    sh_mirror_cache_close(&mirror->cache);
    sh_manifest_free(mirror->manifest);
    pthread_cond_destroy(&mirror->news);
    pthread_mutex_destroy(&mirror->lock);
    free((void *)mirror->states);
    free(mirror);
}

/* ---- the data set ---- */

static sh_status set_read_target(const sh_dataset *dataset, sh_split split, uint32_t index,
                                 void *target)
{
    sh_mirror *mirror = (sh_mirror *)dataset;
    const sh_contents *contents = dataset->contents;
    const sh_contents_place *mark = &contents->target[split];
    const sh_dataset_info *info = &dataset->info;
    uint8_t class, *stored = contents->target_bytes == 1 ? &class : target;
    if (contents->target_bytes == 0)
        return SH_OK;
    SH_TRY(sh_mirror_read(mirror, mark->file, sh_contents_offset(mark, index), stored,
                          contents->target_bytes));
    return sh_fail_in(sh_contents_target(target, contents, info, stored), "%s: %s sample %u",
                      info->name, sh_split_name(split), index);
}

static sh_status set_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                          void *target)
{
    const sh_contents_place *place = &dataset->contents->sample[split];
    SH_TRY(set_read_target(dataset, split, index, target));
    return sh_mirror_read((sh_mirror *)dataset, place->file, sh_contents_offset(place, index),
                          sample, sh_dataset_bytes(&dataset->info));
}

static bool set_touch(const sh_dataset *dataset, sh_split split, uint32_t index)
{
    sh_mirror *mirror = (sh_mirror *)dataset;
    const sh_contents *contents = dataset->contents;
    const sh_contents_place *place = &contents->sample[split], *mark = &contents->target[split];
    const bool marked = contents->target_bytes == 0 ||
                        sh_mirror_touch(mirror, mark->file, sh_contents_offset(mark, index),
                                        contents->target_bytes);
    return sh_mirror_touch(mirror, place->file, sh_contents_offset(place, index),
                           sh_dataset_bytes(&dataset->info)) &&
           marked;
}

/* Fails instead of waiting: other devices have other sources. */
static sh_status set_fetch(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                           uint8_t *bytes, size_t count)
{
    sh_mirror *mirror = (sh_mirror *)dataset;
    if (!sh_mirror_touch(mirror, file, offset, count))
        return sh_fail(SH_NOT_FOUND, "byte %" PRIu64 " of %s has not arrived yet", offset,
                       dataset->contents->file[file].name);
    return sh_mirror_read(mirror, file, offset, bytes, count);
}

static void set_close(sh_dataset *dataset)
{
    sh_mirror_close((sh_mirror *)dataset);
}

static const sh_dataset_ops mirror_ops = {
    .read = set_read,
    .read_target = set_read_target,
    .touch = set_touch,
    .fetch = set_fetch,
    .close = set_close,
};

sh_dataset *sh_mirror_dataset(sh_mirror *mirror)
{
    return &mirror->base;
}
