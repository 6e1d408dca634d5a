/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trains each model on noise with one grain per lane, with a few grain sizes, and times programs
 * and steps (train/stopwatch, backend/profiler). A trial is a model with one grain size. All trials
 * run in several passes, so that a short disturbance affects a pass and not a model; trials with a
 * long setup have only one. Of a trial's rounds, the middle half by step time counts. Times are
 * means, which add up to the step. The rest of a step, without programs, reading, sum and
 * optimiser, is kept per grain and per step.
 *
 * If models share a kind of work, the mean weights each by its steps per second: a loss of ten
 * classes takes five times longer after a large model has emptied the caches, but matters only to
 * small models.
 *
 * Left out are grain sizes that would take much longer than the model's time or too much memory,
 * and models of which a single sample is too much, unless they were requested.
 */
#include "shoal/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/memory.h"
#include "plan/breakdown.h"
#include "plan/device_file.h"
#include "plan/layer_parts.h"
#include "plan/peaks.h"
#include "plan/time_model.h"
#include "train/session.h"
#include "train/stopwatch.h"

#define USUAL_SECONDS 1.5
#define PEAK_SECONDS 2.0
#define PASSES 3
#define LEAST_ROUNDS 3 /* of the first pass */
#define PASS_ROUNDS 8  /* maximum per pass */
#define MOST_ROUNDS (PASSES * PASS_ROUNDS)
#define PASS_MOST 0.5      /* of a model's time: shorter passes, with setup, are repeated */
#define ROUND_SECONDS 0.02 /* minimum duration of a round */
#define WEIGHT_MOST 10000  /* of a model in a mean, in steps per second */
#define MEMORY_PART 4      /* of the machine's memory, for the lanes of one model */

/* The first is used only if the second takes too long. */
static const uint32_t grains[] = {1, 4, 16, 32};
#define GRAINS (sizeof grains / sizeof *grains)
#define SIZES 3        /* that share a model's time */
#define STEPS_NEEDED 6 /* minimum per size, with warm-up and redone steps */
#define TIME_MORE 2    /* longest time of a size, relative to its part */
#define TIME_MOST 8    /* likewise with only one size */
#define USUAL_PART 0.3 /* of the peak: initial estimate */

typedef struct trial {
    sh_job job;
    sh_problem problem;
    uint32_t grain;
    size_t weights, optimizer_words;
    double pass_seconds;   /* of the first pass, with setup and warm-up */
    size_t length;         /* instructions of its program */
    sh_measurement *works; /* by instruction and owned, like the two below */
    bool *prepares;
    sh_layer_place *places;
    sh_bench_layer *layers; /* owned until moved to the results */
    size_t layer_count;
    double *times; /* by instruction and round: seconds of an execution */
    uint32_t rounds;
    uint32_t first, end;                           /* the rounds that count, in `order` */
    uint32_t order[MOST_ROUNDS];                   /* rounds by step time */
    double step[MOST_ROUNDS];                      /* seconds of a step, by round like all below */
    double clear[MOST_ROUNDS], apply[MOST_ROUNDS]; /* of a step, all lanes */
    double read[MOST_ROUNDS];                      /* of a sample */
    double grain_rest[MOST_ROUNDS];                /* of a grain, without program and reading */
    double turn[MOST_ROUNDS];                      /* of a step: a lane's grains, mean over lanes */
    double step_rest[MOST_ROUNDS];                 /* of a step, without the lanes' work */
} trial;

typedef struct rig {
    sh_pipeline *pipeline;
    sh_replica *replica;
    sh_trainer *trainer;
    const sh_program *program; /* borrowed from the trainer, like the graph */
    const sh_graph *graph;
} rig;

typedef struct bench {
    const sh_bench_options *options;
    sh_bench_result *result;
    const sh_kernels *kernels;
    uint32_t lanes;
    double seconds; /* for one model */
    sh_measurements known;
    trial **trials; /* each owned */
    size_t trial_count, trial_capacity;
} bench;

static void tell(const bench *b, const char *text)
{
    if (b->options->observer != NULL)
        b->options->observer(b->options->context, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

/* Mean over the rounds that count. */
static double typical(const trial *t, const double *by_round)
{
    double sum = 0;
    for (uint32_t i = t->first; i < t->end; i++)
        sum += by_round[t->order[i]];
    return sum / (t->end - t->first);
}

static sh_status trial_new(trial **t, bench *b, const char *spec, const sh_problem *problem,
                           uint32_t grain)
{
    SH_TRY(sh_array_grow((void **)&b->trials, &b->trial_capacity, b->trial_count + 1,
                         sizeof(trial *)));
    trial *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "measuring a model");
    b->trials[b->trial_count++] = fresh;
    fresh->grain = grain;
    fresh->problem = *problem;
    sh_job *job = &fresh->job;
    sh_job_init(job);
    snprintf(job->model, sizeof job->model, "%s", spec);
    job->batch_size = b->lanes * grain;
    job->grain = grain;
    job->lr = 1e-6f; /* keeps the weights almost constant */
    snprintf(job->data, sizeof job->data, "noise:%zux%zux%zu/%zu/%u/%u", problem->channels,
             problem->height, problem->width, problem->outputs, job->batch_size, grain);
    if (problem->target == SH_TARGET_SAMPLE)
        snprintf(job->task, sizeof job->task, "%s", sh_target_name(problem->target));
    SH_TRY(sh_job_complete(job));
    *t = fresh;
    return SH_OK;
}

static sh_status take_steps(const rig *r, const bench *b, uint64_t steps, double *seconds)
{
    sh_step_result result;
    const sh_part part = {.share = {0, b->lanes}, .of = b->lanes, .engine = sh_engine_solo()};
    const uint64_t begun_ns = sh_clock_now_ns(sh_clock_system());
    for (uint64_t i = 0; i < steps; i++)
        SH_TRY(sh_trainer_step(r->trainer, &part, &result));
    *seconds = (double)(sh_clock_now_ns(sh_clock_system()) - begun_ns) * 1e-9;
    return SH_OK;
}

static void keep_round(trial *t, const rig *r, const bench *b, uint64_t steps, double seconds)
{
    const uint32_t round = t->rounds++;
    const sh_lanes *lanes = sh_trainer_lanes(r->trainer);
    const sh_stopwatch *watch = sh_trainer_stopwatch(r->trainer);
    double program_ns = 0, prepare_ns = 0, spans_ns[SH_SPAN_COUNT] = {0};
    uint64_t executions = 0;
    for (uint32_t lane = 0; lane < b->lanes; lane++)
        for (int kind = 0; kind < SH_SPAN_COUNT; kind++)
            spans_ns[kind] += (double)watch->spans[lane].ns[kind];
    for (size_t i = 0; i < t->length; i++) {
        sh_work_time all = {0};
        for (uint32_t lane = 0; lane < b->lanes; lane++) {
            const sh_work_time *times =
                sh_execution_times(sh_lanes_execution(lanes, lane, SH_MODEL_TRAIN, t->grain));
            all.count += times[i].count;
            all.ns += times[i].ns;
        }
        *(t->prepares[i] ? &prepare_ns : &program_ns) += (double)all.ns;
        if (!t->prepares[i] && all.count > executions)
            executions = all.count;
        if (all.count > 0)
            t->times[i * MOST_ROUNDS + round] = (double)all.ns * 1e-9 / (double)all.count;
    }
    const double n = (double)steps, lane_ns = spans_ns[SH_SPAN_BUSY] - prepare_ns;
    const double turn_ns = lane_ns - spans_ns[SH_SPAN_SUM] - spans_ns[SH_SPAN_APPLY];
    const double rest_ns = turn_ns - spans_ns[SH_SPAN_READ] - program_ns;
    t->step[round] = seconds / n;
    t->clear[round] = spans_ns[SH_SPAN_SUM] * 1e-9 / n;
    t->read[round] = spans_ns[SH_SPAN_READ] * 1e-9 / n / t->job.batch_size;
    t->apply[round] = spans_ns[SH_SPAN_APPLY] * 1e-9 / n;
    t->grain_rest[round] = fmax(rest_ns, 0) * 1e-9 / (double)(executions > 0 ? executions : 1);
    t->turn[round] = turn_ns * 1e-9 / n / b->lanes;
    t->step_rest[round] = fmax(seconds - (prepare_ns + lane_ns / b->lanes) * 1e-9, 0) / n;
}

/* Warms up, then takes at least `least` rounds, until `seconds` are over. */
static sh_status take_rounds(trial *t, const rig *r, const bench *b, uint32_t least, double seconds)
{
    double took, spent = 0;
    SH_TRY(take_steps(r, b, 1, &took)); /* finds the exponents of the sum */
    SH_TRY(take_steps(r, b, 1, &took));
    const double fits = ROUND_SECONDS / (took > 1e-6 ? took : 1e-6);
    const uint64_t steps = fits < 1 ? 1 : (uint64_t)fits + 1;
    const uint32_t begun = t->rounds;
    least = took > PASSES * seconds ? 1 : least; /* a slow trial has only this pass */
    while (t->rounds - begun < PASS_ROUNDS && (t->rounds - begun < least || spent < seconds)) {
        sh_trainer_clear_times(r->trainer);
        SH_TRY(take_steps(r, b, steps, &took));
        keep_round(t, r, b, steps, took);
        spent += took;
    }

    /* The middle half by step time counts. */
    for (uint32_t i = 0; i < t->rounds; i++) {
        uint32_t at = i;
        for (; at > 0 && t->step[t->order[at - 1]] > t->step[i]; at--)
            t->order[at] = t->order[at - 1];
        t->order[at] = i;
    }
    t->first = t->rounds / 4;
    t->end = t->rounds - t->rounds / 4;
    return SH_OK;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of all rounds, for an instruction with disturbed rounds. */
static double median(const double *by_round, uint32_t rounds)
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, by_round, rounds * sizeof *sorted);
    qsort(sorted, rounds, sizeof *sorted, ascending);
    return sorted[rounds / 2];
}

/* Returns the bytes of its lanes. */
static sh_status take_pass(trial *t, bench *b, double *lane_bytes)
{
    rig r = {0};
    const bool first = t->rounds == 0;
    const uint64_t begun_ns = sh_clock_now_ns(sh_clock_system());
    const sh_pipeline_options options = sh_job_pipeline(&t->job);
    sh_lane_size size;
    sh_status status;
    SH_TRY_DONE(sh_pipeline_open(&r.pipeline, t->job.data, &options));
    SH_TRY_DONE(sh_replica_new(&r.replica, &t->job, &t->problem));
    SH_TRY_DONE(sh_trainer_new(&r.trainer, &(sh_trainer_options){.job = &t->job,
                                                                 .pipeline = r.pipeline,
                                                                 .kernels = b->kernels,
                                                                 .replica = r.replica,
                                                                 .lanes = b->lanes,
                                                                 .clock = sh_clock_system()}));
    const sh_lanes *lanes = sh_trainer_lanes(r.trainer);
    for (size_t i = 0; sh_lanes_program(lanes, i, &size, &r.program, &r.graph); i++)
        if (size.mode == SH_MODEL_TRAIN)
            break;
    *lane_bytes = (double)sh_lanes_bytes(lanes);
    if (first) {
        t->length = sh_program_length(r.program);
        t->weights = r.replica->weight_count;
        t->optimizer_words = sh_optimizer_words(t->weights, r.replica->slot_count);
        t->works = calloc(t->length, sizeof *t->works);
        t->prepares = calloc(t->length, sizeof *t->prepares);
        t->times = calloc(t->length * MOST_ROUNDS, sizeof *t->times);
        t->places = calloc(t->length, sizeof *t->places);
        if (t->works == NULL || t->prepares == NULL || t->times == NULL || t->places == NULL) {
            status =
                sh_fail_memory(t->length * MOST_ROUNDS * sizeof *t->times, "measuring a model");
            goto done;
        }
        for (size_t i = 0; i < t->length; i++) {
            const sh_work work = sh_program_work(r.program, i);
            t->works[i] = sh_measurement_of(&work, r.graph, t->grain);
            t->prepares[i] = work.prepares;
        }
        SH_TRY_DONE(sh_layer_parts(&t->layers, &t->layer_count, t->places, r.program, r.graph));
    }
    SH_TRY_DONE(take_rounds(t, &r, b, first ? LEAST_ROUNDS : 1, b->seconds / SIZES / PASSES));
done:
    sh_trainer_free(r.trainer);
    sh_replica_free(r.replica);
    sh_pipeline_close(r.pipeline);
    if (first)
        t->pass_seconds = (double)(sh_clock_now_ns(sh_clock_system()) - begun_ns) * 1e-9;
    return sh_fail_in(status, "measuring %.64s at grain %u", t->job.model, t->grain);
}

/* The first pass of a model, for each grain size that fits its time. */
static sh_status measure_model(bench *b, const char *spec, const sh_problem *problem, bool asked)
{
    const sh_model_options model = {.spec = spec, .problem = *problem};
    double flops = 0, step_seconds = 0, lane_bytes = 0;
    char note[SH_MODEL_BYTES + 128];
    sh_plan_layer *layers;
    sh_graph *graph;
    size_t count;
    SH_TRY(sh_model_build(&graph, &model, 1, SH_MODEL_TRAIN));
    const sh_status status = sh_breakdown(&layers, &count, graph, NULL);
    sh_graph_free(graph);
    SH_TRY(status);
    for (size_t i = 0; i < count; i++)
        flops += layers[i].forward_flops + layers[i].backward_flops;
    free(layers);
    const double one = flops * b->lanes / (USUAL_PART * b->known.matrix.all);
    if (!asked && one * STEPS_NEEDED > TIME_MOST * b->seconds) {
        snprintf(note, sizeof note,
                 "left out    %s: a step of one sample would take about %.0f s (--models %s)", spec,
                 one, spec);
        tell(b, note);
        return SH_OK;
    }
    snprintf(note, sizeof note, "measuring   %s", spec);
    tell(b, note);
    const double memory_limit =
        (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / MEMORY_PART;
    const size_t first = one * (double)grains[1] * STEPS_NEEDED > TIME_MORE * b->seconds ? 0u : 1u;
    for (size_t i = first; i < GRAINS; i++) {
        const double growth = i == first ? 1 : (double)grains[i] / (double)grains[i - 1];
        if (i > first && (step_seconds * growth * STEPS_NEEDED > TIME_MORE * b->seconds ||
                          lane_bytes * growth > memory_limit))
            break;
        trial *t;
        SH_TRY(trial_new(&t, b, spec, problem, grains[i]));
        SH_TRY(take_pass(t, b, &lane_bytes));
        step_seconds = typical(t, t->step);
    }
    return SH_OK;
}

/* `only_check` builds the models without measuring. A name without a spec means its example. */
static sh_status measure_listed(bench *b, bool only_check)
{
    const char *next = b->options->models;
    while (next != NULL) {
        char spec[SH_MODEL_BYTES];
        const size_t length = strcspn(next, ",");
        if (length == 0 || length >= sizeof spec)
            return sh_fail(SH_INVALID, "--models: expected names with commas between them");
        snprintf(spec, sizeof spec, "%.*s", (int)length, next);
        const sh_model_def *def;
        SH_TRY(sh_fail_in(sh_model_find(&def, spec), "--models"));
        if (strchr(spec, ':') == NULL)
            snprintf(spec, sizeof spec, "%s", def->example);
        sh_problem problem = def->example_problem;
        if (b->options->resize != 0)
            problem.height = problem.width = b->options->resize;
        if (problem.target == SH_TARGET_SAMPLE)
            problem.outputs = problem.channels * problem.height * problem.width;
        if (only_check) {
            const sh_model_options model = {.spec = spec, .problem = problem};
            sh_graph *graph;
            SH_TRY(sh_model_build(&graph, &model, 1, SH_MODEL_EVALUATE));
            sh_graph_free(graph);
        } else {
            SH_TRY(measure_model(b, spec, &problem, true));
        }
        next = next[length] == ',' ? next + length + 1 : NULL;
    }
    return SH_OK;
}

static sh_status keep(bench *b, sh_measurement one, double seconds, const trial *t)
{
    const double each = typical(t, t->step);
    one.seconds = seconds;
    one.count = (uint32_t)fmin(fmax(1 / each, 1), WEIGHT_MOST);
    return sh_measurements_add(&b->known, &one);
}

/* A step's time beyond its lanes' work has a fixed part, the minimum of all trials, and the lag of
 * the last lane, a fraction of the grains' time, which is the median of the trials. */
static sh_status learn_rests(bench *b)
{
    double fixed = (double)INFINITY;
    double *lags = calloc(b->trial_count, sizeof *lags);
    if (lags == NULL)
        return sh_fail_memory(b->trial_count * sizeof *lags, "measuring");
    for (size_t i = 0; i < b->trial_count; i++)
        fixed = fmin(fixed, typical(b->trials[i], b->trials[i]->step_rest));
    for (size_t i = 0; i < b->trial_count; i++) {
        const trial *t = b->trials[i];
        lags[i] = (typical(t, t->step_rest) - fixed) / fmax(typical(t, t->turn), 1e-9);
    }
    qsort(lags, b->trial_count, sizeof *lags, ascending);
    const double lag = lags[b->trial_count / 2];
    free(lags);
    sh_measurement one = sh_measurement_named(SH_TIME_STEP, 1);
    one.seconds = fixed;
    SH_TRY(sh_measurements_add(&b->known, &one));
    one = sh_measurement_named(SH_TIME_LAG, 1);
    one.seconds = lag;
    return sh_measurements_add(&b->known, &one);
}

static sh_status evaluate(bench *b)
{
    sh_bench_result *result = b->result;
    if (b->trial_count == 0)
        return SH_OK;
    result->models = calloc(b->trial_count, sizeof *result->models);
    if (result->models == NULL)
        return sh_fail_memory(b->trial_count * sizeof *result->models, "measuring");
    result->model_count = b->trial_count;
    for (size_t i = 0; i < b->trial_count; i++) {
        const trial *t = b->trials[i];
        for (size_t j = 0; j < t->length; j++)
            SH_TRY(keep(b, t->works[j], typical(t, t->times + j * MOST_ROUNDS), t));
        SH_TRY(keep(b, sh_measurement_named(SH_TIME_CLEAR, (double)t->weights),
                    typical(t, t->clear), t));
        SH_TRY(keep(b, sh_measurement_named(SH_TIME_APPLY, (double)t->optimizer_words),
                    typical(t, t->apply), t));
        SH_TRY(
            keep(b, sh_measurement_named(SH_TIME_GRAIN, t->grain), typical(t, t->grain_rest), t));
    }
    SH_TRY(learn_rests(b));
    for (size_t i = 0; i < b->trial_count; i++) {
        trial *t = b->trials[i];
        const double step_seconds = typical(t, t->step);
        double flops = 0;
        sh_step_shape shape = {
            .lanes = b->lanes,
            .grains = b->lanes,
            .grain_samples = t->grain,
            .read_seconds = typical(t, t->read),
            .weights = t->weights,
            .optimizer_words = t->optimizer_words,
        };
        for (size_t j = 0; j < t->length; j++) {
            const sh_layer_place *place = &t->places[j];
            if (place->layer != SH_NO_LAYER)
                t->layers[place->layer].parts[place->part].seconds +=
                    median(t->times + j * MOST_ROUNDS, t->rounds);
            flops += t->works[j].flops;
            *(t->prepares[j] ? &shape.grain.prepare : &shape.grain.run) +=
                sh_time_of(&b->known, &t->works[j]);
        }
        result->models[i] = (sh_bench_model){
            .grain = t->grain,
            .grains_per_second = b->lanes / step_seconds,
            .samples_per_second = t->job.batch_size / step_seconds,
            .flops_per_second = flops * b->lanes / step_seconds,
            .step_seconds = step_seconds,
            .predicted_seconds = sh_time_of_step(&b->known, &shape).seconds,
            .layers = t->layers,
            .layer_count = t->layer_count,
        };
        t->layers = NULL;
        snprintf(result->models[i].model, sizeof result->models[i].model, "%s", t->job.model);
    }
    return SH_OK;
}

/* Keeps other work from an earlier measurement with the same lanes and variant. */
static sh_status save(bench *b, char path[SH_PATH_BYTES])
{
    sh_measurements before = {0};
    sh_status status;
    SH_TRY(sh_device_file_path(path));
    const bool found = b->options->models != NULL && sh_device_file_read(&before, path) == SH_OK &&
                       before.lanes == b->known.lanes &&
                       strcmp(before.variant, b->known.variant) == 0;
    for (size_t i = 0; i < before.count && found; i++) {
        const sh_measurement *item = &before.items[i];
        size_t count;
        const sh_measurement *now =
            sh_measurements_find(&b->known, item->name, &item->class, &count);
        bool known = false;
        for (size_t j = 0; j < count; j++)
            known = known || now[j].size == item->size;
        if (!known)
            SH_TRY_DONE(sh_measurements_add(&b->known, item));
    }
    status = sh_device_file_write(path, &b->known);
done:
    sh_measurements_release(&before);
    return status;
}

static sh_bench_rate public_rate(sh_rate rate)
{
    return (sh_bench_rate){rate.one, rate.all};
}

static sh_status run(bench *b)
{
    sh_bench_result *result = b->result;
    const uint64_t begun_ns = sh_clock_now_ns(sh_clock_system());
    double lane_bytes;
    char path[SH_PATH_BYTES], note[SH_MESSAGE_BYTES + 64];
    SH_TRY(sh_kernels_choose(&b->kernels, NULL));
    SH_TRY(measure_listed(b, true));
    b->known.lanes = result->lanes = b->lanes;
    snprintf(b->known.variant, sizeof b->known.variant, "%s", b->kernels->name);
    snprintf(result->variant, sizeof result->variant, "%s", b->kernels->name);

    tell(b, "measuring   arithmetic and memory");
    SH_TRY(sh_peaks_measure(&b->known, b->kernels, b->lanes, sh_clock_system(),
                            fmin(PEAK_SECONDS, 4 * b->seconds)));
    result->multiply_add = public_rate(b->known.multiply_add);
    result->matrix = public_rate(b->known.matrix);
    result->convolution = public_rate(b->known.convolution);
    result->copy = public_rate(b->known.copy);
    result->triad = public_rate(b->known.triad);

    SH_TRY(measure_listed(b, false));
    for (const sh_model_def *const *all = sh_model_all();
         *all != NULL && b->options->models == NULL; all++)
        SH_TRY(measure_model(b, (*all)->example, &(*all)->example_problem, false));
    for (int pass = 1; pass < PASSES; pass++)
        for (size_t i = 0; i < b->trial_count; i++)
            if (b->trials[i]->pass_seconds < PASS_MOST * b->seconds)
                SH_TRY(take_pass(b->trials[i], b, &lane_bytes));
    SH_TRY(evaluate(b));

    if (save(b, path) != SH_OK) {
        snprintf(note, sizeof note, "the figures are not saved: %s", sh_message());
        tell(b, note);
    } else if (strlen(path) < sizeof result->file) {
        memcpy(result->file, path, strlen(path) + 1);
    }
    result->seconds = (double)(sh_clock_now_ns(sh_clock_system()) - begun_ns) * 1e-9;
    return SH_OK;
}

sh_status sh_bench(const sh_bench_options *options, sh_bench_result *result)
{
    sh_bench_result fresh = {0};
    bench b = {
        .options = options,
        .result = &fresh,
        .lanes = options->lanes > 0 ? options->lanes : sh_host_cores(),
        .seconds = options->seconds > 0 ? options->seconds : USUAL_SECONDS,
    };
    const sh_status status = run(&b);
    sh_measurements_release(&b.known);
    for (size_t i = 0; i < b.trial_count; i++) {
        free(b.trials[i]->works);
        free(b.trials[i]->prepares);
        free(b.trials[i]->times);
        free(b.trials[i]->places);
        free(b.trials[i]->layers);
        free(b.trials[i]);
    }
    free(b.trials);
    if (status != SH_OK) {
        sh_bench_result_release(&fresh);
        return status;
    }
    *result = fresh;
    return SH_OK;
}

void sh_bench_result_release(sh_bench_result *result)
{
    for (size_t i = 0; i < result->model_count; i++)
        free(result->models[i].layers);
    free(result->models);
    result->models = NULL;
    result->model_count = 0;
}
