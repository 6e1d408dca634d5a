/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/node_name.h"

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

sh_status sh_model_spec_digest(char digest[SH_DIGEST_TEXT], const char *spec)
{
    char shown[SH_ONNX_NAME_TEXT];
    if (!sh_model_spec_is(spec, digest))
        return sh_fail(SH_INVALID, "'%s' does not name a network as NAME.onnx@DIGEST",
                       sh_onnx_name(shown, spec));
    return SH_OK;
}

/* Takes ownership of `bytes`, also on failure. */
static sh_status make(sh_network **network, const char *spec, uint8_t *bytes, size_t count)
{
    sh_network *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        free(bytes);
        return sh_fail_memory(sizeof *fresh, "a network");
    }
    *fresh = (sh_network){.bytes = bytes, .count = count, .users = 1};
    snprintf(fresh->spec, sizeof fresh->spec, "%s", spec);
    const sh_status status = sh_onnx_open_bytes(&fresh->model, fresh->spec, bytes, count);
    if (status == SH_OK)
        *network = fresh;
    else
        sh_network_unref(fresh);
    return status;
}

sh_status sh_network_of_model(sh_network **network, const sh_onnx *model, const char *path)
{
    char spec[SH_MODEL_SPEC];
    sh_skeleton skeleton;
    SH_TRY(sh_skeleton_make(&skeleton, model));
    sh_model_spec(spec, path, skeleton.digest);
    return make(network, spec, skeleton.bytes, skeleton.count);
}

sh_status sh_network_check(const char *spec, const uint8_t *bytes, size_t count)
{
    char digest[SH_DIGEST_TEXT], found[SH_DIGEST_TEXT];
    SH_TRY(sh_model_spec_digest(digest, spec));
    if (count > SH_SKELETON_MOST)
        return sh_fail(SH_LIMIT, "is too large for a network without weights (%zu MiB)",
                       SH_SKELETON_MOST >> 20);
    SH_TRY(sh_skeleton_digest(found, bytes, count));
    if (strcmp(found, digest) != 0)
        return sh_fail(SH_CORRUPT, "is damaged or different: its digest is %s instead of %s", found,
                       digest);
    return SH_OK;
}

sh_status sh_network_of_bytes(sh_network **network, const char *spec, uint8_t *bytes, size_t count)
{
    const sh_status status = sh_network_check(spec, bytes, count);
    if (status == SH_OK)
        return make(network, spec, bytes, count);
    free(bytes);
    return status;
}

sh_network *sh_network_ref(sh_network *network)
{
    if (network != NULL)
        network->users++;
    return network;
}

void sh_network_unref(sh_network *network)
{
    if (network == NULL || --network->users > 0)
        return;
    sh_onnx_close(network->model);
    free(network->bytes);
    free(network);
}
