/* SPDX-License-Identifier: Apache-2.0 */
#include "train/replica.h"

#include <stdio.h>

#include "base/test.h"
#include "train/step.h"

/* Computes no gradients; the leader's outcomes and sums keep it equal. */
typedef struct follower {
    sh_replica *leader, *replica;
    sh_trainer *trainer; /* of the leader */
    uint32_t stages[SH_PASSED_LAP + 1];
} follower;

static void follow(void *context, const sh_stage_outcome *outcome)
{
    follower *self = context;
    sh_replica *replica = self->replica;
    const sh_sum_block total = sh_sum_total(self->leader->sum);
    self->stages[outcome->passed]++;
    assert_true(sh_position_before(outcome->before, outcome->after));
    assert_true(sh_position_same(outcome->after, sh_replica_position(self->leader)));
    if (outcome->passed != SH_PASSED_APPLY)
        return;
    assert_true(self->trainer->update.applied.numbers.clip == (float)outcome->clip);
    assert_int_equal(outcome->before.steps + 1, outcome->after.steps);
    enum { PIECES = 7 }; /* last first; they cross the bounds of tensors and lanes */
    for (size_t p = PIECES; p-- > 0;)
        sh_replica_update(replica, &self->trainer->update.applied, total.elements * p / PIECES,
                          total.elements * (p + 1) / PIECES, total.accumulator, NULL);
    assert_memory_equal(replica->weights, self->leader->weights,
                        replica->weight_count * sizeof *replica->weights);
    for (uint32_t i = 0; i < replica->slot_count; i++)
        assert_memory_equal(replica->slots[i], self->leader->slots[i],
                            replica->summed_count * sizeof(float));
}

static void what_is_told_of_a_step_is_all_of_it(void **state)
{
    (void)state;
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    follower self = {0};
    sh_job job;
    sh_pipeline *pipeline;
    const sh_kernels *kernels;
    sh_step_result result;
    sh_sum_totals totals;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "resnet:20");
    snprintf(job.data, sizeof job.data, "digits:100/10");
    snprintf(job.optimizer, sizeof job.optimizer, "adamw");
    job.batch_size = 30; /* 100 samples: steps of 30, 30, 30 and 10 */
    job.grain = 15;
    job.lr = 0.01f;
    job.clip_norm = 0.5f;
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_pipeline_open(&pipeline, job.data, &(sh_pipeline_options){.resize = 0}));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_replica_new(&self.leader, &job, &problem));
    assert_ok(sh_replica_new(&self.replica, &job, &problem));
    assert_ok(sh_trainer_new(&self.trainer, &(sh_trainer_options){.job = &job,
                                                                  .pipeline = pipeline,
                                                                  .kernels = kernels,
                                                                  .replica = self.leader,
                                                                  .lanes = 2,
                                                                  .on_passed = follow,
                                                                  .context = &self}));
    const sh_part part = {.share = {0, 2}, .of = 2, .engine = sh_engine_solo()};
    for (int i = 0; i < 4; i++)
        assert_ok(sh_trainer_step(self.trainer, &part, &result));
    assert_int_equal(self.stages[SH_PASSED_APPLY], 4);
    assert_true(self.stages[SH_PASSED_REDO] > 0);
    assert_true(sh_position_same(sh_replica_position(self.leader), (sh_position){4, 0}));
    assert_ok(sh_trainer_evaluate(self.trainer, &part, &totals));
    assert_int_equal(self.stages[SH_PASSED_VALIDATE], 1);
    assert_true(sh_position_same(sh_replica_position(self.leader), (sh_position){4, 1}));
    sh_trainer_set_phase(self.trainer, SH_PHASE_VALIDATION);
    assert_true(sh_position_same(sh_replica_position(self.leader), (sh_position){4, 0}));
    sh_trainer_free(self.trainer);
    sh_replica_free(self.leader);
    sh_replica_free(self.replica);
    sh_pipeline_close(pipeline);
}

static void statistics_keep_their_bits(void **state)
{
    (void)state;
    static const uint32_t wires[] = {32, 16, 8};
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    for (size_t w = 0; w < 3; w++) {
        sh_job job;
        sh_replica *replica;
        size_t bytes = 0, statistics = 0;
        sh_job_init(&job);
        snprintf(job.model, sizeof job.model, "resnet:20");
        snprintf(job.data, sizeof job.data, "digits");
        snprintf(job.freeze, sizeof job.freeze, "layer1.*");
        job.wire = wires[w];
        assert_ok(sh_job_complete(&job));
        assert_ok(sh_replica_new(&replica, &job, &problem));
        const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
        for (uint32_t t = 0; t < replica->summed; t++) {
            const uint32_t tensor = replica->tensor_of[t];
            const bool kept = replica->graph->parameters[tensor].role == SH_ROLE_STATISTIC;
            const uint32_t bits = kept ? 32 : wires[w];
            assert_int_equal(replica->place_of[tensor], t);
            assert_int_equal(layout->places[t].form->wire, bits);
            bytes += layout->places[t].elements * bits / 8;
            statistics += kept;
        }
        assert_true(statistics > 0);
        assert_int_equal(sh_layout_offset(layout, replica->summed_count), bytes);
        assert_true(layout->bucket_count > 3);
        for (uint32_t b = 0; b < layout->bucket_count; b++) { /* ends as soon as it is full */
            const sh_sum_bucket *bucket = &layout->buckets[b];
            assert_true(bucket->elements - layout->places[bucket->first_tensor].elements < 1 << 16);
        }
        sh_replica_free(replica);
    }
}

/* With sums of 0, an update multiplies a variance, initially 1, by 1 - momentum. */
static void each_statistic_has_its_momentum(void **state)
{
    (void)state;
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    static const float momenta[] = {0.5f, 0.25f, 0};
    sh_replica *replica;
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "resnet:20");
    snprintf(job.data, sizeof job.data, "digits:100/10");
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_replica_new(&replica, &job, &problem));
    for (uint32_t t = 0; t < replica->tensors; t++)
        replica->graph->parameters[t].momentum = momenta[t % 3];
    float *scales = calloc(replica->summed, sizeof *scales);
    int32_t *sums = calloc(replica->summed_count, sizeof *sums);
    assert_true(scales != NULL && sums != NULL);
    const sh_replica_step step = {.numbers.clip = 1, .scales = scales};
    sh_replica_update(replica, &step, 0, replica->summed_count, sums, NULL);
    size_t seen = 0;
    for (uint32_t t = 0; t < replica->tensors; t++) {
        const char *name = sh_replica_tensor_name(replica, t);
        if (strstr(name, "running_var") == NULL)
            continue;
        assert_true(sh_replica_momentum(replica, t) == momenta[t % 3]);
        assert_true(replica->parameters[t][0] == 1 - momenta[t % 3]);
        seen++;
    }
    assert_true(seen > 9);
    replica->takes_statistics = true; /* local:H */
    assert_true(sh_replica_momentum(replica, 0) == 1);
    free(scales);
    free(sums);
    sh_replica_free(replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_of_a_step_is_all_of_it),
        cmocka_unit_test(statistics_keep_their_bits),
        cmocka_unit_test(each_statistic_has_its_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
