/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in the cache folder:
 *
 *     PATH-VERSION-BYTES-CONTENT    a copy: digest of the real path, digest of (size, modification
 *                                   time, inode), size of the content in decimal, its SHA-256
 *     unpacking.tmp                 the copy being made
 *     lock                          flock()ed by the process that makes one
 *
 * A copy gets its name after syncing and gzip's own CRC check. Only the lock's holder writes, so a
 * temporary file that it finds is from a killed process. Readers need no lock: copies are
 * immutable, and readable while open even if removed.
 */
#include "data/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cache.h"
#include "base/digest.h"
#include "base/log.h"
#include "data/extent.h"
#include "data/verified.h"

#define BUFFER_BYTES 65536
#define PATH_DIGITS 16 /* 64 bits */
#define VERSION_DIGITS 16
#define NAME_BYTES (PATH_DIGITS + VERSION_DIGITS + 32 + SH_DIGEST_TEXT)
#define TEMPORARY "unpacking.tmp"

/* The prefix "PATH-VERSION-". */
typedef struct identity {
    char text[PATH_DIGITS + 1 + VERSION_DIGITS + 1 + 1];
} identity;

typedef struct inflater {
    z_stream stream;
    sh_digest *digest;
    uint64_t read_bytes, written_bytes;
    unsigned char in[BUFFER_BYTES], out[BUFFER_BYTES];
} inflater;

static sh_status write_all(int to, const unsigned char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t done = write(to, bytes, count);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return sh_fail_errno(errno, "cannot write its unpacked copy");
        bytes += done;
        count -= (size_t)done;
    }
    return SH_OK;
}

/* `*more`: false at the end of the input. */
static sh_status refill(inflater *z, int from, bool *more)
{
    *more = true;
    if (z->stream.avail_in > 0)
        return SH_OK;
    size_t got;
    SH_TRY(sh_extent_read(&got, from, z->read_bytes, z->in, sizeof z->in));
    z->stream.next_in = z->in;
    z->stream.avail_in = (uInt)got;
    z->read_bytes += got;
    *more = got > 0;
    return SH_OK;
}

static sh_status inflate_member(inflater *z, int from, int to, uint64_t limit_bytes)
{
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        bool more;
        SH_TRY(refill(z, from, &more));
        if (!more)
            return sh_fail(SH_CORRUPT,
                           "is cut off: it ends after %" PRIu64 " bytes, before its content does; "
                           "copy or download it again",
                           z->read_bytes);
        z->stream.next_out = z->out;
        z->stream.avail_out = sizeof z->out;
        code = inflate(&z->stream, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return sh_fail(SH_NO_MEMORY, "not enough memory to unpack it");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return z->stream.total_in < 4 && z->written_bytes == 0
                       ? sh_fail(SH_FORMAT, "is not a gzip file; copy or download it again")
                       : sh_fail(SH_CORRUPT,
                                 "is damaged at byte %" PRIu64 " (%s); copy or download it again",
                                 z->read_bytes - z->stream.avail_in,
                                 z->stream.msg != NULL ? z->stream.msg : "malformed");
        const size_t fresh = sizeof z->out - z->stream.avail_out;
        z->written_bytes += fresh;
        if (z->written_bytes > limit_bytes)
            return sh_fail(SH_LIMIT, "unpacks to more than the limit of %" PRIu64 " bytes",
                           limit_bytes);
        sh_digest_add(z->digest, z->out, fresh);
        SH_TRY(write_all(to, z->out, fresh));
    }
    return SH_OK;
}

/* Consecutive members are one content (RFC 1952, 2.2); other trailing bytes are refused. */
static sh_status unpack(int from, int to, uint64_t limit_bytes, uint64_t *bytes,
                        char digest[SH_DIGEST_TEXT])
{
    inflater *z = calloc(1, sizeof *z);
    if (z == NULL)
        return sh_fail_memory(sizeof *z, "unpacking");
    sh_status status = sh_digest_new(&z->digest);
    if (status != SH_OK) {
        free(z);
        return status;
    }
    if (inflateInit2(&z->stream, 16 + MAX_WBITS) != Z_OK) /* 16: only gzip */
        SH_TRY_DONE(sh_fail_memory(sizeof *z, "unpacking"));
    for (bool more = true; more;) {
        if (inflateReset(&z->stream) != Z_OK)
            SH_TRY_DONE(sh_fail(SH_INTERNAL, "the unpacker cannot be reset"));
        SH_TRY_DONE(inflate_member(z, from, to, limit_bytes));
        SH_TRY_DONE(refill(z, from, &more));
        if (more && z->stream.next_in[0] != 0x1f)
            SH_TRY_DONE(sh_fail(SH_CORRUPT, "has other bytes after its end, at byte %" PRIu64,
                                z->read_bytes - z->stream.avail_in));
    }
    *bytes = z->written_bytes;
done:
    inflateEnd(&z->stream); /* harmless if uninitialised */
    const sh_status finished = sh_digest_finish(z->digest, digest);
    free(z);
    SH_TRY(status);
    return finished;
}

static sh_status digest_of(char hex[SH_DIGEST_TEXT], const void *bytes, size_t count)
{
    uint8_t digest[SH_DIGEST_BYTES];
    SH_TRY(sh_digest_block(digest, bytes, count));
    sh_digest_print(hex, digest);
    return SH_OK;
}

static sh_status identify(identity *id, const char *path, const struct stat *about)
{
    char *real = realpath(path, NULL);
    if (real == NULL)
        return sh_fail_errno(errno, "cannot resolve its path");
    char place[SH_DIGEST_TEXT], version[SH_DIGEST_TEXT];
    const sh_status status = digest_of(place, real, strlen(real));
    free(real);
    SH_TRY(status);
    const int64_t facts[] = {(int64_t)about->st_size, (int64_t)about->st_mtim.tv_sec,
                             (int64_t)about->st_mtim.tv_nsec, (int64_t)about->st_ino};
    SH_TRY(digest_of(version, facts, sizeof facts));
    snprintf(id->text, sizeof id->text, "%.*s-%.*s-", PATH_DIGITS, place, VERSION_DIGITS, version);
    return SH_OK;
}

/* -1 unless the content matches the name. */
static int copy_open(int cache, const char *name)
{
    char *end;
    const char *digest = strrchr(name, '-') + 1, *bytes = name + PATH_DIGITS + VERSION_DIGITS + 2;
    const unsigned long long count = strtoull(bytes, &end, 10);
    const int fd = openat(cache, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (fd < 0)
        return -1;
    if (*end == '-' && end + 1 == digest && strlen(digest) == SH_DIGEST_TEXT - 1 &&
        fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size >= 0 &&
        (unsigned long long)about.st_size == count) {
        if (sh_verified_check(&(sh_verified){.fd = fd, .digest = digest}) == SH_OK)
            return fd;
        sh_log(SH_LOG_WARN, "data.remade", "file=%s reason=\"%s\"", name, sh_message());
    }
    close(fd);
    return -1;
}

/* `tidy` removes invalid and outdated copies of the same path. -1: none. */
static int cache_find(int cache, const identity *id, bool tidy)
{
    DIR *folder = sh_cache_list(cache);
    if (folder == NULL)
        return -1;
    int found = -1;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (strncmp(entry->d_name, id->text, PATH_DIGITS + 1) != 0)
            continue;
        int copy = -1;
        if (found < 0 && strncmp(entry->d_name, id->text, strlen(id->text)) == 0)
            copy = copy_open(cache, entry->d_name);
        if (copy >= 0)
            found = copy;
        else if (tidy)
            (void)unlinkat(cache, entry->d_name, 0);
    }
    closedir(folder);
    return found;
}

/* Needs the lock. If the cache is not writable, leaves `*fd`. */
static sh_status cache_fill(int *fd, int cache, const identity *id, int from, uint64_t limit_bytes)
{
    (void)unlinkat(cache, TEMPORARY, 0);
    const int copy = openat(cache, TEMPORARY, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (copy < 0)
        return errno == ENOSPC || errno == EDQUOT
                   ? sh_fail_errno(errno, "cannot make its unpacked copy in the cache")
                   : SH_OK;
    uint64_t bytes = 0;
    char name[NAME_BYTES], digest[SH_DIGEST_TEXT];
    sh_status status;
    SH_TRY_DONE(unpack(from, copy, limit_bytes, &bytes, digest));
    if (fsync(copy) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "cannot write its unpacked copy"));
    snprintf(name, sizeof name, "%s%" PRIu64 "-%s", id->text, bytes, digest);
    if (renameat(cache, TEMPORARY, cache, name) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "cannot name its unpacked copy"));
    (void)fsync(cache); /* a name lost by power failure is made again */
    *fd = copy;
    return SH_OK;
done:
    (void)unlinkat(cache, TEMPORARY, 0);
    close(copy);
    return status;
}

static sh_status open_unnamed(int *fd, int from, uint64_t limit_bytes)
{
    int copy;
    const char *folder;
    SH_TRY(sh_cache_unnamed(&copy, &folder, "its unpacked copy"));
    uint64_t bytes;
    char digest[SH_DIGEST_TEXT];
    const sh_status status = unpack(from, copy, limit_bytes, &bytes, digest);
    if (status != SH_OK) {
        close(copy);
        return status;
    }
    sh_log(SH_LOG_WARN, "data.cache_missing",
           "bytes=%" PRIu64 " folder=%s remedy=\"set XDG_CACHE_HOME to a folder of yours\"", bytes,
           folder);
    *fd = copy;
    return SH_OK;
}

sh_status sh_unpack_open(int *fd, const char *path, uint64_t limit_bytes)
{
    const int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (from < 0)
        return sh_fail_errno(errno, "%s: cannot open it", path);
    char folder[SH_CACHE_PATH];
    int cache = -1, found = -1;
    struct stat about;
    identity id;
    sh_status status;
    if (fstat(from, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "cannot examine it"));
    if (!S_ISREG(about.st_mode))
        SH_TRY_DONE(sh_fail(SH_FORMAT, "is not a regular file"));
    SH_TRY_DONE(identify(&id, path, &about));
    cache = sh_cache_open(folder);
    if (cache >= 0)
        found = cache_find(cache, &id, false);
    if (cache >= 0 && found < 0) {
        const int lock = sh_cache_lock(cache, LOCK_EX);
        if (lock >= 0)
            found = cache_find(cache, &id, true);
        if (lock >= 0 && found < 0)
            status = cache_fill(&found, cache, &id, from, limit_bytes);
        if (lock >= 0)
            close(lock); /* unlocks */
    }
    if (status == SH_OK && found < 0)
        status = open_unnamed(&found, from, limit_bytes);
    if (status == SH_OK)
        *fd = found;
done:
    if (cache >= 0)
        close(cache);
    close(from);
    return sh_fail_in(status, "%s", path);
}
