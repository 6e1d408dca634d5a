/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model_shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "onnx/blob.h"
#include "onnx/node_name.h"

#define FOLDER "models"
#define FILE_BYTES (sizeof ".tmp-XXXXXX" + sizeof ".onnx" + SH_DIGEST_TEXT)

static bool is_name_byte(char byte)
{
    return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

void sh_model_spec(char spec[SH_MODEL_SPEC], const char *path, const char digest[SH_DIGEST_TEXT])
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t length = strlen(name);
    if (length >= 5 && strcmp(name + length - 5, ".onnx") == 0)
        length -= 5;
    if (length == 0) {
        name = "model";
        length = 5;
    }
    length = length < SH_MODEL_NAME_MOST ? length : SH_MODEL_NAME_MOST;
    for (size_t i = 0; i < length; i++)
        spec[i] = is_name_byte(name[i]) ? name[i] : '_';
    snprintf(spec + length, SH_MODEL_SPEC - length, ".onnx@%.64s", digest);
}

bool sh_model_spec_is(const char *text, char digest[SH_DIGEST_TEXT])
{
    static const char mark[] = ".onnx@";
    const char *at = strrchr(text, '@');
    const size_t before = sizeof mark - 1;
    if (at == NULL || (size_t)(at + 1 - text) <= before ||
        (size_t)(at + 1 - text) > before + SH_MODEL_NAME_MOST ||
        memcmp(at + 1 - before, mark, before) != 0)
        return false;
    for (const char *name = text; name < at; name++)
        if (!is_name_byte(*name))
            return false;
    if (strspn(at + 1, "0123456789abcdef") != SH_DIGEST_TEXT - 1 || at[SH_DIGEST_TEXT] != '\0')
        return false;
    if (digest != NULL)
        memcpy(digest, at + 1, SH_DIGEST_TEXT);
    return true;
}

/* Opens CACHE/models: owned, close it. `path` is its own path, for messages. */
static sh_status open_shelf(int *folder, char path[SH_CACHE_PATH])
{
    const int cache = sh_cache_open(path);
    if (cache < 0)
        return sh_fail(SH_NOT_FOUND, "there is no cache folder for the model that only you can "
                                     "write: set XDG_CACHE_HOME to a folder of yours");
    (void)mkdirat(cache, FOLDER, 0700); /* what is wrong shows when it is opened */
    *folder = openat(cache, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const int error = errno;
    close(cache);
    return *folder >= 0 ? SH_OK : sh_fail_errno(error, "%s/" FOLDER ": cannot be opened", path);
}

static sh_status write_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t put = write(fd, bytes, count);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return sh_fail_errno(errno, "cannot be written");
        bytes += put;
        count -= (size_t)put;
    }
    return fsync(fd) == 0 ? SH_OK : sh_fail_errno(errno, "cannot be written");
}

/* A file of a name that nobody has yet; the name is for this process and thread alone. */
static int open_temporary(int folder, char name[FILE_BYTES], const char *digest)
{
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(name, FILE_BYTES, "%.64s.tmp-%03u", digest, i);
        const int fd =
            openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static sh_status keep(const char *digest, const uint8_t *bytes, size_t count)
{
    char path[SH_CACHE_PATH], name[FILE_BYTES], final[FILE_BYTES];
    int folder;
    SH_TRY(open_shelf(&folder, path));
    sh_status status = SH_OK;
    const int fd = open_temporary(folder, name, digest);
    if (fd < 0)
        status = sh_fail_errno(errno, "%s/" FOLDER ": a file cannot be made there", path);
    else
        status = sh_fail_in(write_all(fd, bytes, count), "%s/" FOLDER "/%s", path, name);
    if (fd >= 0 && close(fd) != 0 && status == SH_OK)
        status = sh_fail_errno(errno, "%s/" FOLDER "/%s: cannot be written", path, name);
    snprintf(final, sizeof final, "%.64s.onnx", digest);
    if (status == SH_OK && renameat(folder, name, folder, final) != 0)
        status = sh_fail_errno(errno, "%s/" FOLDER "/%s: cannot be written", path, final);
    if (status != SH_OK && fd >= 0)
        (void)unlinkat(folder, name, 0);
    close(folder);
    return status;
}

sh_status sh_model_shelf_put(char spec[SH_MODEL_SPEC], const sh_onnx *model, const char *path)
{
    sh_skeleton skeleton;
    SH_TRY(sh_skeleton_make(&skeleton, model));
    const sh_status status = keep(skeleton.digest, skeleton.bytes, skeleton.count);
    if (status == SH_OK)
        sh_model_spec(spec, path, skeleton.digest);
    sh_skeleton_release(&skeleton);
    return status;
}

static sh_status parse(char digest[SH_DIGEST_TEXT], const char *spec)
{
    char shown[SH_ONNX_NAME_TEXT];
    if (!sh_model_spec_is(spec, digest))
        return sh_fail(SH_INVALID, "'%s' does not name a model as NAME.onnx@DIGEST",
                       sh_onnx_name(shown, spec));
    return SH_OK;
}

static sh_status check_digest(const char *digest, const void *bytes, size_t count)
{
    char found[SH_DIGEST_TEXT];
    SH_TRY(sh_skeleton_digest(found, bytes, count));
    if (strcmp(found, digest) != 0)
        return sh_fail(SH_CORRUPT, "is damaged: its digest is %s instead of %s", found, digest);
    return SH_OK;
}

sh_status sh_model_shelf_keep(const char *spec, const void *bytes, size_t count)
{
    char digest[SH_DIGEST_TEXT];
    SH_TRY(parse(digest, spec));
    SH_TRY(sh_fail_in(check_digest(digest, bytes, count), "the model %s", spec));
    return keep(digest, bytes, count);
}

sh_status sh_model_shelf_read(uint8_t **bytes, size_t *count, const char *spec)
{
    char digest[SH_DIGEST_TEXT], path[SH_CACHE_PATH], name[FILE_BYTES];
    int folder;
    SH_TRY(parse(digest, spec));
    SH_TRY(open_shelf(&folder, path));
    snprintf(name, sizeof name, "%.64s.onnx", digest);
    sh_blob blob;
    sh_status status = sh_blob_open_within(&blob, folder, name, SH_SKELETON_MOST);
    close(folder);
    if (status == SH_NOT_FOUND)
        return sh_fail(SH_NOT_FOUND,
                       "the network %s is not in %s/" FOLDER
                       ": train its ONNX file on this device once",
                       spec, path);
    SH_TRY(sh_fail_in(status, "%s/" FOLDER "/%s", path, name));
    uint8_t *fresh = malloc((size_t)blob.count + 1);
    const size_t size = (size_t)blob.count;
    status = fresh == NULL ? sh_fail_memory(size, "a model") : sh_blob_read(&blob, fresh, size, 0);
    sh_blob_close(&blob);
    if (status == SH_OK)
        status = check_digest(digest, fresh, size);
    if (status != SH_OK) {
        free(fresh);
        return sh_fail_in(status, "%s/" FOLDER "/%s", path, name);
    }
    *bytes = fresh;
    *count = size;
    return SH_OK;
}

sh_status sh_model_shelf_get(sh_onnx **model, const char *spec)
{
    uint8_t *bytes;
    size_t count;
    SH_TRY(sh_model_shelf_read(&bytes, &count, spec));
    return sh_onnx_open_owned(model, spec, bytes, count);
}
