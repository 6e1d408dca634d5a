/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/run_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "onnx/model_cache.h"

sh_status sh_run_network_keep(const sh_run *run, const sh_network *network)
{
    char path[SH_PATH_BYTES];
    if (network == NULL)
        return SH_OK;
    SH_TRY(sh_run_path(run, SH_RUN_NETWORK, path));
    return sh_file_replace(path, network->bytes, network->count);
}

/* "FOLDER/../NAME" or "FOLDER/NAME" for a file in FOLDER. */
static sh_status near_path(char path[SH_PATH_BYTES], const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    const int length = slash == NULL ? 0 : (int)(slash - file + 1);
    const int bytes = snprintf(path, SH_PATH_BYTES, "%.*s%s", length, file, name);
    if (bytes < 0 || bytes >= SH_PATH_BYTES)
        return sh_fail(SH_LIMIT, "the path %.128s... is too long", file);
    return SH_OK;
}

/* SH_NOT_FOUND: no such file. SH_CORRUPT: not the network of the spec. */
static sh_status read_network(sh_network **network, const char *spec, const char *path)
{
    char *bytes;
    size_t count;
    const sh_status status = sh_file_read_own(&bytes, &count, path, SH_SKELETON_MOST);
    if (status == SH_NOT_FOUND)
        return status;
    SH_TRY(sh_fail_in(status, "the run's network"));
    return sh_fail_in(sh_network_of_bytes(network, spec, (uint8_t *)bytes, count), "%s", path);
}

sh_status sh_run_network_find(sh_network **network, const char *model, const char *checkpoint)
{
    static const char *const places[] = {"../" SH_RUN_NETWORK, SH_RUN_NETWORK};
    char path[SH_PATH_BYTES], trouble[SH_MESSAGE_BYTES] = "";
    sh_status status = SH_NOT_FOUND;
    *network = NULL;
    if (!sh_model_spec_is(model, NULL))
        return SH_OK;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        SH_TRY(near_path(path, checkpoint, places[i]));
        const sh_status found = read_network(network, model, path);
        if (found == SH_OK)
            return SH_OK;
        if (found == SH_NOT_FOUND)
            continue;
        status = found;
        snprintf(trouble, sizeof trouble, "%s", sh_message());
        sh_log(SH_LOG_WARN, "network.unused", "file=\"%s\" reason=\"%s\"", path, trouble);
    }
    if (sh_model_cache_get(network, model) == SH_OK)
        return SH_OK;
    if (trouble[0] != '\0')
        return sh_fail(status, "%.700s; copy the run's file " SH_RUN_NETWORK " here again",
                       trouble);
    SH_TRY(near_path(path, checkpoint, places[0]));
    return sh_fail(SH_INVALID,
                   "the network %.128s of %.300s is neither in %.300s nor in the cache folder: "
                   "copy the whole folder of the run, or train its ONNX file on this device once",
                   model, checkpoint, path);
}
