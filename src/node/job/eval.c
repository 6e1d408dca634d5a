/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "data/trained.h"
#include "node/job/measure.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "node/job/trained_file.h"
#include "onnx/model_cache.h"
#include "shoal/eval.h"
#include "train/job_options.h"
#include "train/metrics.h"
#include "train/pretrained.h"
#include "train/session.h"
#include "train/snapshot.h"

_Static_assert(SH_EVAL_WORST_MOST == SH_METRICS_WORST_MOST, "one number");

static bool take_text(char *to, size_t bytes, const char *text)
{
    const int length = snprintf(to, bytes, "%s", text);
    return length >= 0 && (size_t)length < bytes;
}

typedef struct evaluation {
    const sh_eval_options *options;
    sh_safetensors *file;  /* with the weights; NULL: loaded */
    sh_trained_file model; /* an ONNX file */
    char used[SH_PATH_BYTES];
    sh_job job;
    sh_network *network; /* of an imported model, else NULL */
    sh_trained *trained; /* how to read other data; NULL: by their own figures */
    sh_session *session;
} evaluation;

static void release(evaluation *e)
{
    sh_session_close(e->session);
    sh_trained_free(e->trained);
    sh_network_unref(e->network);
    sh_safetensors_close(e->file);
    sh_trained_file_close(&e->model);
}

/* ---- the weights and their job --------------------------------------------------------------- */

/* A run alone means its best weights; with a model, its last. An ONNX file has weights and
 * model. */
static sh_status open_weights(evaluation *e)
{
    const char *path = e->options->weights;
    if (e->options->model == NULL && !sh_trained_file_is(path))
        return sh_weights_open_best(&e->file, e->used, path);
    SH_TRY(sh_path_copy(e->used, path));
    if (e->options->model != NULL)
        return sh_weights_open(&e->file, path);
    if (e->options->data == NULL)
        return sh_fail(SH_INVALID, "%.256s does not have its data: shoal eval FILE.onnx DATA",
                       path);
    return sh_trained_file_open(&e->model, path);
}

static sh_status read_job(evaluation *e)
{
    sh_job *job = &e->job, saved;
    if (e->model.file != NULL) {
        *job = e->model.job;
        return SH_OK;
    }
    sh_job_init(job);
    job->momentum = 0; /* saves its memory */
    if (e->options->model != NULL && !sh_snapshot_is_checkpoint(e->file))
        return SH_OK;
    SH_TRY(sh_snapshot_read_job(&saved, e->file));
    memcpy(job->model, saved.model, sizeof job->model);
    memcpy(job->data, saved.data, sizeof job->data);
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (sh_option_reads(each))
            sh_option_copy(each, job, &saved);
    return SH_OK;
}

static sh_status choose_job(evaluation *e)
{
    const sh_eval_options *options = e->options;
    sh_job *job = &e->job;
    SH_TRY(read_job(e));
    if (options->resize > 0)
        job->resize = options->resize;
    if (options->normalize != NULL &&
        !take_text(job->normalize, sizeof job->normalize, options->normalize))
        return sh_fail(SH_INVALID, "--normalize %.64s: unknown; use dataset, imagenet or none",
                       options->normalize);
    if ((options->model != NULL && !take_text(job->model, sizeof job->model, options->model)) ||
        (options->data != NULL && !take_text(job->data, sizeof job->data, options->data)))
        return sh_fail(SH_INVALID, "the model's or the data's name is too long");
    return sh_job_complete(job);
}

static sh_status find_network(evaluation *e)
{
    sh_onnx *file;
    if (e->model.file != NULL) {
        e->network = sh_network_ref(e->model.network);
        return SH_OK;
    }
    if (e->options->model == NULL)
        return sh_run_network_find(&e->network, e->job.model, sh_safetensors_path(e->file));
    SH_TRY(sh_model_cache_open(&e->network, &file, e->job.model));
    sh_onnx_close(file);
    if (e->network != NULL)
        snprintf(e->job.model, sizeof e->job.model, "%s", e->network->spec);
    return SH_OK;
}

/* `*trained`: how to read the data, if the file has it; else NULL. `*other`: the data are not those
 * named in the file. */
static sh_status take_trained(sh_trained **trained, bool *other, const evaluation *e)
{
    sh_job saved;
    *trained = NULL;
    *other = false;
    if (e->model.file != NULL)
        return e->model.trained == NULL ? SH_OK : sh_trained_file_trained(trained, &e->model);
    const char *text = sh_snapshot_trained(e->file);
    if (e->options->data == NULL || text == NULL)
        return SH_OK;
    if (sh_snapshot_is_checkpoint(e->file)) {
        SH_TRY(sh_snapshot_read_job(&saved, e->file));
        if (strcmp(saved.data, e->options->data) == 0)
            return SH_OK;
        *other = true;
    }
    return sh_fail_in(sh_trained_parse(trained, text), "%s", e->used);
}

static sh_status open_session(evaluation *e)
{
    return sh_session_open(&e->session, &e->job,
                           &(sh_session_data){.network = e->network, .trained = e->trained});
}

/* If the file does not name the training's data, a fingerprint identifies them; then their own
 * figures apply. */
static sh_status open_data(evaluation *e)
{
    bool other;
    sh_trained *trained;
    SH_TRY(take_trained(&trained, &other, e));
    if (trained != NULL && !other && !e->model.baked && open_session(e) == SH_OK) {
        const char *fingerprint = sh_pipeline_about(e->session->pipeline)->fingerprint;
        if (strcmp(trained->info.fingerprint, fingerprint) == 0) {
            sh_trained_free(trained);
            return SH_OK;
        }
        sh_session_close(e->session);
        e->session = NULL;
    }
    e->trained = trained;
    return open_session(e);
}

static sh_status open_model(evaluation *e)
{
    char unused[SH_MESSAGE_BYTES];
    SH_TRY(open_weights(e));
    SH_TRY(choose_job(e));
    SH_TRY(find_network(e));
    const sh_status status = open_data(e);
    if (e->options->data == NULL)
        SH_TRY(sh_fail_in(status, "the run's data (if they have moved: shoal eval RUN DATA)"));
    SH_TRY(status);
    if (e->model.file != NULL)
        return sh_pretrained_load_onnx(e->session->replica, e->model.file, SH_PRETRAINED_WHOLE);
    return sh_pretrained_load(unused, e->session->replica, e->file, SH_PRETRAINED_WHOLE);
}

static void write_note(char note[SH_EVAL_NOTE_BYTES], const evaluation *e)
{
    const char *fingerprint = "";
    const sh_dataset_info *info = sh_pipeline_about(e->session->pipeline);
    note[0] = '\0';
    if (e->model.file != NULL && e->model.trained == NULL) {
        snprintf(note, SH_EVAL_NOTE_BYTES,
                 "%.200s does not describe its samples: bytes of images are divided by 255%s, and "
                 "its outputs are the data's classes in order",
                 e->used,
                 e->options->normalize != NULL
                     ? " and normalised as requested"
                     : " and not normalised (--normalize imagenet or dataset does that)");
        return;
    }
    if (e->file != NULL && (sh_snapshot_read_fingerprint(&fingerprint, e->file) != SH_OK ||
                            strcmp(fingerprint, info->fingerprint) == 0))
        return;
    if (e->options->data == NULL)
        snprintf(
            note, SH_EVAL_NOTE_BYTES,
            "the data %.300s have changed since the training: training samples may be measured too",
            e->job.data);
    else if (e->trained != NULL && info->count[SH_SPLIT_TRAIN] == 1)
        snprintf(note, SH_EVAL_NOTE_BYTES,
                 "%.300s has no split of its own: all of its samples are measured", e->job.data);
}

/* ---- the measurement --------------------------------------------------------------------------*/

/* Any lane. */
static void collect(void *context, const sh_answers *answers)
{
    sh_measure_add(*(sh_measure **)context, answers);
}

static void describe(sh_eval_result *result, const evaluation *e)
{
    write_note(result->note, e);
    snprintf(result->model, sizeof result->model, "%s", e->job.model);
    snprintf(result->data, sizeof result->data, "%s", e->job.data);
    snprintf(result->weights, sizeof result->weights, "%.*s", (int)sizeof result->weights - 1,
             e->used);
    result->parameters = sh_model_parameters(e->session->replica->graph);
}

sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result)
{
    evaluation e = {.options = options};
    sh_measure *measure = NULL;
    sh_measured found;
    sh_eval_result fresh = {0};
    sh_status status;
    SH_TRY_DONE(open_model(&e));
    describe(&fresh, &e);
    sh_safetensors_close(e.file);
    e.file = NULL;

    e.session->evaluate_only = true;
    e.session->on_answers = collect;
    e.session->context = &measure;
    SH_TRY_DONE(sh_session_start(e.session, options->lanes, options->memory));
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    SH_TRY_DONE(sh_measure_new(&measure, e.session, options->worst));
    SH_TRY_DONE(sh_measure_run(measure, e.session, &found));
    fresh.metrics = found.metrics;
    fresh.worst = found.worst;
    fresh.pictures = found.pictures;
    fresh.seconds = (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
    fresh.samples = found.samples;
    fresh.loss = found.figures.loss;
    fresh.accuracy = found.figures.accuracy;
    fresh.mae = found.figures.mae;
    SH_TRY_DONE(sh_replica_hash(e.session->replica, fresh.weights_hash));
    *result = fresh;
done:
    if (status != SH_OK)
        sh_eval_result_release(&fresh);
    release(&e);
    sh_measure_free(measure);
    return status;
}

void sh_eval_result_release(sh_eval_result *result)
{
    free(result->metrics);
    free(result->worst);
    free(result->pictures);
    result->metrics = result->worst = result->pictures = NULL;
}
