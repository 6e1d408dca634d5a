/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares workers with an independent implementation of their definition: a single worker with
 * artificial gradients, and a whole training, recomputed sample by sample in double precision.
 */
#include "train/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"
#include "data/order.h"
#include "train/norm.h"
#include "train/trainer.h"

/* ---- a single worker ------------------------------------------------------------------------- */

typedef struct way {
    const char *optimizer;
    float momentum, clip_norm;
    uint32_t nesterov;
} way;

static const way ways[] = {
    {"sgd", 0, 0, 0},  {"sgd", 0.9f, 0, 0},   {"sgd", 0.9f, 2, 1},
    {"adam", 0, 0, 0}, {"adamw", 0, 1.5f, 0}, {"rmsprop", 0.5f, 0, 0},
};

#define WAYS (sizeof ways / sizeof *ways)
#define LR 0.01
#define PART 0.3

static sh_job job_of(const way *each)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "dscnn:s");
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.strategy, sizeof job.strategy, "local:3");
    snprintf(job.optimizer, sizeof job.optimizer, "%s", each->optimizer);
    snprintf(job.freeze, sizeof job.freeze, "conv1*");
    job.momentum = each->momentum;
    job.nesterov = each->nesterov;
    job.clip_norm = each->clip_norm;
    job.weight_decay = 0.02f;
    assert_ok(sh_job_complete(&job));
    return job;
}

static const sh_problem problem = {1, 49, 10, 12, SH_TARGET_CLASS};

static float made_up(uint32_t step, uint32_t grain, size_t i)
{
    sh_random random = sh_random_for(step, SH_RANDOM_TEST, grain, (uint32_t)i);
    return ((float)sh_random_next(&random) / 4294967296.0f - 0.3f) * 0.1f;
}

static void add_grain(sh_worker *worker, const sh_replica *replica, uint32_t step, uint32_t grain,
                      float *gradient)
{
    for (uint32_t t = replica->tensors; t-- > 0;) {
        const uint32_t place = replica->place_of[t];
        if (place == SH_FROZEN)
            continue;
        const size_t first = sh_sum_first_element(replica->sum, place);
        for (size_t i = 0; i < sh_sum_elements(replica->sum, place); i++)
            gradient[i] = made_up(step, grain, first + i);
        const size_t count = sh_sum_elements(replica->sum, place), half = count / 2;
        sh_worker_add(worker, t, &(sh_gradient){.values = gradient, .count = half});
        sh_worker_add(worker, t, &(sh_gradient){gradient + half, half, count - half, true});
    }
}

static bool is_statistic(const sh_replica *replica, uint32_t place)
{
    return replica->graph->parameters[replica->tensor_of[place]].role == SH_ROLE_STATISTIC;
}

/* Makes all local steps of a worker from the replica's weights; `weights` has those in the sum. */
static void define(float *weights, const sh_replica *replica, const sh_job *job, uint32_t steps,
                   uint32_t grains)
{
    const size_t count = replica->summed_count;
    const sh_optimizer_settings settings = sh_optimizer_settings_of(job);
    const sh_optimizer *optimizer;
    float *state = calloc(3 * count, sizeof *state), *gradient = state + 2 * count;
    assert_non_null(state);
    assert_ok(sh_optimizer_find(&optimizer, job->optimizer));
    memcpy(weights, replica->weights, count * sizeof *weights);
    for (uint32_t s = 0; s < steps; s++) {
        double squares = 0;
        for (size_t i = 0; i < count; i++) {
            gradient[i] = made_up(s, 0, i);
            for (uint32_t g = 1; g < grains; g++)
                gradient[i] += made_up(s, g, i);
        }
        for (uint32_t t = 0; t < replica->summed; t++)
            for (size_t i = 0; i < sh_sum_elements(replica->sum, t) && !is_statistic(replica, t);
                 i++) {
                const double g = (double)gradient[sh_sum_first_element(replica->sum, t) + i];
                squares += g * g;
            }
        const double clip =
            job->clip_norm > 0 ? sh_norm_clip(sqrt(squares), (double)job->clip_norm) : 1;
        const sh_optimizer_step step = sh_optimizer_step_of(&settings, LR * (s + 1), clip, s + 1);
        for (uint32_t t = 0; t < replica->summed; t++) {
            const size_t first = sh_sum_first_element(replica->sum, t);
            const size_t elements = sh_sum_elements(replica->sum, t);
            float *slots[] = {state + first, state + count + first};
            if (is_statistic(replica, t))
                for (size_t i = first; i < first + elements; i++)
                    weights[i] = 0.9f * weights[i] + 0.1f * gradient[i];
            else
                sh_optimizer_values[sh_variant_chosen()](optimizer, &settings, &step,
                                                         weights + first, slots, gradient + first,
                                                         elements);
        }
    }
    free(state);
}

static void assert_close(const float *got, const float *expected, size_t count, double limit,
                         const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)expected[i]) <= limit))
            fail_msg("%s: element %zu is %.9g, not %.9g", what, i, (double)got[i],
                     (double)expected[i]);
}

static void its_steps_are_the_optimizers(void **state)
{
    (void)state;
    enum { STEPS = 3, GRAINS = 2 };
    for (size_t w = 0; w < WAYS; w++) {
        sh_replica *replica;
        sh_worker *worker;
        const sh_job job = job_of(&ways[w]);
        assert_ok(sh_replica_new(&replica, &job, &problem));
        assert_ok(sh_worker_new(&worker, replica, &job));
        const size_t count = replica->summed_count;
        float *expected = calloc(2 * count, sizeof *expected), *room = expected + count;
        assert_non_null(expected);
        define(expected, replica, &job, STEPS, GRAINS);
        for (int again = 0; again < 2; again++) { /* nothing remains of the first use */
            sh_worker_begin(worker);
            for (uint32_t s = 0; s < STEPS; s++) {
                for (uint32_t g = 0; g < GRAINS; g++)
                    add_grain(worker, replica, s, g, room);
                sh_worker_step(worker, LR * (s + 1));
            }
            for (uint32_t t = 0; t < replica->tensors; t++) {
                const uint32_t place = replica->place_of[t];
                const float *got = sh_worker_parameters(worker)[t];
                if (place == SH_FROZEN)
                    assert_ptr_equal(got, replica->parameters[t]);
                else /* clipping's norm is added up in another order */
                    assert_close(got, expected + sh_sum_first_element(replica->sum, place),
                                 sh_sum_elements(replica->sum, place), job.clip_norm > 0 ? 1e-7 : 0,
                                 ways[w].optimizer);
            }
        }
        const float *values = sh_worker_contribution(worker, PART);
        for (uint32_t t = 0; t < replica->summed; t++)
            for (size_t i = 0; i < sh_sum_elements(replica->sum, t); i++) {
                const size_t at = sh_sum_first_element(replica->sum, t) + i;
                const float after = sh_worker_parameters(worker)[replica->tensor_of[t]][i];
                const float moved = is_statistic(replica, t) ? after : replica->weights[at] - after;
                assert_true(values[at] == moved * (float)PART);
            }
        free(expected);
        sh_worker_free(worker);
        sh_replica_free(replica);
    }
}

static void the_outer_step_is_plain(void **state)
{
    (void)state;
    sh_job job = job_of(&ways[4]);
    for (int momentum = 0; momentum < 2; momentum++) {
        sh_replica *replica;
        job.outer_momentum = momentum > 0 ? 0.5f : 0;
        job.outer_lr = 0.75f;
        assert_ok(sh_job_complete(&job));
        assert_ok(sh_replica_new(&replica, &job, &problem));
        assert_int_equal(replica->slot_count, momentum);
        assert_string_equal(replica->optimizer->name, "sgd");
        assert_true(replica->settings.weight_decay == 0 && replica->settings.lr == 0.75f);
        assert_int_equal(replica->settings.nesterov, momentum);
        assert_true(replica->takes_statistics);
        const uint64_t bytes = sh_worker_bytes(replica, &job); /* two slots */
        assert_int_equal(bytes, 4 * replica->summed_count * sizeof(float));
        sh_replica_free(replica);
    }
}

/* ---- in a training --------------------------------------------------------------------------- */

enum { HIDDEN = 5, OUT = 10, SAMPLES = 70 };

#define SIDE 28
#define PIXELS (SIDE * SIDE)

/* mlp:784-5-10 in double, in the sum's layout: fc1.weight, fc1.bias, fc2.weight, fc2.bias. */
enum { W1 = HIDDEN * PIXELS, B1 = HIDDEN, W2 = OUT * HIDDEN, B2 = OUT, ALL = W1 + B1 + W2 + B2 };

typedef struct course {
    double weights[ALL], momentum[ALL];
    uint32_t local_steps; /* before the current outer step */
} course;

#define LOCAL_OF_EPOCH(job) ((SAMPLES + (job)->batch_size - 1) / (job)->batch_size)

/* "step:1,0.5" and a warm-up of an epoch, or constant. */
static double rate_of(const sh_job *job, uint32_t step)
{
    const uint32_t epoch = LOCAL_OF_EPOCH(job), epochs = step / epoch;
    if (strcmp(job->schedule, "constant") == 0)
        return (double)job->lr;
    return (double)job->lr * pow(0.5, epochs) * (step < epoch ? (step + 1.0) / epoch : 1);
}

/* Adds `part` times one sample's gradient of the cross-entropy. */
static void add_sample(double *gradient, const double *weights, const float *pixels, int32_t label,
                       double part)
{
    const double *w1 = weights, *b1 = w1 + W1, *w2 = b1 + B1, *b2 = w2 + W2;
    double hidden[HIDDEN], out[OUT], total = 0, back[HIDDEN] = {0};
    for (int h = 0; h < HIDDEN; h++) {
        hidden[h] = b1[h];
        for (int p = 0; p < PIXELS; p++)
            hidden[h] += w1[h * PIXELS + p] * (double)pixels[p];
        hidden[h] = hidden[h] > 0 ? hidden[h] : 0;
    }
    for (int o = 0; o < OUT; o++) {
        out[o] = b2[o];
        for (int h = 0; h < HIDDEN; h++)
            out[o] += w2[o * HIDDEN + h] * hidden[h];
        total += exp(out[o]);
    }
    double *g1 = gradient, *gb1 = g1 + W1, *g2 = gb1 + B1, *gb2 = g2 + W2;
    for (int o = 0; o < OUT; o++) {
        const double g = (exp(out[o]) / total - (o == label)) * part;
        gb2[o] += g;
        for (int h = 0; h < HIDDEN; h++) {
            g2[o * HIDDEN + h] += g * hidden[h];
            back[h] += g * w2[o * HIDDEN + h];
        }
    }
    for (int h = 0; h < HIDDEN; h++) {
        if (hidden[h] == 0)
            continue;
        gb1[h] += back[h];
        for (int p = 0; p < PIXELS; p++)
            g1[h * PIXELS + p] += back[h] * (double)pixels[p];
    }
}

/* Trains one worker on the samples [first, end) of the order, with SGD, momentum and weight
 * decay. */
static void walk(double *weights, const sh_pipeline *pipeline, const sh_order *order,
                 const sh_job *job, uint32_t first, uint32_t end, uint32_t step)
{
    const uint32_t batch = job->batch_size / job->workers;
    static double gradient[ALL], velocity[ALL];
    memset(velocity, 0, sizeof velocity);
    for (; first < end; first += batch, step++) {
        const uint32_t count = end - first < batch ? end - first : batch;
        memset(gradient, 0, sizeof gradient);
        for (uint32_t i = 0; i < count; i++) {
            float pixels[PIXELS];
            int32_t label;
            assert_ok(sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, order->epoch,
                                       sh_order_at(order, first + i), pixels, &label));
            add_sample(gradient, weights, pixels, label, 1.0 / count);
        }
        for (int i = 0; i < ALL; i++) {
            velocity[i] = (double)job->momentum * velocity[i] + gradient[i] +
                          (double)job->weight_decay * weights[i];
            weights[i] -= rate_of(job, step) * velocity[i];
        }
    }
}

static void outer_step(course *c, const sh_pipeline *pipeline, const sh_order *order,
                       const sh_job *job, uint32_t first, uint32_t count)
{
    static double worker[ALL], change[ALL];
    const uint32_t part = (count + job->workers - 1) / job->workers;
    memset(change, 0, sizeof change);
    for (uint32_t from = 0; from < count; from += part) {
        const uint32_t to = from + part < count ? from + part : count;
        memcpy(worker, c->weights, sizeof worker);
        walk(worker, pipeline, order, job, first + from, first + to, c->local_steps);
        for (int i = 0; i < ALL; i++)
            change[i] += (c->weights[i] - worker[i]) * (to - from) / count;
    }
    c->local_steps += (count + job->batch_size - 1) / job->batch_size;
    for (int i = 0; i < ALL; i++) { /* Nesterov */
        const double mu = (double)job->outer_momentum;
        c->momentum[i] = mu * c->momentum[i] + change[i];
        c->weights[i] -= (double)job->outer_lr * (change[i] + mu * c->momentum[i]);
    }
}

typedef struct setting {
    const char *strategy;
    uint32_t steps, workers, batch_size, grain, lanes, steps_of_epoch;
    float momentum, weight_decay, outer_lr, outer_momentum;
    bool scheduled;
} setting;

static sh_job training_job(const setting *each)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:784-5-10");
    snprintf(job.data, sizeof job.data, "digits:%d/20", SAMPLES);
    snprintf(job.strategy, sizeof job.strategy, "%s", each->strategy);
    job.batch_size = each->batch_size;
    job.workers = each->workers;
    job.grain = each->grain;
    job.momentum = each->momentum;
    job.weight_decay = each->weight_decay;
    job.lr = 0.05f;
    job.steps = each->steps;
    if (each->scheduled) {
        snprintf(job.schedule, sizeof job.schedule, "step:1,0.5");
        job.warmup = 1;
    }
    if (each->workers > 0) {
        job.outer_lr = each->outer_lr;
        job.outer_momentum = each->outer_momentum;
    }
    assert_ok(sh_job_complete(&job));
    return job;
}

typedef struct outcome {
    sh_status status;
    float *weights; /* owned */
    size_t count;
    sh_sum_totals validation;
} outcome;

/* Copies the initial weights to `first` unless it is NULL. */
static outcome train(float *first, const sh_pipeline *pipeline, const sh_job *job, uint32_t lanes)
{
    outcome got = {SH_OK, NULL, 0, {0}};
    const sh_kernels *kernels;
    sh_replica *replica;
    sh_trainer *trainer;
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_replica_new(&replica, job, &(sh_problem){1, SIDE, SIDE, OUT, SH_TARGET_CLASS}));
    got.count = replica->weight_count;
    if (first != NULL)
        memcpy(first, replica->weights, ALL * sizeof *first);
    assert_ok(sh_trainer_new(&trainer, &(sh_trainer_options){.job = job,
                                                             .pipeline = pipeline,
                                                             .kernels = kernels,
                                                             .replica = replica,
                                                             .lanes = lanes}));
    const uint32_t grains = sh_job_grains(job);
    const sh_part part = {.share = {0, grains}, .of = grains, .engine = sh_engine_solo()};
    for (uint32_t s = 0; s < job->steps && got.status == SH_OK; s++) {
        sh_step_result result;
        const sh_batch batch = sh_schedule_batch(sh_trainer_schedule(trainer), replica->steps);
        got.status = sh_trainer_step(trainer, &part, &result);
        if (got.status == SH_OK)
            assert_int_equal(result.totals.samples, batch.samples.count);
    }
    got.weights = malloc(got.count * sizeof *got.weights);
    assert_non_null(got.weights);
    memcpy(got.weights, replica->weights, got.count * sizeof *got.weights);
    if (got.status == SH_OK)
        assert_ok(sh_trainer_evaluate(trainer, &part, &got.validation));
    sh_trainer_free(trainer);
    sh_replica_free(replica);
    return got;
}

static void the_course_is_that_of_the_definition(void **state)
{
    (void)state;
    /* 70 samples: outer steps of 48 and 22 (parts of 6 and 4); of 40 and 30; of 70 */
    static const setting settings[] = {
        {"local:4", 5, 4, 12, 2, 2, 2, 0.9f, 0.01f, 1, 0, false},
        {"local:4", 5, 4, 12, 3, 1, 2, 0.5f, 0, 0.7f, 0.6f, true},
        {"local:2", 4, 5, 20, 3, 3, 2, 0, 0.1f, 1, 0.9f, true},
        {"local:9", 2, 1, 8, 8, 1, 1, 0.9f, 0, 1, 0, true},
    };
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        static float begun[ALL], expected[ALL];
        static course c;
        sh_pipeline *pipeline;
        const sh_job job = training_job(&settings[k]);
        const uint32_t full = job.batch_size * sh_job_local_steps(&job);
        assert_ok(sh_pipeline_open(&pipeline, job.data, &(sh_pipeline_options){.resize = 0}));
        const outcome got = train(begun, pipeline, &job, settings[k].lanes);
        assert_int_equal(got.status, SH_OK);
        assert_int_equal(got.count, ALL);
        c = (course){.local_steps = 0};
        for (int i = 0; i < ALL; i++)
            c.weights[i] = (double)begun[i];
        for (uint32_t s = 0; s < job.steps; s++) {
            sh_order order;
            const uint32_t first = s % settings[k].steps_of_epoch * full;
            sh_order_init(&order, job.seed, s / settings[k].steps_of_epoch, SAMPLES);
            outer_step(&c, pipeline, &order, &job, first,
                       SAMPLES - first < full ? SAMPLES - first : full);
        }
        for (int i = 0; i < ALL; i++)
            expected[i] = (float)c.weights[i];
        assert_close(got.weights, expected, ALL, 2e-6, settings[k].strategy);
        free(got.weights);
        sh_pipeline_close(pipeline);
    }
}

/* Equal except for the rounding of sums. Includes prepared weights and running statistics. */
static void one_worker_is_sync(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        float lr;
    } models[] = {
        {"mlp:784-5-10", 0.05f},
        {"lenet", 0.05f},
        {"resnet:20", 0.0005f}, /* with ten times this rate, differences grow tenfold per step */
    };
    /* 70 samples: per epoch 4 steps of 20, 20, 20 and 10, or 2 outer steps */
    static const setting local = {"local:3", 3, 1, 20, 6, 2, 2, 0, 0.01f, 1, 0, true};
    static const setting sync = {"sync", 7, 0, 20, 6, 2, 4, 0, 0.01f, 1, 0, true};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        sh_pipeline *pipeline;
        sh_job one = training_job(&local), other = training_job(&sync);
        snprintf(one.model, sizeof one.model, "%s", models[m].name);
        snprintf(other.model, sizeof other.model, "%s", models[m].name);
        one.lr = other.lr = models[m].lr;
        assert_ok(sh_pipeline_open(&pipeline, one.data, &(sh_pipeline_options){.resize = 0}));
        const outcome apart = train(NULL, pipeline, &one, 2);
        const outcome together = train(NULL, pipeline, &other, 2);
        assert_close(apart.weights, together.weights, apart.count, 2e-6, models[m].name);
        free(apart.weights);
        free(together.weights);
        sh_pipeline_close(pipeline);
    }
}

/* With running statistics, dropout, optimizers with state, and lanes that validated before. */
static void lanes_do_not_matter(void **state)
{
    (void)state;
    static const char *const models[] = {"lenet", "mobilenetv2:0.25"};
    /* 70 samples: outer steps of 40 and 30 with local batches of 4 and 2 */
    static const setting local = {"local:2", 2, 5, 20, 3, 1, 2, 0, 0.01f, 0.9f, 0.5f, true};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        sh_pipeline *pipeline;
        sh_job job = training_job(&local);
        snprintf(job.model, sizeof job.model, "%s", models[m]);
        snprintf(job.optimizer, sizeof job.optimizer, "adamw");
        job.clip_norm = 1;
        job.lr = 0.005f;
        assert_ok(sh_pipeline_open(&pipeline, job.data, &(sh_pipeline_options){.resize = 0}));
        const outcome expected = train(NULL, pipeline, &job, 1);
        assert_int_equal(expected.status, SH_OK);
        for (uint32_t lanes = 2; lanes < 7; lanes += 4) {
            const outcome got = train(NULL, pipeline, &job, lanes);
            assert_int_equal(got.status, SH_OK);
            assert_memory_equal(got.weights, expected.weights, got.count * sizeof(float));
            assert_true(got.validation.loss == expected.validation.loss);
            assert_int_equal(got.validation.score, expected.validation.score);
            free(got.weights);
        }
        free(expected.weights);
        sh_pipeline_close(pipeline);
    }
}

static void a_worker_that_diverges_ends_the_job(void **state)
{
    (void)state;
    static const setting local = {"local:3", 2, 5, 20, 4, 2, 2, 0, 0, 1, 0, false};
    static float begun[ALL];
    sh_pipeline *pipeline;
    sh_job job = training_job(&local);
    job.lr = 1e30f;
    assert_ok(sh_pipeline_open(&pipeline, job.data, &(sh_pipeline_options){.resize = 0}));
    const outcome got = train(begun, pipeline, &job, 2);
    assert_int_equal(got.status, SH_NUMERIC);
    assert_non_null(strstr(sh_message(), "step 1 (epoch 1): the change of fc"));
    assert_non_null(strstr(sh_message(), "the learning rate of 1e+30 may be too high"));
    assert_memory_equal(got.weights, begun, sizeof begun);
    free(got.weights);
    sh_pipeline_close(pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_steps_are_the_optimizers),
        cmocka_unit_test(the_outer_step_is_plain),
        cmocka_unit_test(the_course_is_that_of_the_definition),
        cmocka_unit_test(one_worker_is_sync),
        cmocka_unit_test(lanes_do_not_matter),
        cmocka_unit_test(a_worker_that_diverges_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
