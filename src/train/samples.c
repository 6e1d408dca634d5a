/* SPDX-License-Identifier: Apache-2.0 */
#include "train/samples.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"

sh_class_mix sh_samples_mix_classes(int32_t class, int32_t other, float weight,
                                    const float *class_weights)
{
    sh_class_mix mix = {class, other, weight, 1 - weight, 1};
    if (weight < 0.5f)
        mix = (sh_class_mix){other, class, 1 - weight, weight, 1};
    if (class_weights == NULL)
        return mix;
    const float first = mix.share * class_weights[mix.class];
    const float second = mix.other_share * class_weights[mix.other];
    mix.weight = first + second;
    mix.share = first / mix.weight; /* positive, as all class weights */
    mix.other_share = second / mix.weight;
    return mix;
}

void sh_samples_mix_numbers(float *target, const float *other, uint32_t count, float weight)
{
    const float rest = 1 - weight;
    for (uint32_t i = 0; i < count; i++)
        target[i] = weight * target[i] + rest * other[i];
}

/* Floats per lane: a sample and a target. */
static size_t spare_floats(const sh_pipeline *pipeline)
{
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    return sh_dataset_elements(info) + info->outputs;
}

size_t sh_samples_spare_bytes(const sh_pipeline *pipeline)
{
    return sh_pipeline_mixes(pipeline) ? spare_floats(pipeline) * sizeof(float) : 0;
}

sh_status sh_samples_prepare(sh_stage *stage)
{
    const size_t bytes = sh_samples_spare_bytes(stage->pipeline);
    const uint32_t lanes = sh_lanes_count(stage->lanes);
    return bytes == 0 ? SH_OK
                      : sh_block_new((void **)&stage->spare, bytes * lanes, "samples to mix with");
}

/* The class weight of an unmixed sample. */
static float weight_of(const sh_stage *stage, const void *target)
{
    int32_t class;
    if (stage->class_weights == NULL)
        return 1;
    memcpy(&class, target, sizeof class);
    return stage->class_weights[class];
}

/* Reads the sample at `position`, mixed with another one, as number `i` of a grain. `*weight` is
 * the factor on its loss. */
static sh_status read_mixed(float *weight, const sh_stage *stage, uint32_t lane,
                            sh_execution *execution, uint32_t position, uint32_t i)
{
    const sh_dataset_info *info = sh_pipeline_about(stage->pipeline);
    const size_t elements = sh_dataset_elements(info);
    float *values = sh_execution_input(execution, SH_MODEL_SAMPLES);
    unsigned char *target = sh_execution_input(execution, SH_MODEL_TARGETS);
    float *spare = stage->spare + lane * spare_floats(stage->pipeline);
    float *other_target = spare + elements, share;
    target += i * sh_target_bytes(info->target, info->outputs);
    SH_TRY(sh_pipeline_read_mixed(stage->pipeline, &stage->task.order, position,
                                  values + i * elements, spare, target, other_target, &share));
    *weight = 1;
    if (info->target == SH_TARGET_LABELS || info->target == SH_TARGET_NUMBERS)
        sh_samples_mix_numbers((float *)(void *)target, other_target, info->outputs, share);
    if (info->target != SH_TARGET_CLASS)
        return SH_OK;
    int32_t class, other;
    memcpy(&class, target, sizeof class);
    memcpy(&other, other_target, sizeof other);
    const sh_class_mix mix = sh_samples_mix_classes(class, other, share, stage->class_weights);
    memcpy(target, &mix.class, sizeof mix.class);
    ((int32_t *)sh_execution_input(execution, SH_MODEL_OTHER_TARGETS))[i] = mix.other;
    ((float *)sh_execution_input(execution, SH_MODEL_SHARES))[i] = mix.share;
    ((float *)sh_execution_input(execution, SH_MODEL_OTHER_SHARES))[i] = mix.other_share;
    *weight = mix.weight;
    return SH_OK;
}

static sh_status read_plain(const sh_stage *stage, sh_execution *execution, uint32_t position,
                            uint32_t i)
{
    const sh_pipeline *pipeline = stage->pipeline;
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    float *values = sh_execution_input(execution, SH_MODEL_SAMPLES);
    unsigned char *target = sh_execution_input(execution, SH_MODEL_TARGETS);
    values += i * sh_dataset_elements(info);
    target += i * sh_target_bytes(info->target, info->outputs);
    if (stage->task.mode != SH_MODEL_TRAIN)
        return sh_pipeline_read(pipeline, SH_SPLIT_VALIDATION, 0, position, values, target);
    return sh_pipeline_read_at(pipeline, &stage->task.order, position, values, target);
}

static sh_status read_training(const sh_stage *stage, uint32_t lane, sh_execution *execution,
                               uint32_t position, uint32_t i, float part)
{
    const sh_dataset_info *info = sh_pipeline_about(stage->pipeline);
    const unsigned char *targets = sh_execution_input(execution, SH_MODEL_TARGETS);
    float *weights = sh_execution_input(execution, SH_MODEL_LOSS_WEIGHTS), weight;
    uint32_t *keys = sh_execution_input(execution, SH_MODEL_KEYS);
    if (stage->spare != NULL) {
        SH_TRY(read_mixed(&weight, stage, lane, execution, position, i));
    } else {
        SH_TRY(read_plain(stage, execution, position, i));
        weight = weight_of(stage, targets + i * sh_target_bytes(info->target, info->outputs));
    }
    weights[i] = part * weight;
    sh_random random = sh_random_for(stage->job->seed, SH_RANDOM_DROPOUT, stage->task.batch.epoch,
                                     sh_order_key(&stage->task.order, position));
    keys[2 * i] = sh_random_next(&random);
    keys[2 * i + 1] = sh_random_next(&random);
    return SH_OK;
}

sh_status sh_samples_read(const sh_stage *stage, uint32_t lane, sh_execution *execution,
                          sh_range range, float weight)
{
    for (uint32_t i = 0; i < range.count; i++)
        if (stage->task.mode == SH_MODEL_TRAIN)
            SH_TRY(read_training(stage, lane, execution, range.first + i, i, weight));
        else
            SH_TRY(read_plain(stage, execution, range.first + i, i));
    return SH_OK;
}
