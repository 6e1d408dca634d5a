/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/weights.h"

#include "store/checkpoint.h"

sh_status sh_weights_open(sh_safetensors **file, const char *path)
{
    char used[SH_PATH_BYTES];
    sh_safetensors *fresh;
    if (sh_folder_exists(path))
        return sh_checkpoint_open(file, used, path);
    SH_TRY(sh_safetensors_open(&fresh, path));
    if (sh_safetensors_metadata(fresh, SH_CHECKPOINT_FORMAT_KEY) != NULL) {
        sh_safetensors_close(fresh);
        return sh_checkpoint_open(file, used, path); /* which knows what a checkpoint must be */
    }
    const bool summed = sh_safetensors_metadata(fresh, SH_SAFETENSORS_CHECKSUM) != NULL;
    const sh_status status = summed ? sh_safetensors_verify(fresh) : SH_OK;
    if (status != SH_OK) {
        sh_safetensors_close(fresh);
        return status;
    }
    *file = fresh;
    return SH_OK;
}
