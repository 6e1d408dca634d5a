/* SPDX-License-Identifier: Apache-2.0 */
#include "shoal/data.h"

#include "data/survey.h"
#include "train/job_options.h"
#include "train/schedule.h"

sh_status sh_data_survey(char **json, const sh_job *job)
{
    sh_dataset *dataset;
    json_t *found;
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (sh_option_reads(each))
            SH_TRY(sh_option_check(each, job));
    const sh_pipeline_options options = sh_job_pipeline(job);
    SH_TRY(sh_dataset_open(&dataset, job->data, &options.read));
    const sh_status status = sh_survey_json(&found, dataset);
    sh_dataset_close(dataset);
    if (status != SH_OK)
        return status;
    char *text = json_dumps(found, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(found);
    if (text == NULL)
        return sh_fail_memory(sizeof(json_t), "looking at the data");
    *json = text;
    return SH_OK;
}
