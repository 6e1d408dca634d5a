/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/model_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/log.h"
#include "onnx/blob.h"

#define FOLDER "models"
#define FILE_BYTES (sizeof ".tmp-XXXXXX" + sizeof ".onnx" + SH_DIGEST_TEXT)

/* The caller closes the descriptor. `path` receives the path of the cache folder, for messages. */
static sh_status open_cache(int *folder, char path[SH_CACHE_PATH])
{
    const int cache = sh_cache_open(path);
    if (cache < 0)
        return sh_fail(SH_NOT_FOUND, "no cache folder for networks is writable only by you: set "
                                     "XDG_CACHE_HOME to your own folder");
    *folder = sh_cache_folder(cache, path, FOLDER);
    const int error = errno;
    close(cache);
    if (*folder < 0 && error == EPERM)
        return sh_fail(SH_REFUSED,
                       "%s/" FOLDER ": another user owns it or can write it: remove it, or make it "
                       "private with chown and chmod go-w",
                       path);
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

/* O_EXCL makes the file private to this caller. Returns -1 on failure. */
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
    SH_TRY(open_cache(&folder, path));
    sh_status status = SH_OK;
    const int fd = open_temporary(folder, name, digest);
    if (fd < 0)
        status = sh_fail_errno(errno, "%s/" FOLDER ": cannot make a file there", path);
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

sh_status sh_model_cache_put(const sh_network *network)
{
    return keep(strrchr(network->spec, '@') + 1, network->bytes, network->count);
}

static sh_status read_bytes(uint8_t **bytes, size_t *count, const char *digest)
{
    char path[SH_CACHE_PATH], name[FILE_BYTES];
    int folder;
    sh_blob blob;
    SH_TRY(open_cache(&folder, path));
    snprintf(name, sizeof name, "%.64s.onnx", digest);
    sh_status status = sh_blob_open_within(&blob, folder, name, SH_SKELETON_MOST);
    close(folder);
    if (status == SH_NOT_FOUND)
        return sh_fail(SH_NOT_FOUND, "is not in %s/" FOLDER, path);
    SH_TRY(sh_fail_in(status, "%s/" FOLDER "/%s", path, name));
    *count = (size_t)blob.count;
    *bytes = malloc(*count + 1);
    status = *bytes == NULL ? sh_fail_memory(*count, "a network")
                            : sh_blob_read(&blob, *bytes, *count, 0);
    sh_blob_close(&blob);
    if (status != SH_OK)
        free(*bytes);
    return sh_fail_in(status, "%s/" FOLDER "/%s", path, name);
}

sh_status sh_model_cache_get(sh_network **network, const char *spec)
{
    char digest[SH_DIGEST_TEXT];
    uint8_t *bytes;
    size_t count;
    SH_TRY(sh_model_spec_digest(digest, spec));
    SH_TRY(sh_fail_in(read_bytes(&bytes, &count, digest), "the network %s", spec));
    return sh_fail_in(sh_network_of_bytes(network, spec, bytes, count),
                      "the network %s in the cache folder", spec);
}

static bool is_file(const char *name)
{
    const size_t length = strlen(name), end = sizeof ".onnx" - 1;
    return length > end && strcmp(name + length - end, ".onnx") == 0;
}

sh_status sh_model_cache_open(sh_network **network, sh_onnx **file, const char *name)
{
    sh_onnx *fresh;
    *file = NULL;
    *network = NULL;
    if (sh_model_spec_is(name, NULL))
        return sh_model_cache_get(network, name);
    if (!is_file(name))
        return SH_OK;
    SH_TRY(sh_onnx_open(&fresh, name));
    const sh_status status = sh_network_of_model(network, fresh, name);
    if (status != SH_OK) {
        sh_onnx_close(fresh);
        return status;
    }
    *file = fresh;
    /* The cache is needed only for a checkpoint that was copied out of its run. */
    if (sh_model_cache_put(*network) != SH_OK)
        sh_log(SH_LOG_WARN, "network.uncached", "reason=\"%s\"", sh_message());
    return SH_OK;
}
