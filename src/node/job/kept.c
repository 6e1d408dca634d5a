/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/kept.h"

#include "store/checkpoint.h"
#include "train/snapshot.h"

void sh_kept_open(sh_kept *kept, const char *folder, uint32_t most)
{
    char path[SH_PATH_BYTES];
    sh_safetensors *file;
    *kept = (sh_kept){.folder = folder, .most = most};
    if (sh_path_join(path, folder, SH_CHECKPOINT_BEST) != SH_OK ||
        sh_safetensors_open_own(&file, path) != SH_OK)
        return; /* an unreadable one counts as missing and is written again */
    if (sh_snapshot_read_steps(&kept->best_steps, file) != SH_OK)
        kept->best_steps = 0;
    sh_safetensors_close(file);
}

bool sh_kept_lacks(const sh_kept *kept, const sh_best *now, uint64_t steps)
{
    return now->steps == steps && steps > 0 && kept->best_steps != steps;
}

sh_status sh_kept_validated(sh_kept *kept, const sh_best *now, uint64_t steps)
{
    if (!sh_kept_lacks(kept, now, steps))
        return SH_OK;
    SH_TRY(sh_checkpoint_keep(kept->folder, SH_CHECKPOINT_BEST));
    kept->best_steps = steps;
    return SH_OK;
}

sh_status sh_kept_epoch(const sh_kept *kept, uint32_t epoch)
{
    return kept->most > 0 ? sh_checkpoint_keep_epoch(kept->folder, epoch, kept->most) : SH_OK;
}
