/* SPDX-License-Identifier: Apache-2.0 */
#include "data/array/array_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/array/zip.h"
#include "data/extent.h"

#define CONTENT_MOST (256ull << 20) /* largest array whose content is in the digest */
#define BLOCK_BYTES 8192u
#define PASS_BYTES (1u << 18)

/* The array takes `bytes` bytes from byte `at` of array->fd, header included. */
static sh_status read_header(sh_array *array, uint64_t at, uint64_t bytes)
{
    const size_t count = bytes < SH_NPY_HEADER_MOST ? (size_t)bytes : SH_NPY_HEADER_MOST;
    uint8_t *head = malloc(count > 0 ? count : 1);
    if (head == NULL)
        return sh_fail_memory(count, "the header of an array");
    sh_status status = sh_extent_read_all(array->fd, at, head, count);
    if (status == SH_OK)
        status = sh_npy_parse(&array->header, head, count, bytes);
    free(head);
    array->at = at + array->header.data_at;
    return status;
}

static sh_status open_member(sh_array *array, const char *file, const char *archive)
{
    sh_zip_member member;
    uint64_t at;
    int inner;
    snprintf(array->name, sizeof array->name, "%.255s", archive);
    SH_TRY(sh_zip_find(&member, array->fd, array->file_bytes, file));
    snprintf(array->name, sizeof array->name, "%.63s in %.255s", file, archive);
    SH_TRY(sh_zip_open(&inner, &at, array->fd, array->file_bytes, &member));
    close(array->fd);
    array->fd = inner;
    return read_header(array, at, member.bytes);
}

/* `length` is the result of the snprintf that wrote the path. */
static sh_status open_path(sh_array *array, int length)
{
    struct stat about;
    if (length < 0 || length >= PATH_MAX)
        return sh_fail(SH_LIMIT, "its path is too long");
    array->fd = open(array->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (array->fd < 0 || fstat(array->fd, &about) != 0)
        return sh_fail_errno(errno, "cannot open it");
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_FORMAT, "is not a file");
    array->file_bytes = (uint64_t)about.st_size;
    array->changed_s = about.st_mtim.tv_sec;
    array->changed_ns = about.st_mtim.tv_nsec;
    return SH_OK;
}

static sh_status open_file(sh_array *array, const char *place, const char *name)
{
    char file[64];
    struct stat about;
    const char *last = strrchr(place, '/');
    if (stat(place, &about) != 0)
        return sh_fail_errno(errno, "cannot open it");
    const bool folder = S_ISDIR(about.st_mode);
    snprintf(file, sizeof file, "%.50s.npy", name);
    array->path = malloc(PATH_MAX);
    if (array->path == NULL)
        return sh_fail_memory(PATH_MAX, "a path");
    SH_TRY(open_path(array, snprintf(array->path, PATH_MAX, "%s%s%s", place, folder ? "/" : "",
                                     folder ? file : "")));
    if (!folder)
        return open_member(array, file, last == NULL ? place : last + 1);
    return read_header(array, 0, array->file_bytes);
}

sh_status sh_array_open_file(sh_array *array, const char *path)
{
    sh_array fresh = {.fd = -1, .path = malloc(PATH_MAX)};
    if (fresh.path == NULL)
        return sh_fail_memory(PATH_MAX, "a path");
    snprintf(fresh.name, sizeof fresh.name, "%.*s", SH_ARRAY_NAME - 1, path);
    sh_status status = open_path(&fresh, snprintf(fresh.path, PATH_MAX, "%s", path));
    if (status == SH_OK)
        status = read_header(&fresh, 0, fresh.file_bytes);
    if (status != SH_OK) {
        sh_array_close(&fresh);
        return sh_fail_in(status, "%s", path);
    }
    *array = fresh;
    return SH_OK;
}

sh_status sh_array_open(sh_array *array, const char *place, const char *name)
{
    sh_array fresh = {.fd = -1};
    snprintf(fresh.name, sizeof fresh.name, "%.50s.npy", name);
    const sh_status status = open_file(&fresh, place, name);
    if (status != SH_OK) {
        const sh_status failure = sh_fail_in(status, "%s", fresh.name);
        sh_array_close(&fresh);
        return failure;
    }
    *array = fresh;
    return SH_OK;
}

sh_status sh_array_read_bytes(const sh_array *array, uint64_t first, uint8_t *bytes, size_t count)
{
    return sh_fail_in(sh_extent_read_all(array->fd, array->at + first, bytes, count), "%s",
                      array->name);
}

sh_status sh_array_read(const sh_array *array, uint64_t first, double *numbers, size_t count)
{
    uint8_t block[BLOCK_BYTES];
    const uint32_t width = array->header.item_bytes;
    for (size_t done = 0; done < count;) {
        const size_t left = count - done, fits = BLOCK_BYTES / width;
        const size_t here = left < fits ? left : fits;
        SH_TRY(sh_fail_in(
            sh_extent_read_all(array->fd, array->at + (first + done) * width, block, here * width),
            "%s", array->name));
        sh_npy_numbers(numbers + done, &array->header, block, here);
        done += here;
    }
    return SH_OK;
}

static sh_status digest_content(const sh_array *array, sh_digest *digest, uint64_t bytes)
{
    uint8_t *block = malloc(PASS_BYTES);
    if (block == NULL)
        return sh_fail_memory(PASS_BYTES, "the digest of an array");
    sh_status status = SH_OK;
    for (uint64_t done = 0; done < bytes && status == SH_OK;) {
        const size_t here = bytes - done < PASS_BYTES ? (size_t)(bytes - done) : PASS_BYTES;
        status = sh_extent_read_all(array->fd, array->at + done, block, here);
        if (status == SH_OK)
            sh_digest_add(digest, block, here);
        done += here;
    }
    free(block);
    return sh_fail_in(status, "%s", array->name);
}

sh_status sh_array_digest(const sh_array *array, sh_digest *digest)
{
    const sh_npy_header *h = &array->header;
    const uint64_t bytes = h->count * h->item_bytes;
    const uint64_t form[] = {h->kind, h->item_bytes, h->rank, bytes <= CONTENT_MOST};
    sh_digest_add(digest, form, sizeof form);
    sh_digest_add(digest, h->shape, sizeof h->shape);
    if (bytes <= CONTENT_MOST)
        return digest_content(array, digest, bytes);
    char *whole = realpath(array->path, NULL);
    if (whole == NULL)
        return sh_fail_errno(errno, "%s: cannot examine it", array->name);
    const int64_t figures[] = {(int64_t)array->file_bytes, array->changed_s, array->changed_ns};
    sh_digest_add(digest, whole, strlen(whole) + 1);
    sh_digest_add(digest, figures, sizeof figures);
    free(whole);
    return SH_OK;
}

sh_status sh_array_unchanged(const sh_array *array)
{
    struct stat about;
    if (stat(array->path, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot examine it", array->name);
    if ((uint64_t)about.st_size != array->file_bytes || about.st_mtim.tv_sec != array->changed_s ||
        about.st_mtim.tv_nsec != array->changed_ns)
        return sh_fail(SH_CORRUPT, "%s: has changed while it was packed; start again", array->name);
    return SH_OK;
}

void sh_array_close(sh_array *array)
{
    if (array->path == NULL && array->fd <= 0)
        return;
    if (array->fd >= 0)
        close(array->fd);
    free(array->path);
    *array = (sh_array){.fd = -1};
}
