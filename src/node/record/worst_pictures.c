/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/worst_pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/description.h"
#include "data/examples.h"
#include "data/thumbnail.h"

/* In the form of a target: a label is set if its score is above 0. */
static json_t *answer_json(const sh_assessment *all, const json_t *description,
                           const sh_worst_sample *worst)
{
    const uint32_t outputs = all->info->outputs;
    if (all->info->target == SH_TARGET_SAMPLE)
        return json_null();
    if (all->info->target == SH_TARGET_CLASS)
        return sh_examples_target(all->info, description, &worst->answer);
    if (all->info->target == SH_TARGET_NUMBERS)
        return sh_examples_target(all->info, description, worst->given);
    float *holds = malloc(outputs * sizeof *holds);
    if (holds == NULL)
        return NULL;
    for (uint32_t k = 0; k < outputs; k++)
        holds[k] = worst->given[k] > 0 ? 1.0f : 0.0f;
    json_t *text = sh_examples_target(all->info, description, holds);
    free(holds);
    return text;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* `room`: space for a sample and a target. */
static sh_status sample_json(json_t **json, const sh_assessment *all, const sh_dataset *dataset,
                             const sh_worst_sample *worst, void *room[2])
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    const bool classes = all->info->target == SH_TARGET_CLASS;
    json_t *picture, *description = sh_description_read(sh_dataset_description(dataset));
    sh_status status = sh_dataset_read(dataset, all->split, worst->index, room[0], room[1]);
    if (status == SH_OK)
        status = sh_thumbnail_json(&picture, info, description, room[0]);
    if (status == SH_OK) {
        *json = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "index", (json_int_t)worst->index,
                          "target", sh_examples_target(info, description, room[1]), "answer",
                          answer_json(all, description, worst), "probability",
                          classes ? number(worst->probability) : json_null(), "loss",
                          number((double)worst->loss), "picture", picture);
        if (*json == NULL)
            status = sh_fail_memory(sizeof(json_t), "the worst samples");
    }
    json_decref(description);
    return status;
}

sh_status sh_worst_pictures_json(json_t **json, const sh_assessment *all, const sh_dataset *dataset)
{
    const sh_dataset_info *info = sh_dataset_about(dataset);
    const size_t target_bytes = sh_target_bytes(info->target, info->outputs);
    void *room[2] = {malloc(sh_dataset_bytes(info)), malloc(target_bytes > 0 ? target_bytes : 1)};
    json_t *samples = json_array(), *one = NULL;
    sh_worst_sample worst;
    sh_status status = SH_OK;
    if (room[0] == NULL || room[1] == NULL || samples == NULL)
        SH_TRY_DONE(sh_fail_memory(sh_dataset_bytes(info), "the worst samples"));
    for (uint32_t i = 0; i < SH_WORST_PICTURES && sh_metrics_worst(all->metrics, i, &worst); i++) {
        SH_TRY_DONE(sample_json(&one, all, dataset, &worst, room));
        if (json_array_append_new(samples, one) != 0)
            SH_TRY_DONE(sh_fail_memory(sizeof(json_t), "the worst samples"));
    }
    json_t *root =
        json_pack("{s:s, s:O}", "split", all->split == SH_SPLIT_TRAIN ? "training" : "validation",
                  "samples", samples);
    if (root == NULL)
        SH_TRY_DONE(sh_fail_memory(sizeof(json_t), "the worst samples"));
    *json = root;
done:
    json_decref(samples);
    free(room[0]);
    free(room[1]);
    return status;
}

sh_status sh_worst_pictures_text(char **text, const sh_assessment *all, const sh_dataset *dataset)
{
    json_t *json;
    SH_TRY(sh_worst_pictures_json(&json, all, dataset));
    char *fresh = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(json);
    if (fresh == NULL)
        return sh_fail_memory(sizeof(json_t), "the worst samples");
    *text = fresh;
    return SH_OK;
}
