/* SPDX-License-Identifier: Apache-2.0 */
#include "data/verified.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "data/extent.h"

#define CHUNK_BYTES ((size_t)256 << 10)
#define SLOTS 256

typedef struct note {
    uint64_t offset;
    uint8_t bytes[SH_DIGEST_BYTES];
} note;

static sh_status make_note(note *made, const sh_verified *file, const struct stat *about)
{
    struct {
        int64_t numbers[8];
        char digest[SH_DIGEST_TEXT];
    } facts;
    memset(&facts, 0, sizeof facts); /* including padding */
    const int64_t numbers[] = {
        (int64_t)about->st_dev,          (int64_t)about->st_ino,
        (int64_t)about->st_size,         (int64_t)about->st_mtim.tv_sec,
        (int64_t)about->st_mtim.tv_nsec, (int64_t)about->st_ctim.tv_sec,
        (int64_t)about->st_ctim.tv_nsec, (int64_t)file->blank_at,
    };
    memcpy(facts.numbers, numbers, sizeof numbers);
    memcpy(facts.digest, file->digest, SH_DIGEST_TEXT - 1);
    made->offset = (uint64_t)about->st_ino % SLOTS * SH_DIGEST_BYTES;
    return sh_digest_block(made->bytes, &facts, sizeof facts);
}

/* -1 without a cache. */
static int open_notes(void)
{
    char path[SH_CACHE_PATH];
    const int cache = sh_cache_open(path);
    if (cache < 0)
        return -1;
    const int notes = openat(cache, "verified", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    close(cache);
    if (notes >= 0 && !sh_cache_is_own(notes)) {
        close(notes);
        return -1;
    }
    return notes;
}

static sh_status read_all(const sh_verified *file, uint64_t file_bytes, char hex[SH_DIGEST_TEXT])
{
    sh_digest *digest;
    char fresh[SH_DIGEST_TEXT];
    SH_TRY(sh_digest_new(&digest));
    uint8_t *chunk = malloc(CHUNK_BYTES);
    sh_status status = chunk == NULL ? sh_fail_memory(CHUNK_BYTES, "a digest") : SH_OK;
    for (uint64_t at = 0, count = 0; at < file_bytes && status == SH_OK; at += count) {
        count = file_bytes - at < CHUNK_BYTES ? file_bytes - at : CHUNK_BYTES;
        status = sh_extent_read_all(file->fd, at, chunk, (size_t)count);
        for (uint64_t i = 0; status == SH_OK && i < file->blank_bytes; i++)
            if (file->blank_at + i >= at && file->blank_at + i < at + count)
                chunk[file->blank_at + i - at] = 0;
        if (status == SH_OK)
            sh_digest_add(digest, chunk, (size_t)count);
    }
    free(chunk);
    const sh_status finished = sh_digest_finish(digest, fresh);
    SH_TRY(status);
    SH_TRY(finished);
    memcpy(hex, fresh, sizeof fresh);
    return SH_OK;
}

sh_status sh_verified_check(const sh_verified *file)
{
    struct stat about;
    char hex[SH_DIGEST_TEXT];
    note now, then;
    size_t got = 0;
    sh_status status;
    if (fstat(file->fd, &about) != 0)
        return sh_fail_errno(errno, "cannot be examined");
    if (!sh_cache_is_own(file->fd))
        return sh_fail(SH_REFUSED, "another user owns it or can write it; remove it, or make it "
                                   "private with chown and chmod go-w");
    const uint64_t bytes = (uint64_t)about.st_size;
    const int notes = bytes > SH_VERIFIED_ALWAYS ? open_notes() : -1;
    SH_TRY_DONE(make_note(&now, file, &about));
    const bool known =
        notes >= 0 &&
        sh_extent_read(&got, notes, now.offset, then.bytes, sizeof then.bytes) == SH_OK &&
        got == sizeof then.bytes && memcmp(then.bytes, now.bytes, sizeof now.bytes) == 0;
    if (!known)
        SH_TRY_DONE(read_all(file, bytes, hex));
    if (!known && strcmp(hex, file->digest) != 0)
        SH_TRY_DONE(
            sh_fail(SH_CORRUPT, "is damaged: its SHA-256 differs from that of the written data"));
    const bool touched =
        file->touch && futimens(file->fd, NULL) == 0 && fstat(file->fd, &about) == 0;
    if (notes < 0 || (known && !touched))
        goto done;
    SH_TRY_DONE(make_note(&now, file, &about));
    /* Without the record, the next opening reads again. */
    if (sh_extent_write(notes, now.offset, now.bytes, sizeof now.bytes) != SH_OK)
        status = SH_OK;
done:
    if (notes >= 0)
        close(notes);
    return status;
}
