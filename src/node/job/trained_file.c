/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/trained_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "train/job_json.h"
#include "train/job_options.h"

bool sh_trained_file_is(const char *path)
{
    const size_t length = strlen(path), end = sizeof ".onnx" - 1;
    struct stat about;
    return length > end && strcmp(path + length - end, ".onnx") == 0 && stat(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}

static const char *property(const sh_onnx *file, const char *key)
{
    const Sh__Onnx__ModelProto *model = sh_onnx_model(file);
    for (size_t i = 0; i < model->n_metadata_props; i++)
        if (strcmp(model->metadata_props[i]->key, key) == 0)
            return model->metadata_props[i]->value;
    return NULL;
}

/* Takes the options from the file, or the defaults with pixels that are only divided by 255. */
static sh_status read_job(sh_job *job, const sh_onnx *file)
{
    sh_job said;
    const char *text = property(file, SH_TRAINED_FILE_JOB);
    json_t *json;
    sh_job_init(job);
    job->momentum = 0; /* saves its memory */
    if (text == NULL) {
        snprintf(job->normalize, sizeof job->normalize, "none");
        return SH_OK;
    }
    json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const sh_status status =
        json == NULL ? sh_fail(SH_FORMAT, "is not JSON") : sh_job_from_json(&said, json);
    json_decref(json);
    SH_TRY(sh_fail_in(status, "%.256s: " SH_TRAINED_FILE_JOB, sh_onnx_path(file)));
    for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
        if (sh_option_reads(each))
            sh_option_copy(each, job, &said);
    return SH_OK;
}

sh_status sh_trained_file_open(sh_trained_file *model, const char *path)
{
    sh_trained_file fresh = {0};
    sh_status status;
    SH_TRY(sh_onnx_open(&fresh.file, path));
    if (sh_onnx_is_skeleton(fresh.file))
        SH_TRY_DONE(sh_fail(SH_INVALID,
                            "%.256s: is the network of a run, without its weights: name the run's "
                            "folder instead",
                            path));
    SH_TRY_DONE(sh_network_of_model(&fresh.network, fresh.file, path));
    SH_TRY_DONE(read_job(&fresh.job, fresh.file));
    snprintf(fresh.job.model, sizeof fresh.job.model, "%s", fresh.network->spec);
    fresh.trained = property(fresh.file, SH_TRAINED_FILE_TRAINED);
    fresh.baked = property(fresh.file, SH_TRAINED_FILE_BAKED) != NULL;
    if (fresh.baked) /* with the figures of sh_trained_file_trained */
        snprintf(fresh.job.normalize, sizeof fresh.job.normalize, "dataset");
    *model = fresh;
    return SH_OK;
done:
    sh_trained_file_close(&fresh);
    return status;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Open dimensions are 0. */
static size_t read_dims(size_t dims[SH_ONNX_RANK_MOST], const Sh__Onnx__ValueInfoProto *value)
{
    const Sh__Onnx__TypeProto *type = value->type;
    if (type == NULL || type->tensor_type == NULL || type->tensor_type->shape == NULL ||
        type->tensor_type->shape->n_dim > SH_ONNX_RANK_MOST)
        return 0;
    const Sh__Onnx__TensorShapeProto *shape = type->tensor_type->shape;
    for (size_t i = 0; i < shape->n_dim; i++) {
        const int64_t dim = shape->dim[i]->has_dim_value ? shape->dim[i]->dim_value : 0;
        dims[i] = dim > 0 ? (size_t)dim : 0;
    }
    return shape->n_dim;
}

/* The only input that is not an initialiser, or NULL. */
static const Sh__Onnx__ValueInfoProto *only_input(const sh_onnx *file)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(file);
    const Sh__Onnx__ValueInfoProto *found = NULL;
    for (size_t i = 0; i < graph->n_input; i++) {
        if (sh_onnx_initializer(file, graph->input[i]->name) != NULL)
            continue;
        if (found != NULL)
            return NULL;
        found = graph->input[i];
    }
    return found;
}

/* Assumes a class per output. */
static json_t *assume(const sh_onnx *file)
{
    const Sh__Onnx__GraphProto *graph = sh_onnx_graph(file);
    const Sh__Onnx__ValueInfoProto *input = only_input(file);
    size_t in[SH_ONNX_RANK_MOST], out[SH_ONNX_RANK_MOST];
    if (input == NULL || graph->n_output == 0 || read_dims(in, input) != 4)
        return NULL;
    const bool last = in[1] != 1 && in[1] != 3; /* channels last */
    const size_t channels = in[last ? 3 : 1], side = in[2];
    const size_t rank = read_dims(out, graph->output[0]);
    if ((channels != 1 && channels != 3) || side == 0 || in[last ? 1 : 3] != side || rank < 2 ||
        out[1] == 0)
        return NULL;
    json_t *mean = json_array(), *deviation = json_array();
    for (size_t c = 0; c < channels; c++) {
        (void)json_array_append_new(mean, json_real(0));
        (void)json_array_append_new(deviation, json_real(1));
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:s, s:s, s:I, s:[I, I], s:o, s:o, s:s}", "format",
                     "photos", "channels", (json_int_t)channels, "height", (json_int_t)side,
                     "width", (json_int_t)side, "element", "byte", "target", "classification",
                     "outputs", (json_int_t)out[1], "samples", (json_int_t)1, (json_int_t)1, "mean",
                     mean, "deviation", deviation, "fingerprint", "");
}

/* A pipeline divides bytes by 255 before it normalises; these figures cancel that. */
static void undo_division(json_t *json)
{
    json_t *mean = json_object_get(json, "mean"), *deviation = json_object_get(json, "deviation");
    for (size_t c = 0; c < json_array_size(mean); c++) {
        (void)json_array_set_new(mean, c, json_real(0));
        (void)json_array_set_new(deviation, c, json_real(1.0 / 255));
    }
}

sh_status sh_trained_file_trained(sh_trained **trained, const sh_trained_file *model)
{
    const char *path = sh_onnx_path(model->file);
    json_t *json = model->trained != NULL ? json_loads(model->trained, JSON_REJECT_DUPLICATES, NULL)
                                          : assume(model->file);
    if (json == NULL && model->trained == NULL)
        return sh_fail(SH_UNSUPPORTED,
                       "%.256s: does not describe its samples, and does not take square photos "
                       "with a fixed number of classes: export the model with shoal export, or "
                       "with fixed height, width and classes",
                       path);
    if (model->baked)
        undo_division(json);
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(json);
    const sh_status status = sh_trained_parse(trained, text == NULL ? "" : text);
    free(text);
    return sh_fail_in(status, "%.256s: " SH_TRAINED_FILE_TRAINED, path);
}

void sh_trained_file_close(sh_trained_file *model)
{
    sh_network_unref(model->network);
    sh_onnx_close(model->file);
    *model = (sh_trained_file){0};
}
