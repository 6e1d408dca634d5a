/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/description.h"
#include "data/pipeline.h"
#include "data/trained.h"
#include "model/model.h"
#include "node/job/quantisation.h"
#include "node/job/trained_file.h"
#include "onnx/fold_norms.h"
#include "onnx/from_file.h"
#include "store/npz.h"
#include "train/job_json.h"
#include "train/job_options.h"
#include "train/lanes.h"
#include "train/schedule.h"

#define PROPERTIES_MOST 12

typedef struct model_facts {
    const sh_model_source *source;
    sh_trained *trained;
    sh_dataset_info info; /* of the samples in the model's input form */
    sh_graph *graphs[2];  /* of a built-in network, for one and for two samples; owned */
    sh_arena arena;
} model_facts;

/* ---- metadata -------------------------------------------------------------------------------- */

/* A model's metadata, with the names and forms of Ultralytics and timm. */
typedef struct properties {
    char *texts[PROPERTIES_MOST];
    const char *pairs[PROPERTIES_MOST][2];
    size_t count;
} properties;

static void free_properties(properties *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->texts[i]);
}

/* Takes ownership of `text`; NULL: out of memory. */
static sh_status add(properties *p, const char *key, char *text)
{
    if (text == NULL)
        return sh_fail_memory(0, "the model's metadata");
    p->texts[p->count] = text;
    p->pairs[p->count][0] = key;
    p->pairs[p->count++][1] = text;
    return SH_OK;
}

/* {0: "daisy", 1: "roses"}, in Python's notation. */
static sh_status add_names(properties *p, const model_facts *m)
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

static sh_status add_numbers(properties *p, const char *key, const float *values, size_t count)
{
    char text[SH_DATASET_CHANNELS_MOST * 24 + 4] = "[", *end = text + 1;
    for (size_t i = 0; i < count; i++)
        end += snprintf(end, (size_t)(text + sizeof text - end), "%s%.9g", i == 0 ? "" : ", ",
                        (double)values[i]);
    snprintf(end, (size_t)(text + sizeof text - end), "]");
    return add(p, key, strdup(text));
}

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

/* The normalisation figures `name`: of an array by feature or channel, of a series by column.
 * Owned. NULL: none; also for a table, whose figures do not map to single inputs. */
static json_t *find_figures(const model_facts *m, const char *name)
{
    size_t i;
    json_t *column, *found = json_array();
    json_t *inputs = json_object_get(json_object_get(m->trained->json, "description"), "inputs");
    json_t *of_array = json_object_get(inputs, name);
    bool all = true;
    if (json_is_array(of_array))
        all &= json_array_extend(found, of_array) == 0;
    json_array_foreach(json_object_get(inputs, "columns"), i, column)
    {
        json_t *figure = json_object_get(column, name);
        all &= json_is_number(figure) && json_array_append(found, figure) == 0;
    }
    if (all && json_array_size(found) > 0)
        return found;
    json_decref(found);
    return NULL;
}

/* (number - mean) / std */
static sh_status add_figures(properties *p, const model_facts *m)
{
    json_t *mean = find_figures(m, "mean"), *deviation = find_figures(m, "deviation");
    sh_status status = SH_OK;
    if (mean == NULL || json_array_size(mean) != json_array_size(deviation))
        goto done;
    SH_TRY_DONE(add(p, "mean", json_dumps(mean, 0)));
    SH_TRY_DONE(add(p, "std", json_dumps(deviation, 0)));
    SH_TRY_DONE(add(p, "rescale_factor", strdup("1")));
done:
    json_decref(mean);
    json_decref(deviation);
    return status;
}

static sh_status add_properties(properties *p, const model_facts *m)
{
    static const char *const tasks[] = {"classify", "classify", "regress", "reconstruct"};
    const sh_dataset_info *info = &m->info;
    char text[64];
    SH_TRY(add(p, "model", strdup(m->source->job->model)));
    SH_TRY(add(p, "task", strdup(tasks[info->target])));
    SH_TRY(add(p, SH_TRAINED_FILE_TRAINED, strdup(m->source->trained_text)));
    SH_TRY(add_job(p, m->source->job));
    if (m->source->bake)
        SH_TRY(add(p, SH_TRAINED_FILE_BAKED, strdup("1")));
    if (info->target != SH_TARGET_SAMPLE)
        SH_TRY(add_names(p, m));
    if (info->element != SH_ELEMENT_BYTE)
        return add_figures(p, m);
    snprintf(text, sizeof text, "[%zu, %zu]", info->height, info->width);
    SH_TRY(add(p, "imgsz", strdup(text)));
    snprintf(text, sizeof text, "%zu", info->channels);
    SH_TRY(add(p, "channels", strdup(text)));
    SH_TRY(add(p, "rescale_factor", strdup("0.00392156862745098"))); /* 1 / 255 */
    SH_TRY(add_numbers(p, "mean", info->mean, info->channels));
    return add_numbers(p, "std", info->deviation, info->channels);
}

/* ---- formats --------------------------------------------------------------------------------- */

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

static sh_status make_of_graph(Sh__Onnx__ModelProto **model, model_facts *m, const properties *p,
                               bool bake)
{
    const sh_model_source *source = m->source;
    const sh_problem problem = sh_lanes_problem(&m->info);
    sh_model_options build = sh_replica_model(source->job, &problem, NULL);
    build.keeps_dropout = true;
    for (size_t i = 0; i < 2; i++)
        if (m->graphs[i] == NULL)
            SH_TRY(sh_model_build(&m->graphs[i], &build, i + 1, SH_MODEL_EVALUATE));
    const sh_from_graph of = {
        .graph = m->graphs[0],
        .twice = m->graphs[1],
        .samples = m->graphs[0]->inputs[SH_MODEL_SAMPLES],
        .answer = m->graphs[0]->outputs[3],
        .input = "input",
        .output = "output",
        .name = source->job->model,
        .weights = (const float *const *)source->replica->parameters,
        .mean = bake ? m->info.mean : NULL,
        .deviation = bake ? m->info.deviation : NULL,
        .properties = {(const char *const(*)[2])p->pairs, p->count},
    };
    return sh_onnx_from_graph(model, &of, &m->arena);
}

static sh_status make_of_network(Sh__Onnx__ModelProto **model, model_facts *m, const properties *p,
                                 bool bake)
{
    const sh_model_source *source = m->source;
    const sh_dataset_info *info = &m->info;
    const sh_from_file of = {
        .file = source->replica->network->model,
        .sample = sh_shape_of(3, (size_t[]){info->channels, info->height, info->width}),
        .outputs = info->outputs,
        .target = info->target,
        .graph = source->replica->graph,
        .weights = (const float *const *)source->replica->parameters,
        .mean = bake ? info->mean : NULL,
        .deviation = bake ? info->deviation : NULL,
        .properties = {(const char *const(*)[2])p->pairs, p->count},
    };
    return sh_onnx_from_file(model, &of, &m->arena);
}

static sh_status make_model(Sh__Onnx__ModelProto **model, model_facts *m, const properties *p,
                            bool bake)
{
    const sh_model_source *source = m->source;
    SH_TRY(source->replica->network != NULL ? make_of_network(model, m, p, bake)
                                            : make_of_graph(model, m, p, bake));
    return source->fold || source->int8 > 0 ? sh_onnx_fold_norms(*model, &m->arena) : SH_OK;
}

static sh_status write_onnx(sh_model_quantised *quantised, const char *path, model_facts *m)
{
    const sh_model_source *source = m->source;
    properties p = {0};
    sh_status status = SH_OK;
    Sh__Onnx__ModelProto *model, *plain;
    if (source->bake && m->info.element != SH_ELEMENT_BYTE)
        return sh_fail(SH_INVALID, "--bake: is for images; %.64s has numbers", m->info.name);
    SH_TRY_DONE(add_properties(&p, m));
    SH_TRY_DONE(make_model(&model, m, &p, source->bake));
    plain = model;
    if (source->int8 > 0 && source->bake)
        SH_TRY_DONE(make_model(&plain, m, &p, false));
    const sh_quantisation asked = {
        .job = source->job, .file = model, .plain = plain, .samples = source->int8};
    if (source->int8 > 0)
        SH_TRY_DONE(sh_quantise(&model, quantised, &asked, &m->arena));
    SH_TRY_DONE(write_model(path, model));
done:
    free_properties(&p);
    return status;
}

static sh_status write_weights(const char *path, sh_model_format format,
                               const sh_model_source *source)
{
    const sh_replica *replica = source->replica;
    const sh_metadata pairs[] = {{"format", "pt"}, {SH_TRAINED_FILE_TRAINED, source->trained_text}};
    sh_stored_tensor *tensors = calloc(replica->tensors, sizeof *tensors);
    if (tensors == NULL)
        return sh_fail_memory(replica->tensors * sizeof *tensors, "the list of tensors");
    for (uint32_t i = 0; i < replica->tensors; i++)
        tensors[i] =
            (sh_stored_tensor){sh_replica_tensor_name(replica, i),
                               *sh_replica_tensor_type(replica, i), replica->parameters[i]};
    const sh_status status = format == SH_MODEL_AS_NPZ
                                 ? sh_npz_write(path, tensors, replica->tensors)
                                 : sh_safetensors_write(path, tensors, replica->tensors, pairs,
                                                        sizeof pairs / sizeof *pairs);
    free(tensors);
    return status;
}

sh_status sh_model_file_write(sh_model_quantised *quantised, const char *path,
                              sh_model_format format, const sh_model_source *source)
{
    model_facts m = {.source = source};
    sh_status status = SH_OK;
    if (format != SH_MODEL_AS_ONNX)
        return write_weights(path, format, source);
    SH_TRY(sh_trained_parse(&m.trained, source->trained_text));
    sh_arena_init(&m.arena);
    m.info = m.trained->info;
    const sh_pipeline_options pipeline = sh_job_pipeline(source->job);
    SH_TRY_DONE(sh_pipeline_foresee(&m.info, &pipeline));
    SH_TRY_DONE(write_onnx(quantised, path, &m));
done:
    sh_graph_free(m.graphs[0]);
    sh_graph_free(m.graphs[1]);
    sh_arena_release(&m.arena);
    sh_trained_free(m.trained);
    return status;
}
