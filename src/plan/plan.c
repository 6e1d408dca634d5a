/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan compiles the job's programs as a training would, with its own grain and others to compare,
 * and discards them, so sizes are exact. Times come from the device's figures (plan/time_model),
 * except reading, which depends on the data and is measured.
 *
 * A memory limit leads to a tier (train/lanes) in which some segments are recomputed and each grain
 * converts weights. Only the job's own programs are compiled in that tier; those of other grains
 * have no limit.
 */
#include "shoal/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/memory.h"
#include "onnx/model_cache.h"
#include "onnx/unfolded.h"
#include "plan/breakdown.h"
#include "plan/cluster_plan.h"
#include "plan/device_file.h"
#include "plan/time_model.h"
#include "train/lane_list.h"
#include "train/session.h"
#include "train/strategy.h"
#include "train/traffic.h"

#define READ_SAMPLES 64
#define READ_PASSES 5

static const uint32_t usual_grains[] = {4, 8, 16, 32, 64};
#define USUAL_GRAINS (sizeof usual_grains / sizeof *usual_grains)

typedef struct planning {
    sh_session *session; /* opened, not started */
    sh_plan_result *result;
    sh_measurements known;
    sh_problem problem;
    sh_footprint footprint; /* of the job's own grain */
    sh_inventory inventory;
    double deadline_s; /* 0: none */
    sh_traffic traffic;
} planning;

typedef struct compiled {
    sh_graph *graph;
    sh_program *program;
} compiled;

static void drop(compiled *c)
{
    sh_program_free(c->program);
    sh_graph_free(c->graph);
    *c = (compiled){0};
}

static sh_status compile_with(const planning *p, compiled *c, sh_lane_size size,
                              sh_prepared *prepared, uint32_t segments)
{
    const sh_model_options model =
        sh_replica_model(&p->session->job, &p->problem, p->session->network);
    *c = (compiled){0};
    SH_TRY(sh_lanes_graph(&c->graph, &model, size, segments));
    const sh_status status =
        sh_program_compile_with(&c->program, c->graph, p->session->kernels, prepared);
    if (status != SH_OK)
        drop(c);
    return status;
}

/* The job's own grain comes first. */
static bool is_own(const planning *p)
{
    return p->result->grain_count == 0;
}

static sh_status compile(const planning *p, compiled *c, uint32_t samples)
{
    sh_prepared *prepared;
    const bool own = is_own(p);
    SH_TRY(sh_prepared_new(&prepared, own && p->footprint.on_demand));
    const sh_status status = compile_with(p, c, (sh_lane_size){SH_MODEL_TRAIN, samples}, prepared,
                                          own ? p->footprint.segments : 0);
    sh_prepared_free(prepared);
    return status;
}

static sh_status measure_memory(const planning *p, sh_plan_grain *row, const compiled *training)
{
    static const sh_model_mode modes[] = {SH_MODEL_TRAIN, SH_MODEL_EVALUATE};
    sh_footprint footprint = p->footprint;
    sh_prepared *prepared = NULL;
    uint64_t inputs = 0;
    sh_status status = SH_OK;
    if (!is_own(p)) {
        /* Other grains recompute nothing. */
        footprint.lane = 0;
        footprint.lanes = footprint.lanes_asked;
        SH_TRY(sh_prepared_new(&prepared, false));
        for (int i = 0; i < 2; i++) {
            compiled c;
            SH_TRY_DONE(compile_with(p, &c, (sh_lane_size){modes[i], row->grain}, prepared, 0));
            if (sh_program_lane_bytes(c.program) > footprint.lane)
                footprint.lane = sh_program_lane_bytes(c.program);
            drop(&c);
        }
        footprint.prepared =
            sh_prepared_bytes(prepared) * (footprint.own > 0 ? footprint.lanes : 1);
    }
    for (size_t i = 0; i < training->graph->input_count; i++)
        inputs += sh_type_bytes(sh_graph_type(training->graph, training->graph->inputs[i]));
    row->weights_bytes = footprint.weights;
    row->sum_bytes = footprint.sum;
    row->optimizer_bytes = footprint.optimizer;
    row->prepared_bytes = footprint.prepared;
    row->input_bytes = inputs;
    row->worker_bytes = footprint.own;
    row->activations_bytes = footprint.lane > inputs ? footprint.lane - inputs : 0;
    row->base_bytes = sh_footprint_program(&footprint);
    row->total_bytes = sh_footprint_total(&footprint);
done:
    sh_prepared_free(prepared);
    return status;
}

/* `full` is the program of a full grain. */
static sh_status time_of_batch(const planning *p, sh_step_time *step, uint32_t samples,
                               uint32_t grain, uint32_t lanes, const sh_program_time *full)
{
    const sh_replica *replica = p->session->replica;
    sh_step_shape shape = {
        .lanes = lanes,
        .grains = samples / grain,
        .grain_samples = grain,
        .last_samples = samples % grain,
        .grain = *full,
        .read_seconds = p->result->read_seconds,
        .weights = replica->summed_count,
        .optimizer_words = sh_optimizer_words(replica->summed_count, replica->slot_count),
    };
    if (shape.last_samples > 0) {
        compiled last;
        SH_TRY(compile(p, &last, shape.last_samples));
        shape.last =
            sh_time_of_program(&p->known, last.program, last.graph, shape.last_samples, NULL);
        drop(&last);
    }
    *step = sh_time_of_step(&p->known, &shape);
    return SH_OK;
}

static sh_status measure_time(const planning *p, sh_plan_grain *row, const sh_program_time *full)
{
    const sh_job *job = &p->session->job;
    const uint32_t samples = sh_pipeline_about(p->session->pipeline)->count[SH_SPLIT_TRAIN];
    const uint32_t lanes = is_own(p) ? p->footprint.lanes : p->footprint.lanes_asked;
    double epoch_steps, turns = 1; /* how often a lane does the step */
    sh_step_time step, last = {0};
    if (job->workers > 0) {
        /* With local:H, each lane makes all local steps of one worker, then of the next. */
        const sh_schedule schedule = sh_schedule_of(job, samples);
        const sh_schedule local = sh_schedule_local(&schedule);
        const uint32_t rounds = (job->workers + lanes - 1) / lanes;
        epoch_steps = (double)schedule.epoch_steps;
        turns = (double)rounds * (double)local.epoch_steps / epoch_steps;
        SH_TRY(time_of_batch(p, &step, sh_schedule_worker_batch(&schedule), row->grain, 1, full));
    } else {
        const uint32_t batch = job->batch_size, most = batch < samples ? batch : samples;
        const uint32_t whole_steps = samples / most;
        epoch_steps = whole_steps;
        SH_TRY(time_of_batch(p, &step, most, row->grain, lanes, full));
        if (samples > batch && samples % batch > 0)
            SH_TRY(time_of_batch(p, &last, samples % batch, row->grain, lanes, full));
    }
    row->compute_seconds = turns * step.compute;
    row->prepare_seconds = turns * step.prepare;
    row->optimizer_seconds = turns * step.optimizer;
    row->other_seconds = step.other;
    row->step_seconds = turns * (step.compute + step.prepare + step.optimizer) + step.other;
    row->epoch_seconds = epoch_steps * row->step_seconds + last.seconds;
    return SH_OK;
}

static sh_status plan_grain(const planning *p, uint32_t grain)
{
    sh_plan_result *result = p->result;
    const sh_dataset_info *info = sh_pipeline_about(p->session->pipeline);
    const uint32_t workers = p->session->job.workers > 0 ? p->session->job.workers : 1;
    const uint32_t most = p->session->job.batch_size / workers;
    const uint32_t batch = most < info->count[SH_SPLIT_TRAIN] ? most : info->count[SH_SPLIT_TRAIN];
    const uint32_t samples = grain < batch ? grain : batch;
    sh_plan_grain *row = &result->grains[result->grain_count];
    compiled training;
    *row = (sh_plan_grain){
        .grain = samples,
        .grains = (batch + samples - 1) / samples * workers,
        .step_seconds = (double)NAN,
        .compute_seconds = (double)NAN,
        .prepare_seconds = (double)NAN,
        .optimizer_seconds = (double)NAN,
        .other_seconds = (double)NAN,
        .epoch_seconds = (double)NAN,
    };
    SH_TRY(compile(p, &training, samples));
    sh_status status;
    double *by_node = calloc(training.graph->node_count + 1, sizeof *by_node);
    if (by_node == NULL)
        SH_TRY_DONE(sh_fail_memory(training.graph->node_count * sizeof *by_node, "the plan"));
    SH_TRY_DONE(measure_memory(p, row, &training));
    if (result->timed) {
        const sh_program_time full =
            sh_time_of_program(&p->known, training.program, training.graph, samples, by_node);
        SH_TRY_DONE(measure_time(p, row, &full));
    }
    if (is_own(p))
        SH_TRY_DONE(sh_breakdown(&result->layers, &result->layer_count, training.graph,
                                 result->timed ? by_node : NULL));
    result->grain_count++;
done:
    free(by_node);
    drop(&training);
    return status;
}

/* Seconds per sample: the minimum of several passes, to exclude the disk and disturbances. */
static sh_status time_reading(const planning *p, double *seconds)
{
    const sh_pipeline *pipeline = p->session->pipeline;
    const sh_dataset_info *info = sh_pipeline_about(pipeline);
    const uint32_t count =
        info->count[SH_SPLIT_TRAIN] < READ_SAMPLES ? info->count[SH_SPLIT_TRAIN] : READ_SAMPLES;
    void *pixels;
    double least = INFINITY;
    float weight;
    sh_order order;
    sh_status status;
    sh_order_init(&order, p->session->job.seed, 0, info->count[SH_SPLIT_TRAIN]);
    const size_t values = sh_dataset_elements(info);
    const size_t floats = values + info->outputs;
    SH_TRY(sh_block_new(&pixels, 2 * floats * sizeof(float), "two samples"));
    float *first = pixels, *second = first + floats;
    for (int pass = 0; pass < READ_PASSES; pass++) {
        const uint64_t begun_ns = sh_clock_now_ns(sh_clock_system());
        for (uint32_t i = 0; i < count; i++)
            SH_TRY_DONE(sh_pipeline_read_mixed(pipeline, &order, i, first, second, first + values,
                                               second + values, &weight));
        const uint64_t took_ns = sh_clock_now_ns(sh_clock_system()) - begun_ns;
        least = fmin(least, (double)took_ns * 1e-9 / count);
    }
    *seconds = least;
    status = SH_OK;
done:
    free(pixels);
    return status;
}

/* Loads the device's figures, or notes why there are none. Without them, a plan has no times. */
static void load_figures(planning *p)
{
    char path[SH_PATH_BYTES];
    sh_plan_result *result = p->result;
    if (sh_device_file_path(path) != SH_OK || sh_device_file_read(&p->known, path) != SH_OK) {
        snprintf(result->note, sizeof result->note, "no times: %.900s", sh_message());
        return;
    }
    result->timed = strcmp(p->known.variant, result->variant) == 0;
    if (!result->timed)
        snprintf(result->note, sizeof result->note,
                 "no times: this device was measured with the variant %s, not %s; run shoal bench "
                 "with it",
                 p->known.variant, result->variant);
}

static sh_status open_session(planning *p, sh_job *job)
{
    sh_network *network, *with_norms = NULL;
    sh_onnx *file;
    sh_status status;
    SH_TRY(sh_model_cache_open(&network, &file, job->model));
    if (job->unfold != 0)
        SH_TRY_DONE(sh_onnx_unfold_all(&with_norms, file, job->model));
    const sh_session_data data = {.network = with_norms != NULL ? with_norms : network};
    if (data.network != NULL)
        snprintf(job->model, sizeof job->model, "%s", data.network->spec);
    SH_TRY_DONE(sh_session_open(&p->session, job, &data));
done:
    sh_onnx_close(file);
    sh_network_unref(with_norms);
    sh_network_unref(network);
    return status;
}

/* Parses "90s" or "1.5h". */
static sh_status read_deadline(double *seconds, const char *text)
{
    char *unit;
    const double number = strtod(text, &unit);
    const double scale = strcmp(unit, "s") == 0   ? 1
                         : strcmp(unit, "m") == 0 ? 60
                         : strcmp(unit, "h") == 0 ? 3600
                         : strcmp(unit, "d") == 0 ? 86400
                                                  : 0;
    if (unit == text || scale == 0 || !isfinite(number) || number <= 0)
        return sh_fail(SH_INVALID, "--deadline %s: expected a time such as 90s, 20m, 1.5h or 2d",
                       text);
    *seconds = number * scale;
    return SH_OK;
}

static sh_status read_devices(planning *p, const sh_plan_options *options, const sh_job *job)
{
    sh_strategy strategy;
    const bool several = options->on != NULL || options->devices != NULL;
    if (!several && (options->energy || options->deadline != NULL))
        return sh_fail(SH_INVALID, "%s: name the devices with --on",
                       options->energy ? "--energy" : "--deadline");
    if (!several)
        return SH_OK;
    if (options->deadline != NULL)
        SH_TRY(read_deadline(&p->deadline_s, options->deadline));
    SH_TRY(sh_strategy_parse(&strategy, job->strategy));
    if (strategy.row->apart || strategy.row->local)
        return sh_fail(SH_UNSUPPORTED,
                       "--on: with --strategy %s devices do not compute steps together; plan it "
                       "with sync or ps-sync",
                       job->strategy);
    return options->devices != NULL ? sh_inventory_of_list(&p->inventory, options->devices)
                                    : sh_inventory_parse(&p->inventory, options->on);
}

static sh_status look_out(const planning *p, const sh_job *job, bool energy)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, job->strategy));
    p->result->steps = sh_schedule_of(job, (uint32_t)p->result->samples).total_steps;
    const sh_cluster_plan asked = {.inventory = &p->inventory,
                                   .traffic = p->traffic,
                                   .wire = job->wire,
                                   .batch_size = job->batch_size,
                                   .servers = strategy.row->servers,
                                   .energy = energy,
                                   .limit_s = p->deadline_s / (double)p->result->steps};
    return sh_cluster_plan_fill(p->result, &asked);
}

static sh_status run(planning *p, const sh_plan_options *options)
{
    sh_plan_result *result = p->result;
    sh_job job = options->job;
    sh_lane_list lanes;
    SH_TRY(sh_job_complete(&job));
    SH_TRY(read_devices(p, options, &job));
    SH_TRY(sh_lane_list_parse(&lanes, options->lanes));
    if (lanes.gpu_count > 0)
        return sh_fail(SH_UNSUPPORTED, "--lanes %s: plans do not support GPUs yet; leave gpu: out",
                       options->lanes);
    SH_TRY(open_session(p, &job));
    const sh_dataset_info *info = sh_pipeline_about(p->session->pipeline);
    p->problem = sh_lanes_problem(info);
    /* Sets the lanes up as a training would, with the same limit, before anything else uses
     * memory. */
    SH_TRY(sh_session_start(p->session, lanes.cores, options->memory));
    p->footprint = *sh_trainer_footprint(p->session->trainer);
    p->traffic = sh_trainer_traffic(p->session->trainer);
    sh_trainer_free(p->session->trainer);
    p->session->trainer = NULL;
    sh_memory_trim();
    if (options->memory != 0)
        sh_footprint_print(result->memory_note, &p->footprint, options->memory);
    result->lanes = p->footprint.lanes;
    result->parameters = sh_model_parameters(p->session->replica->graph);
    result->samples = info->count[SH_SPLIT_TRAIN];
    snprintf(result->variant, sizeof result->variant, "%s", p->session->kernels->name);
    load_figures(p);
    SH_TRY(time_reading(p, &result->read_seconds));

    result->grains = calloc(USUAL_GRAINS + 1, sizeof *result->grains);
    if (result->grains == NULL)
        return sh_fail_memory((USUAL_GRAINS + 1) * sizeof *result->grains, "the plan");
    const uint32_t most = job.batch_size / (job.workers > 0 ? job.workers : 1);
    SH_TRY(plan_grain(p, job.grain));
    for (size_t i = 0; i < USUAL_GRAINS; i++)
        if (usual_grains[i] != job.grain && usual_grains[i] <= most)
            SH_TRY(plan_grain(p, usual_grains[i]));
    return p->inventory.devices > 0 ? look_out(p, &job, options->energy) : SH_OK;
}

sh_status sh_plan(const sh_plan_options *options, sh_plan_result *result)
{
    sh_plan_result fresh = {0};
    planning p = {.result = &fresh};
    const sh_status status = run(&p, options);
    sh_measurements_release(&p.known);
    sh_session_close(p.session);
    if (status != SH_OK) {
        sh_plan_result_release(&fresh);
        return status;
    }
    *result = fresh;
    return SH_OK;
}

void sh_plan_result_release(sh_plan_result *plan)
{
    free(plan->layers);
    free(plan->grains);
    free(plan->points);
    free(plan->ways);
    plan->layers = NULL;
    plan->grains = NULL;
    plan->points = NULL;
    plan->ways = NULL;
    plan->layer_count = plan->grain_count = plan->point_count = plan->way_count = 0;
}
