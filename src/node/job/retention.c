/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/retention.h"

#include "store/checkpoint.h"
#include "train/snapshot.h"

void sh_retention_open(sh_retention *retention, const char *folder, uint32_t most)
{
    char path[SH_PATH_BYTES];
    sh_safetensors *file;
    *retention = (sh_retention){.folder = folder, .most = most};
    if (sh_path_join(path, folder, SH_CHECKPOINT_BEST) != SH_OK ||
        sh_safetensors_open_own(&file, path) != SH_OK)
        return; /* an unreadable checkpoint counts as missing */
    if (sh_snapshot_read_steps(&retention->best_steps, file) != SH_OK)
        retention->best_steps = 0;
    sh_safetensors_close(file);
}

bool sh_retention_lacks(const sh_retention *retention, const sh_best *now, uint64_t steps)
{
    return now->steps == steps && steps > 0 && retention->best_steps != steps;
}

sh_status sh_retention_validated(sh_retention *retention, const sh_best *now, uint64_t steps)
{
    if (!sh_retention_lacks(retention, now, steps))
        return SH_OK;
    SH_TRY(sh_checkpoint_keep(retention->folder, SH_CHECKPOINT_BEST));
    retention->best_steps = steps;
    return SH_OK;
}

sh_status sh_retention_epoch(const sh_retention *retention, uint32_t epoch)
{
    return retention->most > 0 ? sh_checkpoint_keep_epoch(retention->folder, epoch, retention->most)
                               : SH_OK;
}
