/* SPDX-License-Identifier: Apache-2.0 */
#include "train/aftermath.h"

#include "train/step.h"

sh_aftermath sh_trainer_aftermath(const sh_trainer *trainer)
{
    const sh_stage *stage = &trainer->stage;
    const sh_sum *sum = stage->replica->sum;
    return (sh_aftermath){
        .said = stage->said ? sh_sum_own_check(sum) : 0,
        .total = stage->reduced ? sh_sum_read_totals(sum).check : 0,
        .not_finite = stage->not_finite,
        .by_this = stage->held.count > 0 && !sh_sum_own_is_finite(sum),
    };
}
