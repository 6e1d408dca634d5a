/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/data.h"

#include <inttypes.h>
#include <stdio.h>

#include "data/examples.h"
#include "data/survey.h"
#include "model/choice.h"
#include "train/job_options.h"
#include "train/lanes.h"
#include "train/schedule.h"

#define INPUTS_BYTES 256

_Static_assert(SH_DATA_EXAMPLES_MOST == SH_EXAMPLES_MOST, "one number");

static const char *loss_of(sh_target target)
{
    static const char *const names[] = {"cross entropy", "binary cross entropy",
                                        "mean squared error", "mean squared error"};
    return names[target];
}

static void describe_inputs(char text[INPUTS_BYTES], const sh_dataset_info *info)
{
    if (info->element == SH_ELEMENT_FLOAT) {
        snprintf(text, INPUTS_BYTES, "numbers as they are packed");
        return;
    }
    int used = snprintf(text, INPUTS_BYTES, "(byte / 255 - mean) / deviation, by channel:");
    for (size_t c = 0; c < info->channels && c < SH_DATASET_CHANNELS_MOST; c++)
        used += snprintf(text + used, INPUTS_BYTES - (size_t)used, "%s %.4f, %.4f",
                         c > 0 ? ";" : "", (double)info->mean[c], (double)info->deviation[c]);
}

static json_t *training_json(const sh_dataset_info *info)
{
    sh_job job;
    sh_model_choice choice;
    char inputs[INPUTS_BYTES];
    const uint32_t samples = info->count[SH_SPLIT_TRAIN];
    const sh_problem problem = sh_lanes_problem(info);
    sh_job_init(&job);
    sh_model_choose(&choice, &problem, info->name, samples);
    describe_inputs(inputs, info);
    const uint64_t steps = ((uint64_t)samples + job.batch_size - 1) / job.batch_size;
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "model", choice.spec, "why", choice.why,
                     "loss", loss_of(info->target), "inputs", inputs, "batch_size",
                     (json_int_t)job.batch_size, "epochs", (json_int_t)job.epochs, "epoch_steps",
                     (json_int_t)steps);
}

static sh_status survey(json_t *found, const sh_dataset *dataset, uint32_t examples)
{
    json_t *pictures;
    int failed =
        json_object_set_new(found, "training_defaults", training_json(sh_dataset_about(dataset)));
    if (examples > 0) {
        SH_TRY(sh_examples_json(&pictures, dataset, examples));
        failed |= json_object_set_new(found, "examples", pictures);
    }
    return failed == 0 ? SH_OK : sh_fail_memory(sizeof(json_t), "looking at the data");
}

sh_status sh_data_survey(char **json, const sh_job *job, uint32_t examples)
{
    sh_dataset *dataset;
    json_t *found = NULL;
    char *text = NULL;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (sh_option_reads(each))
            SH_TRY(sh_option_check(each, job));
    const sh_pipeline_options options = sh_job_pipeline(job);
    SH_TRY(sh_dataset_open(&dataset, job->data, &options.read));
    sh_status status = sh_survey_json(&found, dataset);
    if (status == SH_OK)
        status = survey(found, dataset, examples);
    sh_dataset_close(dataset);
    if (status == SH_OK) {
        text = json_dumps(found, JSON_COMPACT | JSON_REAL_PRECISION(12));
        if (text == NULL)
            status = sh_fail_memory(sizeof(json_t), "looking at the data");
    }
    json_decref(found);
    if (status == SH_OK)
        *json = text;
    return status;
}
