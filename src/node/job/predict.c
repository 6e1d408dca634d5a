/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of new files become the data set of a session, so they are processed like the
 * training's. They are read and computed in rounds of one group per lane. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/real.h"
#include "data/description.h"
#include "data/file_samples.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "node/job/trained_file.h"
#include "shoal/predict.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "train/forward.h"
#include "train/job_options.h"
#include "train/pretrained.h"
#include "train/snapshot.h"

typedef struct ranked {
    double value;
    uint32_t index;
} ranked;

struct sh_predictor {
    sh_predictor_info info;
    char used[SH_PATH_BYTES], note[SH_PREDICT_NOTE_BYTES];
    sh_trained_file model; /* zero: a run */
    sh_network *network;
    sh_trained *trained;
    sh_file_samples *files;
    sh_session *session;
    sh_forward *forward;
    json_t *description;
    char number[SH_DESCRIPTION_NUMBER];
    uint32_t slots;
    sh_target target;

    float *losses, *given; /* [slots], [slots][info.outputs]; owned, like the next */
    double *values;
    uint32_t *order;
    ranked *ranking;
};

/* ---- reporting ------------------------------------------------------------------------------- */

/* Called on any lane, for its own samples. */
static void collect(void *context, const sh_answers *answers)
{
    sh_predictor *p = context;
    const uint32_t first = answers->samples.first, count = answers->samples.count;
    memcpy(p->losses + first, answers->losses, count * sizeof *p->losses);
    if (p->given != NULL)
        memcpy(p->given + (size_t)first * p->info.outputs, answers->given,
               (size_t)count * p->info.outputs * sizeof *p->given);
}

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

/* Equal outputs are in order of their numbers. */
static void rank(sh_predictor *p, const float *given)
{
    const uint32_t outputs = p->info.outputs;
    for (uint32_t k = 0; k < outputs; k++)
        p->ranking[k] = (ranked){(double)given[k], k};
    qsort(p->ranking, outputs, sizeof *p->ranking, by_value);
    for (uint32_t k = 0; k < outputs; k++)
        p->order[k] = p->ranking[k].index;
}

/* Softmax. The likeliest class has the same bits as in train/metrics.c. */
static void find_probabilities(sh_predictor *p, const float *given)
{
    const double most = (double)given[p->order[0]];
    double sum = 0;
    for (uint32_t k = 0; k < p->info.outputs; k++) {
        p->values[k] = sh_real_exp((double)given[k] - most);
        sum += p->values[k];
    }
    for (uint32_t k = 0; k < p->info.outputs; k++)
        p->values[k] /= sum;
}

static void find_values(sh_predictor *p, const float *given)
{
    if (p->target == SH_TARGET_CLASS) {
        find_probabilities(p, given);
        return;
    }
    for (uint32_t k = 0; k < p->info.outputs; k++) {
        const sh_target_scale unit = sh_description_scale(p->description, k);
        p->values[k] = p->target == SH_TARGET_LABELS
                           ? 1 / (1 + sh_real_exp(-(double)given[k]))
                           : (double)given[k] * unit.deviation + unit.mean;
    }
}

static void tell(sh_predictor *p, uint32_t index, const sh_predict_calls *calls)
{
    const sh_file_sample *slot = sh_file_samples_slot(p->files, index);
    const bool ranks = p->target == SH_TARGET_CLASS || p->target == SH_TARGET_LABELS;
    if (slot->failed) {
        if (calls->on_failure != NULL)
            calls->on_failure(calls->context,
                              slot->failure != NULL ? slot->failure : "not enough memory");
        return;
    }
    sh_prediction told = {.name = slot->name,
                          .target = slot->target,
                          .error = p->given == NULL ? (double)p->losses[index] : NAN};
    if (p->given != NULL) {
        const float *given = p->given + (size_t)index * p->info.outputs;
        if (ranks)
            rank(p, given);
        find_values(p, given);
        told.values = p->values;
        told.order = ranks ? p->order : NULL;
    }
    calls->on_prediction(calls->context, &told);
}

static sh_status go_through(sh_predictor *p, uint32_t most, const sh_predict_calls *calls)
{
    for (;;) {
        uint32_t filled;
        SH_TRY(sh_file_samples_fill(p->files, most, &filled));
        if (filled == 0)
            return SH_OK;
        SH_TRY(sh_forward_run(p->forward, filled));
        for (uint32_t i = 0; i < filled; i++)
            tell(p, i, calls);
    }
}

sh_status sh_predict_files(sh_predictor *predictor, const char *const *paths, size_t count,
                           const sh_predict_calls *calls)
{
    SH_TRY(sh_file_samples_begin(predictor->files, paths, count));
    return go_through(predictor, predictor->slots, calls);
}

sh_status sh_predict_stream(sh_predictor *predictor, int fd, const sh_predict_calls *calls)
{
    SH_TRY(sh_file_samples_begin_stream(predictor->files, fd));
    return go_through(predictor, 1, calls);
}

sh_status sh_predict_samples(sh_predictor *predictor, const float *samples, size_t count,
                             const sh_predict_calls *calls)
{
    SH_TRY(sh_file_samples_begin_numbers(predictor->files, samples, count));
    return go_through(predictor, predictor->slots, calls);
}

/* ---- opening --------------------------------------------------------------------------------- */

static sh_status open_session(sh_predictor *p, sh_job *job, sh_network *network)
{
    sh_dataset *dataset;
    job->momentum = 0; /* saves its memory */
    SH_TRY(sh_job_complete(job));
    const sh_pipeline_options options = sh_job_pipeline(job);
    SH_TRY(sh_fail_in(sh_file_samples_new(&p->files, p->trained, &options.read, p->slots), "%s",
                      p->used));
    SH_TRY(sh_file_samples_dataset(&dataset, p->files));
    return sh_session_open(
        &p->session, job,
        &(sh_session_data){.network = network, .dataset = dataset, .trained = p->trained});
}

static sh_status open_run(sh_predictor *p, const sh_predict_options *options)
{
    sh_job job;
    sh_safetensors *file;
    sh_status status;
    char unused[SH_MESSAGE_BYTES];
    if (options->normalize != NULL)
        return sh_fail(SH_INVALID, "--normalize: the run records how its samples were normalised");
    SH_TRY(options->last ? sh_checkpoint_open(&file, p->used, options->run)
                         : sh_weights_open_best(&file, p->used, options->run));
    SH_TRY_DONE(sh_snapshot_read_job(&job, file));
    const char *text = sh_snapshot_trained(file);
    if (text == NULL)
        SH_TRY_DONE(sh_fail(
            SH_MISMATCH,
            "%s: does not record how its training data were read; train again with this version",
            p->used));
    SH_TRY_DONE(sh_fail_in(sh_trained_parse(&p->trained, text), "%s", p->used));
    SH_TRY_DONE(sh_run_network_find(&p->network, job.model, sh_safetensors_path(file)));
    SH_TRY_DONE(open_session(p, &job, p->network));
    SH_TRY_DONE(sh_pretrained_load(unused, p->session->replica, file, SH_PRETRAINED_WHOLE));
done:
    sh_safetensors_close(file);
    return status;
}

static sh_status open_file(sh_predictor *p, const sh_predict_options *options)
{
    SH_TRY(sh_path_copy(p->used, options->run));
    SH_TRY(sh_trained_file_open(&p->model, options->run));
    SH_TRY(sh_trained_file_trained(&p->trained, &p->model));
    sh_job job = p->model.job;
    snprintf(job.data, sizeof job.data, "%s", p->trained->info.name);
    if (p->model.trained == NULL)
        snprintf(p->note, sizeof p->note,
                 "%.200s does not describe its samples: photos are cut to %zux%zu pixels, bytes "
                 "divided by 255%s, and classes have no names",
                 p->used, p->trained->info.height, p->trained->info.width,
                 options->normalize != NULL
                     ? " and normalised as requested"
                     : " and not normalised (--normalize imagenet does that)");
    if (options->normalize != NULL && p->model.trained != NULL)
        return sh_fail(SH_INVALID, "--normalize: %.256s defines how its samples are normalised",
                       p->used);
    if (options->normalize != NULL && strcmp(options->normalize, "dataset") == 0)
        return sh_fail(SH_INVALID,
                       "--normalize dataset: %.256s does not have its data; use "
                       "imagenet or none",
                       p->used);
    if (options->normalize != NULL)
        snprintf(job.normalize, sizeof job.normalize, "%s", options->normalize);
    SH_TRY(open_session(p, &job, p->model.network));
    return sh_pretrained_load_onnx(p->session->replica, p->model.file, SH_PRETRAINED_WHOLE);
}

static double read_threshold(const char *folder)
{
    char path[SH_PATH_BYTES];
    if (sh_path_join(path, folder, SH_RUN_FIGURES) != SH_OK)
        return NAN;
    json_t *json = json_load_file(path, 0, NULL);
    const json_t *error = json_object_get(json, "error95");
    const double threshold = json_is_number(error) ? json_number_value(error) : NAN;
    json_decref(json);
    return threshold;
}

static sh_status make_room(sh_predictor *p)
{
    const size_t outputs = p->info.outputs, slots = p->slots;
    p->losses = calloc(slots, sizeof *p->losses);
    p->values = calloc(outputs + 1, sizeof *p->values);
    p->order = calloc(outputs + 1, sizeof *p->order);
    p->ranking = calloc(outputs + 1, sizeof *p->ranking);
    if (outputs > 0)
        p->given = calloc(slots * outputs, sizeof *p->given);
    if (p->losses == NULL || p->values == NULL || p->order == NULL || p->ranking == NULL ||
        (outputs > 0 && p->given == NULL))
        return sh_fail_memory(slots * outputs * sizeof *p->given, "predictions");
    return SH_OK;
}

static void describe(sh_predictor *p, const sh_predict_options *options)
{
    const sh_dataset_info *info = sh_pipeline_about(p->session->pipeline);
    const bool reconstructs = info->target == SH_TARGET_SAMPLE;
    p->target = info->target;
    p->description =
        sh_description_read(sh_dataset_description(sh_pipeline_dataset(p->session->pipeline)));
    if (sh_folder_exists(options->run) && sh_run_is_open(options->run))
        snprintf(p->note, sizeof p->note, "the training still runs: its current weights are used");
    p->info = (sh_predictor_info){
        .model = p->session->job.model,
        .weights = p->used,
        .task = sh_target_name(info->target),
        .files = sh_file_samples_kind(p->files),
        .channels = (uint32_t)p->trained->info.channels,
        .height = (uint32_t)p->trained->info.height,
        .width = (uint32_t)p->trained->info.width,
        .outputs = reconstructs ? 0 : info->outputs,
        .threshold = reconstructs && !options->last ? read_threshold(options->run) : NAN,
        .note = p->note,
    };
}

sh_status sh_predictor_open(sh_predictor **predictor, const sh_predict_options *options)
{
    sh_status status;
    const uint32_t lanes = options->lanes == 0 ? sh_host_cores() : options->lanes;
    sh_predictor *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "predictions");
    fresh->slots = lanes * SH_FORWARD_GROUP;
    SH_TRY_DONE(sh_trained_file_is(options->run) ? open_file(fresh, options)
                                                 : open_run(fresh, options));
    describe(fresh, options);
    SH_TRY_DONE(make_room(fresh));
    fresh->session->on_answers = collect;
    fresh->session->context = fresh;
    SH_TRY_DONE(sh_forward_new(&fresh->forward, fresh->session, lanes, options->memory));
    *predictor = fresh;
    fresh = NULL;
done:
    sh_predictor_close(fresh);
    return status;
}

const sh_predictor_info *sh_predictor_about(const sh_predictor *predictor)
{
    return &predictor->info;
}

const char *sh_predictor_output(sh_predictor *predictor, uint32_t index)
{
    return sh_description_name(predictor->description, predictor->target, index, predictor->number);
}

void sh_predictor_close(sh_predictor *predictor)
{
    if (predictor == NULL)
        return;
    sh_forward_free(predictor->forward);
    sh_session_close(predictor->session);
    sh_network_unref(predictor->network);
    sh_trained_file_close(&predictor->model);
    sh_file_samples_free(predictor->files);
    sh_trained_free(predictor->trained);
    json_decref(predictor->description);
    free(predictor->losses);
    free(predictor->given);
    free(predictor->values);
    free(predictor->order);
    free(predictor->ranking);
    free(predictor);
}
