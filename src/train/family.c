/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic family: a digest of the gradients of the job's first grain. A device whose kernels
 * compute other bits has another one.
 */
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

#include "train/trainer_impl.h"

typedef struct family_probe {
    const sh_trainer *trainer;
    sh_digest *digest;
} family_probe;

static void add_to_family(void *context, uint32_t tensor, const float *gradient)
{
    const family_probe *probe = context;
    const sh_type *type = sh_replica_tensor_type(probe->trainer->replica, tensor);
    sh_digest_add(probe->digest, gradient, sh_type_bytes(type));
}

/* The job's first grain with the job's first weights, which stand in for the replica's meanwhile.
 */
static sh_status hash_first_grain(sh_trainer *trainer, sh_digest *digest)
{
    family_probe probe = {trainer, digest};
    sh_step_begin_batch(trainer, 0);
    const sh_range range = sh_stage_first_grain(trainer);
    if (trainer->workers != NULL)
        sh_worker_begin(trainer->workers[0]);
    if (trainer->updates != NULL)
        sh_updates_follow(trainer->updates);
    sh_execution *execution = sh_lanes_execution(trainer->lanes, 0, SH_MODEL_TRAIN, range.count);
    SH_TRY(sh_execution_prepare(execution));
    SH_TRY(sh_stage_read_samples(trainer, execution, range));
    sh_stage_weigh_samples(trainer, execution, range, 1.0f / (float)trainer->batch.samples.count);
    return sh_execution_run(execution, add_to_family, &probe);
}

sh_status sh_trainer_family(sh_trainer *trainer, char hex[SH_DIGEST_TEXT])
{
    sh_replica *replica = trainer->replica;
    const size_t bytes = replica->weight_count * sizeof *replica->weights;
    float *held = malloc(bytes);
    sh_digest *digest = NULL;
    if (held == NULL)
        return sh_fail_memory(bytes, "measuring the arithmetic family");
    sh_replica_lock(replica); /* who reads it meanwhile would get other weights */
    memcpy(held, replica->weights, bytes);
    sh_replica_initialise(replica, trainer->job.seed);
    sh_status status = sh_digest_new(&digest);
    if (status == SH_OK) {
        const sh_status computed = hash_first_grain(trainer, digest);
        status = sh_digest_finish(digest, hex);
        if (computed != SH_OK)
            status = computed;
    }
    memcpy(replica->weights, held, bytes);
    sh_replica_unlock(replica);
    free(held);
    return status;
}
