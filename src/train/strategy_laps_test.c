/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices are threads, linked by real servers on the loopback. Updates are assigned to devices at
 * random, so the tests check only what does not depend on it.
 */
#include <math.h>

#include "reduce/engine_fixture.h"
#include "train/trainer.h"

#define DEVICES 3
#define SAMPLES 1250
#define BATCH 8 /* 157 updates per epoch, the last with 2 samples: laps of 64, 64 and 29 */

/* A device. `at` is NULL if it is alone. */
typedef struct trainee {
    rank *at;
    sh_job job;
    uint64_t flees_after, until; /* steps */
    sh_pipeline *pipeline;
    sh_replica *replica;
    sh_trainer *trainer;
    uint32_t laps, told;
    sh_status status;
    char hash[SH_DIGEST_TEXT], message[SH_MESSAGE_BYTES];
    pthread_t thread;
} trainee;

static trainee trainees[DEVICES];

static sh_job job_of(const char *strategy, float momentum, float lr)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:784-12-10");
    snprintf(job.data, sizeof job.data, "digits:%d/20", SAMPLES);
    snprintf(job.strategy, sizeof job.strategy, "%s", strategy);
    job.batch_size = BATCH;
    job.grain = 3;
    job.momentum = momentum;
    job.lr = lr;
    assert_ok(sh_job_complete(&job));
    return job;
}

static void note_stage(void *context, const sh_stage_outcome *outcome)
{
    trainee *self = context;
    self->told += outcome->passed == (self->at == NULL ? SH_PASSED_APPLY : SH_PASSED_LAP);
}

static void open_trainee(trainee *self)
{
    const sh_kernels *kernels;
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    assert_ok(sh_pipeline_open(&self->pipeline, self->job.data, &(sh_pipeline_options){0}));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_replica_new(&self->replica, &self->job, &problem));
    assert_ok(sh_trainer_new(&self->trainer, &(sh_trainer_options){.job = &self->job,
                                                                   .pipeline = self->pipeline,
                                                                   .kernels = kernels,
                                                                   .replica = self->replica,
                                                                   .lanes = 2,
                                                                   .shared = true,
                                                                   .on_passed = note_stage,
                                                                   .context = self}));
}

static void close_trainee(trainee *self)
{
    sh_trainer_free(self->trainer);
    sh_replica_free(self->replica);
    sh_pipeline_close(self->pipeline);
}

static sh_part part_of(const trainee *self)
{
    const uint32_t grains = sh_job_grains(&self->job);
    return (sh_part){.share = {0, grains},
                     .of = grains,
                     .engine = self->at == NULL ? sh_engine_solo() : self->at->engine};
}

static sh_status train(trainee *self)
{
    sh_replica *replica = self->replica;
    const sh_part part = part_of(self);
    while (replica->steps < self->until) {
        sh_step_result result;
        const uint64_t before = replica->steps;
        assert_ok(sh_replica_hash(replica, self->hash));
        if (self->flees_after > 0 && before >= self->flees_after)
            return sh_fail(SH_STOPPED, "away");
        SH_TRY(sh_trainer_step(self->trainer, &part, &result));
        self->laps++;
        uint64_t samples = 0;
        for (uint64_t s = before; s < replica->steps; s++)
            samples += sh_schedule_batch(sh_trainer_schedule(self->trainer), s).samples.count;
        assert_int_equal(result.totals.samples, samples);
    }
    return sh_replica_hash(replica, self->hash);
}

static void *trainee_main(void *context)
{
    trainee *self = context;
    self->status = train(self);
    snprintf(self->message, sizeof self->message, "%s", sh_message());
    if (self->status == SH_STOPPED) {
        sh_engine_close(self->at->engine);
        self->at->engine = NULL;
    }
    return NULL;
}

static bool no_word(void *context, bool last, uint64_t *word)
{
    (void)context;
    (void)last;
    *word = 0;
    return true;
}

static void begin_together(world *w, const sh_job *job, uint64_t until)
{
    w->spans = 1;
    w->lengths[0] = 10;
    w->rounds = 1;
    w->deserter = UINT32_MAX;
    run_world(w);
    for (uint32_t i = 0; i < w->devices; i++) {
        trainees[i] = (trainee){.at = &w->ranks[i], .job = *job, .until = until};
        sh_engine_watch(w->ranks[i].engine, &(sh_engine_watcher){0});
        sh_engine_decide(w->ranks[i].engine, &(sh_engine_decider){.decide = no_word});
        open_trainee(&trainees[i]);
    }
}

static void train_together(const world *w)
{
    for (uint32_t i = 0; i < w->devices; i++)
        pthread_create(&trainees[i].thread, NULL, trainee_main, &trainees[i]);
    for (uint32_t i = 0; i < w->devices; i++)
        pthread_join(trainees[i].thread, NULL);
}

static void end_together(world *w)
{
    end_world(w); /* engines write to memory of the trainers */
    for (uint32_t i = 0; i < w->devices; i++)
        close_trainee(&trainees[i]);
}

/* Relative to the change of the first one's weights. */
static double difference(const trainee *a, const trainee *b)
{
    double way = 0, apart = 0;
    sh_replica *first;
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    assert_ok(sh_replica_new(&first, &a->job, &problem));
    for (size_t i = 0; i < first->weight_count; i++) {
        const double start = first->weights[i], came = a->replica->weights[i];
        way += (came - start) * (came - start);
        apart += (came - b->replica->weights[i]) * (came - b->replica->weights[i]);
    }
    sh_replica_free(first);
    assert_true(way > 0);
    return sqrt(apart / way);
}

static void train_alone(trainee *self, const char *strategy, const sh_job *like, uint64_t until)
{
    *self = (trainee){.job = *like, .until = until};
    snprintf(self->job.strategy, sizeof self->job.strategy, "%s", strategy);
    open_trainee(self);
    assert_ok(train(self));
}

/* The result then hardly depends on the weights that a gradient was computed with, and is nearly
 * that of sync. */
static void small_steps_lead_to_where_sync_does(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        uint32_t servers, wire;
        float momentum, lr, most;
        const char *optimizer;
    } cases[] = {
        {"ps-async", 0x7, 32, 0, 2e-5f, 0.01f, "sgd"},
        {"ps-async", 0x4, 32, 0.9f, 2e-6f, 0.1f, "sgd"},
        {"ps-bounded:1", 0x3, 16, 0, 2e-5f, 0.02f, "sgd"},
        {"ps-bounded:2", 0x7, 32, 0, 1e-7f, 0.2f, "adam"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trainee alone;
        world w = world_of(DEVICES, cases[i].servers);
        sh_job job = job_of(cases[i].strategy, cases[i].momentum, cases[i].lr);
        job.wire = cases[i].wire;
        snprintf(job.optimizer, sizeof job.optimizer, "%s", cases[i].optimizer);
        const uint64_t until = 157;
        train_alone(&alone, "sync", &job, until);
        begin_together(&w, &job, until);
        train_together(&w);
        sh_trainer_work work = {0};
        for (uint32_t d = 0; d < DEVICES; d++) {
            const sh_trainer_work done = sh_trainer_work_done(trainees[d].trainer);
            if (trainees[d].status != SH_OK)
                fail_msg("device %u: %s", d, trainees[d].message);
            assert_string_equal(trainees[d].hash, trainees[0].hash);
            assert_int_equal(trainees[d].laps, 3);
            assert_int_equal(trainees[d].told, 3);
            assert_int_equal(trainees[d].replica->phase, SH_PHASE_VALIDATION);
            assert_int_equal(trainees[d].replica->epoch.samples, SAMPLES);
            work.samples += done.samples;
            work.grains += done.grains;
        }
        assert_int_equal(work.samples, SAMPLES);
        assert_int_equal(work.grains, 156 * 3 + 1);
        const double apart = difference(&alone, &trainees[0]);
        if (apart > (double)cases[i].most)
            fail_msg("case %zu: %g apart", i, apart);
        end_together(&w);
        close_trainee(&alone);
    }
}

static void alone_it_is_sync(void **state)
{
    (void)state;
    trainee each[2];
    const sh_job job = job_of("ps-async", 0.9f, 0.01f);
    train_alone(&each[0], "sync", &job, 20);
    train_alone(&each[1], "ps-async", &job, 20);
    assert_string_equal(each[0].hash, each[1].hash);
    assert_int_equal(each[1].told, 20);
    close_trainee(&each[0]);
    close_trainee(&each[1]);
}

/* A device leaves in its second lap. The others continue from the start of the lap, each alone. */
static void a_lap_that_breaks_off_leaves_all_as_it_was(void **state)
{
    (void)state;
    world w = world_of(2, 3);
    const sh_job job = job_of("ps-async", 0.9f, 0.01f);
    begin_together(&w, &job, 157);
    trainees[1].flees_after = 64;
    train_together(&w);
    trainee *left = &trainees[0];
    sh_replica *replica = left->replica;
    float envelopes[2][8];
    int32_t exponents[2][8];
    char hash[SH_DIGEST_TEXT];
    assert_int_equal(left->status, SH_PEER_LOST);
    assert_int_equal(trainees[1].status, SH_STOPPED);
    assert_ok(sh_replica_hash(replica, hash));
    assert_string_equal(hash, left->hash);
    assert_true(sh_position_same(sh_replica_position(replica), (sh_position){64, SH_PHASE_FIRST}));
    assert_int_equal(sh_trainer_held(left->trainer)->count, 0);
    for (int i = 0; i < 2; i++)
        sh_sum_state_get(trainees[i].replica->sum, envelopes[i], exponents[i]);
    assert_memory_equal(envelopes[0], envelopes[1], replica->summed * sizeof(float));
    assert_memory_equal(exponents[0], exponents[1], replica->summed * sizeof(int32_t));
    end_world(&w);
    for (int i = 0; i < 2; i++) {
        trainees[i].at = NULL;
        trainees[i].flees_after = 0;
        trainees[i].until = 80;
        assert_ok(train(&trainees[i]));
    }
    assert_string_equal(trainees[0].hash, trainees[1].hash);
    close_trainee(&trainees[0]);
    close_trainee(&trainees[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_steps_lead_to_where_sync_does),
        cmocka_unit_test(alone_it_is_sync),
        cmocka_unit_test(a_lap_that_breaks_off_leaves_all_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
