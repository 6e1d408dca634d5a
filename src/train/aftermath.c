/* SPDX-License-Identifier: Apache-2.0 */
#include "train/aftermath.h"

#include "train/step.h"

sh_aftermath sh_trainer_aftermath(const sh_trainer *trainer)
{
    const sh_stage *stage = &trainer->stage;
    const sh_sum_totals totals = sh_sum_read_totals(stage->replica->sum);
    return (sh_aftermath){
        .said = stage->said ? totals.own_check : 0,
        .total = totals.check,
        .not_finite = stage->not_finite,
        .by_this = stage->held.count > 0 && !sh_sum_own_is_finite(stage->replica->sum),
    };
}
