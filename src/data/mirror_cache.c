/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mirror is *busy* (open in a process) or *idle*. Busy ones count with full size, idle ones with
 * allocated size.
 *
 * All but block I/O holds the folder's lock, so an idle mirror stays idle until removed. An
 * interrupted removal leaves a valid mirror with fewer files.
 */
#include "data/mirror_cache.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "data/extent.h"

#define FOLDER "mirrors"
#define LOCK "lock"
#define CONTENT "content"
#define MARKS "marks"
#define ROOT_DIGITS (SH_DIGEST_TEXT - 1)
#define SECTOR 512 /* unit of st_blocks */

/* The folder of mirrors, locked. */
typedef struct mirrors {
    int folder, lock;
} mirrors;

typedef struct other {
    char root[SH_DIGEST_TEXT];
    struct timespec used;
    uint64_t bytes;
    bool busy;
} other;

typedef struct others {
    other *items;
    size_t count, capacity;
    uint64_t busy_bytes, idle_bytes;
} others;

static void mirrors_close(mirrors *all)
{
    close(all->lock);
    close(all->folder);
}

static SHOAL_CHECKED sh_status fail_others(const char *path, const char *name)
{
    return sh_fail(SH_REFUSED,
                   "%s/%s: another user owns it or can write it: remove it, or make it private "
                   "with chown and chmod go-w",
                   path, name);
}

/* Waits for the lock. `*none`: no cache. */
static sh_status mirrors_open(mirrors *all, char path[SH_CACHE_PATH], bool *none)
{
    char cache_path[SH_CACHE_PATH];
    const int cache = sh_cache_open(cache_path);
    *none = cache < 0;
    if (cache < 0)
        return SH_OK;
    const int length = snprintf(path, SH_CACHE_PATH, "%s/" FOLDER, cache_path);
    const int folder = sh_cache_folder(cache, cache_path, FOLDER);
    const int error = errno;
    close(cache);
    if (folder < 0 && error == EPERM)
        return fail_others(cache_path, FOLDER);
    if (folder < 0 || length < 0 || length >= SH_CACHE_PATH)
        return sh_fail_errno(folder < 0 ? error : ENAMETOOLONG,
                             "%s/" FOLDER ": cannot make or open it", cache_path);
    const int lock = sh_cache_lock(folder, LOCK_EX);
    if (lock < 0) {
        const int why = errno;
        close(folder);
        return sh_fail_errno(why, "%s/" LOCK ": cannot lock it", path);
    }
    *all = (mirrors){folder, lock};
    return SH_OK;
}

static void remove_mirror(int folder, const char *root)
{
    static const char *const files[] = {MARKS, CONTENT, LOCK};
    const int mirror = openat(folder, root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (mirror < 0)
        return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlinkat(mirror, files[i], 0);
    close(mirror);
    (void)unlinkat(folder, root, AT_REMOVEDIR);
}

static sh_status list_others(others *list, int folder, const char *root)
{
    DIR *entries = sh_cache_list(folder);
    if (entries == NULL)
        return sh_fail_errno(errno, "cannot list it");
    sh_status status = SH_OK;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (strlen(name) != ROOT_DIGITS || strspn(name, "0123456789abcdef") != ROOT_DIGITS ||
            strcmp(name, root) == 0)
            continue;
        void *items = list->items;
        SH_TRY_DONE(sh_array_grow(&items, &list->capacity, list->count + 1, sizeof *list->items));
        list->items = items;
        other found = {.busy = false};
        memcpy(found.root, name, SH_DIGEST_TEXT);
        const int mirror = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        struct stat about;
        if (mirror >= 0) {
            if (fstatat(mirror, LOCK, &about, AT_SYMLINK_NOFOLLOW) == 0)
                found.used = about.st_mtim;
            const int lock = openat(mirror, LOCK, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
            if (lock >= 0) {
                found.busy = flock(lock, LOCK_EX | LOCK_NB) != 0;
                close(lock);
            }
            if (fstatat(mirror, CONTENT, &about, AT_SYMLINK_NOFOLLOW) == 0)
                found.bytes = found.busy ? (uint64_t)about.st_size
                                         : (uint64_t)about.st_blocks * (uint64_t)SECTOR;
            close(mirror);
        }
        list->items[list->count++] = found;
        *(found.busy ? &list->busy_bytes : &list->idle_bytes) += found.bytes;
    }
done:
    closedir(entries);
    return status;
}

static other *oldest(const others *list)
{
    other *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        other *o = &list->items[i];
        if (!o->busy &&
            (found == NULL || o->used.tv_sec < found->used.tv_sec ||
             (o->used.tv_sec == found->used.tv_sec && o->used.tv_nsec < found->used.tv_nsec)))
            found = o;
    }
    return found;
}

static void remove_other(others *list, int folder, other *o)
{
    assert(list->items != NULL && list->count > 0);
    sh_log(SH_LOG_INFO, "data.mirror_removed", "root=%.16s bytes=%" PRIu64, o->root, o->bytes);
    remove_mirror(folder, o->root);
    list->idle_bytes -= o->bytes;
    *o = list->items[--list->count];
}

static uint64_t free_bytes(int folder)
{
    struct statvfs about;
    if (fstatvfs(folder, &about) != 0)
        return UINT64_MAX; /* writing reports the error */
    return (uint64_t)about.f_bavail * about.f_frsize;
}

static sh_status fail_limit(const char *path, uint64_t all, uint64_t limit_bytes,
                            uint64_t busy_bytes)
{
    return sh_fail(SH_NO_SPACE,
                   "%s: the data set needs %" PRIu64 " bytes, the cache is limited to %" PRIu64
                   " and mirrors in use take %" PRIu64 "; raise --cache",
                   path, all, limit_bytes, busy_bytes);
}

static sh_status fail_disk(const char *path, uint64_t needed, uint64_t available)
{
    return sh_fail(SH_NO_SPACE,
                   "%s: the disk is too full for the data set: %" PRIu64
                   " more bytes are needed, %" PRIu64
                   " are free; make room there, or name another folder with XDG_CACHE_HOME",
                   path, needed, available);
}

static sh_status make_room(const sh_mirror_cache *cache, int folder, uint64_t all,
                           uint64_t limit_bytes)
{
    struct stat about;
    if (fstat(cache->content, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot examine the mirror", cache->path);
    const uint64_t held = (uint64_t)about.st_blocks * SECTOR, missing = all > held ? all - held : 0;
    const char *path = cache->path;
    others list = {0};
    sh_status status;
    SH_TRY_DONE(sh_fail_in(list_others(&list, folder, cache->root), "%s", path));
    if (limit_bytes > 0 && (all > limit_bytes || list.busy_bytes > limit_bytes - all))
        SH_TRY_DONE(fail_limit(path, all, limit_bytes, list.busy_bytes));
    uint64_t available = free_bytes(folder);
    if (missing > available && missing - available > list.idle_bytes)
        SH_TRY_DONE(fail_disk(path, missing, available + list.idle_bytes));
    while (missing > available ||
           (limit_bytes > 0 && list.idle_bytes > limit_bytes - all - list.busy_bytes)) {
        other *o = oldest(&list);
        if (o == NULL)
            SH_TRY_DONE(fail_disk(path, missing, available));
        remove_other(&list, folder, o);
        available = free_bytes(folder);
    }
done:
    free(list.items);
    return status;
}

/* Drops marks of another size. */
static sh_status size_files(const sh_mirror_cache *cache, const sh_manifest *manifest)
{
    struct stat about;
    if (fstat(cache->marks, &about) != 0 ||
        (about.st_size != (off_t)manifest->blocks && ftruncate(cache->marks, 0) != 0) ||
        ftruncate(cache->marks, (off_t)manifest->blocks) != 0 ||
        ftruncate(cache->content, (off_t)sh_mirror_cache_offset(manifest, manifest->blocks)) != 0)
        return sh_fail_errno(errno, "%s: cannot make the mirror", cache->path);
    return SH_OK;
}

/* On failure `cache` has the files already open. */
static sh_status open_named(sh_mirror_cache *cache, int folder, const sh_manifest *manifest,
                            uint64_t limit_bytes)
{
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    const bool made = mkdirat(folder, cache->root, 0700) == 0;
    if (!made && errno != EEXIST)
        return sh_fail_errno(errno, "%s: cannot make the mirror", cache->path);
    const int mirror = sh_cache_folder(folder, cache->path, cache->root);
    if (mirror < 0)
        return errno == EPERM ? fail_others(cache->path, cache->root)
                              : sh_fail_errno(errno, "%s: cannot open the mirror", cache->path);
    sh_status status;
    cache->lock = sh_cache_lock(mirror, LOCK_SH);
    if (cache->lock >= 0)
        cache->content = openat(mirror, CONTENT, flags, 0600);
    if (cache->content >= 0)
        cache->marks = openat(mirror, MARKS, flags, 0600);
    if (cache->marks < 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot make the mirror", cache->path));
    SH_TRY_DONE(make_room(cache, folder, manifest->content_bytes, limit_bytes));
    status = size_files(cache, manifest);
done:
    close(mirror);
    if (status != SH_OK && made)
        remove_mirror(folder, cache->root);
    return status;
}

static sh_status open_unnamed(sh_mirror_cache *cache, const sh_manifest *manifest,
                              uint64_t limit_bytes)
{
    const char *folder = NULL;
    if (limit_bytes > 0 && manifest->content_bytes > limit_bytes)
        return fail_limit("the cache", manifest->content_bytes, limit_bytes, 0);
    SH_TRY(sh_cache_unnamed(&cache->content, &folder, "the copy of the data set"));
    SH_TRY(sh_cache_unnamed(&cache->marks, &folder, "the copy of the data set"));
    snprintf(cache->path, sizeof cache->path, "%s", folder);
    const uint64_t available = free_bytes(cache->content);
    if (manifest->content_bytes > available)
        return fail_disk(cache->path, manifest->content_bytes, available);
    sh_log(SH_LOG_WARN, "data.cache_missing",
           "bytes=%" PRIu64 " folder=%s remedy=\"set XDG_CACHE_HOME to a folder of yours\"",
           manifest->content_bytes, folder);
    return size_files(cache, manifest);
}

sh_status sh_mirror_cache_open(sh_mirror_cache *cache, const sh_manifest *manifest,
                               uint64_t limit_bytes)
{
    sh_mirror_cache fresh = {.content = -1, .marks = -1, .lock = -1};
    memcpy(fresh.root, manifest->root, sizeof fresh.root);
    mirrors all;
    bool none;
    SH_TRY(mirrors_open(&all, fresh.path, &none));
    sh_status status;
    if (none) {
        status = open_unnamed(&fresh, manifest, limit_bytes);
    } else {
        status = open_named(&fresh, all.folder, manifest, limit_bytes);
        mirrors_close(&all);
    }
    if (status != SH_OK) {
        sh_mirror_cache_close(&fresh);
        return status;
    }
    if (fresh.lock >= 0)
        (void)futimens(fresh.lock, NULL);
    *cache = fresh;
    return SH_OK;
}

sh_status sh_mirror_cache_make_room(const sh_mirror_cache *cache, uint64_t missing_bytes)
{
    mirrors all;
    char path[SH_CACHE_PATH];
    bool none = cache->lock < 0;
    if (!none)
        SH_TRY(mirrors_open(&all, path, &none));
    if (none)
        return fail_disk(cache->path, missing_bytes, free_bytes(cache->content));
    others list = {0};
    sh_status status;
    SH_TRY_DONE(sh_fail_in(list_others(&list, all.folder, cache->root), "%s", path));
    other *o = oldest(&list);
    if (o == NULL)
        SH_TRY_DONE(fail_disk(path, missing_bytes, free_bytes(all.folder)));
    remove_other(&list, all.folder, o);
done:
    free(list.items);
    mirrors_close(&all);
    return status;
}

void sh_mirror_cache_close(sh_mirror_cache *cache)
{
    if (cache->content >= 0)
        close(cache->content);
    if (cache->marks >= 0)
        close(cache->marks);
    if (cache->lock >= 0) {
        (void)futimens(cache->lock, NULL);
        close(cache->lock);
    }
    cache->content = cache->marks = cache->lock = -1;
}
