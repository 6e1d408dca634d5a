/* SPDX-License-Identifier: Apache-2.0 */
/* A job as JSON, as in a checkpoint: one that is taken is the same after a way there and back. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "train/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void there_and_back(const sh_job *job)
{
    json_t *json;
    sh_job again;
    if (sh_job_to_json(&json, job) != SH_OK)
        return; /* not UTF-8 after it was cut */
    if (sh_job_from_json(&again, json) != SH_OK || strcmp(again.model, job->model) != 0 ||
        again.seed != job->seed || again.grain != job->grain)
        abort();
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sh_job job;
    json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (json == NULL)
        return 0;
    if (sh_job_from_json(&job, json) == SH_OK) {
        there_and_back(&job);
        (void)!sh_job_complete(&job);
    } else if (sh_message()[0] == '\0') {
        abort(); /* a failure without a message */
    }
    json_decref(json);
    return 0;
}
