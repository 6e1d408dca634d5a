/* SPDX-License-Identifier: Apache-2.0 */
#include "train/figures.h"

#include <jansson.h>
#include <math.h>

#include "train/score.h"

/* The deviation by which a description divides its only target; 1 if there is none. */
static double unit_of(const char *description)
{
    double unit = 1;
    json_t *about = description == NULL ? NULL : json_loads(description, 0, NULL);
    const json_t *targets = json_object_get(about, "targets");
    const json_t *deviation = json_object_get(json_array_get(targets, 0), "deviation");
    if (json_array_size(targets) == 1 && json_is_number(deviation))
        unit = json_number_value(deviation);
    json_decref(about);
    return unit;
}

sh_scale sh_scale_of(const sh_pipeline *pipeline)
{
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    const char *description = sh_dataset_description(sh_pipeline_dataset(pipeline));
    return (sh_scale){info->target, info->outputs,
                      info->target == SH_TARGET_NUMBERS ? unit_of(description) : 1};
}

sh_figures sh_figures_of(const sh_scale *scale, double loss, uint64_t score, uint64_t samples)
{
    const bool told = scale->target == SH_TARGET_CLASS || scale->target == SH_TARGET_LABELS;
    const double figure = sh_score_figure(scale->target, scale->outputs, score, samples);
    return (sh_figures){
        .loss = samples > 0 ? loss / (double)samples : 0,
        .accuracy = told ? figure : NAN,
        .mae = told ? NAN : figure * scale->unit,
    };
}
