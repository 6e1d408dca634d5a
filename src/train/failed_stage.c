/* SPDX-License-Identifier: Apache-2.0 */
#include "train/failed_stage.h"

#include "train/step.h"

sh_failed_stage sh_trainer_failed_stage(const sh_trainer *trainer)
{
    const sh_stage *stage = &trainer->stage;
    const sh_sum *sum = stage->replica->sum;
    return (sh_failed_stage){
        .own_check = stage->check_sent ? sh_sum_own_check(sum) : 0,
        .total = stage->reduced ? sh_sum_read_totals(sum).check : 0,
        .not_finite = stage->not_finite,
        .own_not_finite = stage->held.count > 0 && !sh_sum_own_is_finite(sum),
    };
}
