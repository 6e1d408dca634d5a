/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic family: a digest of the gradients of the job's first grain. A device whose kernels
 * compute other bits has another one.
 */
#include <stdlib.h>
#include <string.h>

#include "train/step.h"

typedef struct family_probe {
    const sh_replica *replica;
    sh_digest *digest;
} family_probe;

static void add_to_family(void *context, uint32_t tensor, const float *gradient)
{
    const family_probe *probe = context;
    const sh_type *type = sh_replica_tensor_type(probe->replica, tensor);
    sh_digest_add(probe->digest, gradient, sh_type_bytes(type));
}

/* The job's first grain with the weights as they are now. */
static sh_status hash_first_grain(sh_trainer *trainer, sh_digest *digest)
{
    sh_stage *stage = &trainer->stage;
    family_probe probe = {stage->replica, digest};
    sh_step_begin_batch(trainer, 0);
    const sh_range range = stage->strategy->ops->first(stage);
    const float weight = 1.0f / (float)stage->task.batch.samples.count;
    sh_execution *execution = sh_lanes_execution(stage->lanes, 0, SH_MODEL_TRAIN, range.count);
    SH_TRY(sh_execution_prepare(execution));
    SH_TRY(sh_stage_read_samples(stage, execution, range, weight));
    return sh_execution_run(execution, add_to_family, &probe);
}

sh_status sh_trainer_family(sh_trainer *trainer, char hex[SH_DIGEST_TEXT])
{
    sh_replica *replica = trainer->stage.replica;
    const size_t bytes = replica->weight_count * sizeof *replica->weights;
    float *held = malloc(bytes);
    sh_status status;
    sh_digest *digest;
    if (held == NULL)
        return sh_fail_memory(bytes, "measuring the arithmetic family");
    sh_replica_lock(replica); /* who reads it meanwhile would get the job's first weights */
    memcpy(held, replica->weights, bytes);
    sh_replica_initialise(replica, trainer->job.seed);
    SH_TRY_DONE(sh_digest_new(&digest));
    const sh_status computed = hash_first_grain(trainer, digest);
    status = sh_digest_finish(digest, hex);
    if (computed != SH_OK)
        status = computed;
done:
    memcpy(replica->weights, held, bytes);
    sh_replica_unlock(replica);
    free(held);
    return status;
}
