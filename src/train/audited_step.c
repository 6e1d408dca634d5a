/* SPDX-License-Identifier: Apache-2.0 */
#include "train/audited_step.h"

#include "train/commitment.h"
#include "train/step.h"

const sh_ranges *sh_trainer_commit(const sh_trainer *trainer, sh_sum_check *own,
                                   sh_sum_check *total)
{
    const sh_sum *sum = trainer->stage.replica->sum;
    const sh_sum_block parts[] = {sh_sum_own(sum), sh_sum_total(sum)};
    *own = sh_commitment_of(sum, &parts[0], trainer->audit.key);
    *total = sh_commitment_of(sum, &parts[1], trainer->audit.key);
    return &trainer->audit.held;
}

sh_status sh_trainer_recompute(sh_trainer *trainer, const sh_ranges *grains, sh_sum_check *check)
{
    sh_stage *stage = &trainer->stage;
    const uint32_t all = stage->task.batch.grains;
    if (trainer->audit.key == 0 || !sh_ranges_valid(grains, all))
        return sh_fail(SH_INVALID, "step %llu: an audit of grains that are not in its batch",
                       (unsigned long long)stage->replica->steps + 1);
    stage->task.todo = *grains;
    stage->times.watching = &stage->times.off;
    SH_TRY(sh_stage_recompute(stage));
    const sh_sum_block own = sh_sum_own(stage->replica->sum);
    *check = sh_commitment_of(stage->replica->sum, &own, trainer->audit.key);
    return SH_OK;
}
