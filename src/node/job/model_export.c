/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data need not be there: the checkpoint says what the model has to know of them.
 */
#include "shoal/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/description.h"
#include "data/pipeline.h"
#include "data/trained.h"
#include "model/model.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "node/job/trained_file.h"
#include "onnx/from_graph.h"
#include "store/file.h"
#include "train/job_json.h"
#include "train/job_options.h"
#include "train/lanes.h"
#include "train/pretrained.h"
#include "train/replica.h"
#include "train/schedule.h"
#include "train/snapshot.h"

#define PROPERTIES_MOST 12

/* A trained model, and what belongs to it. */
typedef struct trained_model {
    sh_job job;
    const char *trained_text; /* borrowed from the checkpoint */
    sh_trained *trained;
    sh_dataset_info info; /* of the samples as the model is given them */
    sh_network *network;
    sh_replica *replica;
} trained_model;

static void close_model(trained_model *m)
{
    sh_trained_free(m->trained);
    sh_replica_free(m->replica);
    sh_network_unref(m->network);
}

static sh_status open_model(trained_model *m, const sh_safetensors *file)
{
    char unused[SH_MESSAGE_BYTES]; /* what else the file has is of no interest here */
    SH_TRY(sh_snapshot_read_job(&m->job, file));
    m->trained_text = sh_snapshot_trained(file);
    if (m->trained_text == NULL)
        return sh_fail(SH_FORMAT,
                       "%.200s: does not say what its data were; go on with it for a step: "
                       "shoal train --resume",
                       sh_safetensors_path(file));
    SH_TRY(sh_fail_in(sh_trained_parse(&m->trained, m->trained_text), "%.200s",
                      sh_safetensors_path(file)));
    m->info = m->trained->info;
    const sh_pipeline_options pipeline = sh_job_pipeline(&m->job);
    SH_TRY(sh_pipeline_foresee(&m->info, &pipeline));
    const sh_problem problem = sh_lanes_problem(&m->info);
    SH_TRY(sh_run_network_find(&m->network, m->job.model, sh_safetensors_path(file)));
    SH_TRY(sh_replica_new_with(&m->replica, &m->job, &problem, m->network));
    return sh_pretrained_load(unused, m->replica, file, SH_PRETRAINED_WHOLE);
}

/* ---- what else has to be known ----------------------------------------------------------------
 */

/* Texts of a model's metadata, as Ultralytics and timm name and write them. */
typedef struct properties {
    char *texts[PROPERTIES_MOST]; /* owned */
    const char *pairs[PROPERTIES_MOST][2];
    size_t count;
} properties;

static void free_properties(properties *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->texts[i]);
}

/* Takes over the text. */
static sh_status add(properties *p, const char *key, char *text)
{
    if (text == NULL)
        return sh_fail_memory(0, "the model's metadata");
    p->texts[p->count] = text;
    p->pairs[p->count][0] = key;
    p->pairs[p->count++][1] = text;
    return SH_OK;
}

/* {0: "daisy", 1: "roses"}: a dictionary as Python writes it. */
static sh_status add_names(properties *p, const trained_model *m)
{
    char *text = NULL, number[SH_DESCRIPTION_NUMBER];
    size_t bytes;
    json_t *description = json_object_get(m->trained->json, "description");
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return sh_fail_memory(0, "the model's metadata");
    for (unsigned i = 0; i < m->info.outputs; i++) {
        json_t *name = json_string(sh_description_name(description, m->info.target, i, number));
        char *quoted = json_dumps(name, JSON_ENCODE_ANY);
        fprintf(file, "%s%u: %s", i == 0 ? "{" : ", ", i, quoted == NULL ? "\"\"" : quoted);
        free(quoted);
        json_decref(name);
    }
    fputs("}", file);
    if (fclose(file) != 0) {
        free(text);
        return sh_fail_memory(bytes, "the model's metadata");
    }
    return add(p, "names", text);
}

/* "[0.485, 0.456, 0.406]" */
static sh_status add_numbers(properties *p, const char *key, const float *values, size_t count)
{
    char text[SH_DATASET_CHANNELS_MOST * 24 + 4] = "[", *end = text + 1;
    for (size_t i = 0; i < count; i++)
        end += snprintf(end, (size_t)(text + sizeof text - end), "%s%.9g", i == 0 ? "" : ", ",
                        (double)values[i]);
    snprintf(end, (size_t)(text + sizeof text - end), "]");
    return add(p, key, strdup(text));
}

/* How samples are read; nothing else of the job. */
static sh_status add_job(properties *p, const sh_job *job)
{
    sh_job reading;
    char *text;
    sh_job_init(&reading);
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (sh_option_reads(each))
            sh_option_copy(each, &reading, job);
    SH_TRY(sh_job_to_text(&text, &reading));
    return add(p, SH_TRAINED_FILE_JOB, text);
}

static sh_status add_properties(properties *p, const trained_model *m, bool bakes)
{
    static const char *const tasks[] = {"classify", "classify", "regress", "reconstruct"};
    const sh_dataset_info *info = &m->info;
    char text[64];
    SH_TRY(add(p, "model", strdup(m->job.model)));
    SH_TRY(add(p, "task", strdup(tasks[info->target])));
    SH_TRY(add(p, SH_TRAINED_FILE_TRAINED, strdup(m->trained_text)));
    SH_TRY(add_job(p, &m->job));
    if (bakes)
        SH_TRY(add(p, SH_TRAINED_FILE_BAKED, strdup("1")));
    if (info->target != SH_TARGET_SAMPLE)
        SH_TRY(add_names(p, m));
    if (info->element != SH_ELEMENT_BYTE)
        return SH_OK;
    snprintf(text, sizeof text, "[%zu, %zu]", info->height, info->width);
    SH_TRY(add(p, "imgsz", strdup(text)));
    snprintf(text, sizeof text, "%zu", info->channels);
    SH_TRY(add(p, "channels", strdup(text)));
    SH_TRY(add_numbers(p, "mean", info->mean, info->channels));
    return add_numbers(p, "std", info->deviation, info->channels);
}

/* ---- formats ----------------------------------------------------------------------------------
 */

static sh_status append(void *context, const void *bytes, size_t count)
{
    return sh_file_writer_add(context, bytes, count);
}

static sh_status write_model(const char *path, const Sh__Onnx__ModelProto *model)
{
    sh_file_writer *writer;
    SH_TRY(sh_file_writer_open(&writer, path));
    const sh_status status = sh_onnx_pack(model, append, writer);
    if (status == SH_OK)
        return sh_file_writer_commit(writer);
    sh_file_writer_discard(writer);
    return status;
}

static sh_status write_onnx(const sh_model_export *options, const trained_model *m)
{
    sh_graph *graphs[2] = {NULL, NULL};
    sh_arena arena;
    Sh__Onnx__ModelProto *model;
    properties p = {0};
    const sh_problem problem = sh_lanes_problem(&m->info);
    const sh_model_options build = sh_replica_model(&m->job, &problem, m->network);
    const bool bakes = options->bake != 0;
    sh_status status = SH_OK;
    sh_arena_init(&arena);
    if (bakes && m->info.element != SH_ELEMENT_BYTE)
        SH_TRY_DONE(sh_fail(SH_INVALID, "--bake: is for images; %.64s has numbers", m->info.name));
    for (size_t i = 0; i < 2; i++)
        SH_TRY_DONE(sh_model_build(&graphs[i], &build, i + 1, SH_MODEL_EVALUATE));
    SH_TRY_DONE(add_properties(&p, m, bakes));
    const sh_from_graph of = {
        .graph = graphs[0],
        .twice = graphs[1],
        .samples = graphs[0]->inputs[SH_MODEL_SAMPLES],
        .answer = graphs[0]->outputs[3],
        .input = "input",
        .output = "output",
        .name = m->job.model,
        .weights = (const float *const *)m->replica->parameters,
        .mean = bakes ? m->info.mean : NULL,
        .deviation = bakes ? m->info.deviation : NULL,
        .properties = (const char *const(*)[2])p.pairs,
        .property_count = p.count,
    };
    SH_TRY_DONE(sh_onnx_from_graph(&model, &of, &arena));
    SH_TRY_DONE(write_model(options->output, model));
done:
    free_properties(&p);
    sh_arena_release(&arena);
    sh_graph_free(graphs[0]);
    sh_graph_free(graphs[1]);
    return status;
}

static sh_status write_safetensors(const sh_model_export *options, const trained_model *m)
{
    const sh_replica *replica = m->replica;
    const sh_metadata pairs[] = {{"format", "pt"}, {SH_TRAINED_FILE_TRAINED, m->trained_text}};
    sh_stored_tensor *tensors = calloc(replica->tensors, sizeof *tensors);
    if (tensors == NULL)
        return sh_fail_memory(replica->tensors * sizeof *tensors, "the list of tensors");
    for (uint32_t i = 0; i < replica->tensors; i++)
        tensors[i] =
            (sh_stored_tensor){sh_replica_tensor_name(replica, i),
                               *sh_replica_tensor_type(replica, i), replica->parameters[i]};
    const sh_status status = sh_safetensors_write(options->output, tensors, replica->tensors, pairs,
                                                  sizeof pairs / sizeof *pairs);
    free(tensors);
    return status;
}

sh_status sh_export_model(const sh_model_export *options, sh_model_exported *result)
{
    trained_model m = {0};
    sh_model_exported fresh = {0};
    sh_safetensors *file;
    char used[SH_PATH_BYTES];
    sh_status status = SH_OK;
    if (options->last) {
        SH_TRY(sh_path_copy(used, options->weights));
        SH_TRY(sh_weights_open(&file, options->weights));
    } else {
        SH_TRY(sh_weights_open_best(&file, used, options->weights));
    }
    SH_TRY_DONE(open_model(&m, file));
    if (options->format == SH_MODEL_AS_ONNX)
        SH_TRY_DONE(write_onnx(options, &m));
    else
        SH_TRY_DONE(write_safetensors(options, &m));
    snprintf(fresh.model, sizeof fresh.model, "%s", m.job.model);
    snprintf(fresh.weights, sizeof fresh.weights, "%.*s", (int)sizeof fresh.weights - 1, used);
    fresh.parameters = sh_model_parameters(m.replica->graph);
    SH_TRY_DONE(sh_file_size(&fresh.bytes, options->output));
    *result = fresh;
done:
    close_model(&m);
    sh_safetensors_close(file);
    return status;
}
