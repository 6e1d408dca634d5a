/* SPDX-License-Identifier: Apache-2.0 */
#include "train/traffic.h"

#include "train/step.h"

sh_traffic sh_trainer_traffic(const sh_trainer *trainer)
{
    const sh_stage *stage = &trainer->stage;
    const sh_sum_layout *layout = sh_sum_layout_of(stage->replica->sum);
    sh_traffic traffic = {.summed = sh_layout_offset(layout, layout->elements)};
    if (stage->strategy->ops->traffic != NULL)
        stage->strategy->ops->traffic(stage, &traffic);
    return traffic;
}
